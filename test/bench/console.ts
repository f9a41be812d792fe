/** The console: what isolates pay for it that nobody asks for it, and its largest pages. */
import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { build, type Plugin } from "esbuild";
import * as z from "zod";
import { workerBuild } from "../../scripts/dev/worker-bundle.ts";
import { compare } from "./load.ts";
import { ms, type Row, row } from "./row.ts";
import { startHull, writeProject } from "./subjects.ts";

const REPO = join(import.meta.dirname, "..", "..");
const SKILLS = 500;
const TURNS = 60;
/** Each makes more than four records. */
const RUN_ROUNDS = 250;

const bytes = (value: number): string => `${value} B`;
const kilobytes = (value: number): string => `${(value / 1000).toFixed(1)} KB`;

export async function consoleRows(rounds: number): Promise<Row[]> {
  return [...(await startRows()), ...(await pageRows(rounds))];
}

/** A Worker without the console: what loads it answers nothing. */
const WITHOUT: Plugin = {
  name: "without-console",
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /\/console\/pages\.ts$/ }, () => ({ path: "none", namespace: "none" }));
    onLoad({ filter: /.*/, namespace: "none" }, () => ({ contents: "export const answerConsole = null;" }));
  },
};

async function startRows(): Promise<Row[]> {
  const options = workerBuild(REPO, "src/worker.ts");
  const split = await build({ ...options, splitting: true, outdir: "out", metafile: true });
  const entry = Object.values(split.metafile.outputs).find(
    ({ entryPoint }) => entryPoint === "src/worker.ts",
  );
  const own = Object.entries(entry?.inputs ?? {}).filter(([file]) =>
    /^src\/(?:http\/)?console[/.]/.test(file),
  );
  const glue = own.reduce((sum, [, { bytesInOutput }]) => sum + bytesInOutput, 0);
  const [whole, without] = await Promise.all([build(options), build({ ...options, plugins: [WITHOUT] })]);
  const [ours = 0, floor = 0] = await evaluated(
    [whole, without].map((made) => made.outputFiles[0]?.text ?? ""),
  );
  const over = Math.max(0, ours - floor);
  return [
    row("console: of it in the entry module", "", bytes(glue), glue, 2048, bytes),
    row(
      "console: the Worker compiled and evaluated, over one without it (CPU)",
      ms(floor),
      ms(ours),
      over,
      1,
      ms,
    ),
  ];
}

/** CPU time in ms that V8 needs for each of these modules. */
async function evaluated(texts: readonly string[]): Promise<number[]> {
  const dir = await mkdtemp(join(tmpdir(), "hull-bench-"));
  try {
    const files = texts.map((_, i) => join(dir, `${i}.mjs`));
    for (const [i, file] of files.entries()) await writeFile(file, texts[i] ?? "");
    const script = join(import.meta.dirname, "evaluation.ts");
    const flags = ["--experimental-vm-modules", "--single-threaded", "--no-warnings"];
    const { stdout } = await promisify(execFile)(process.execPath, [
      ...flags,
      script,
      String(TURNS),
      ...files,
    ]);
    return z.array(z.number()).parse(JSON.parse(stdout));
  } finally {
    await rm(dir, { recursive: true });
  }
}

const begun = z.object({ run_id: z.string() });

async function pageRows(rounds: number): Promise<Row[]> {
  const skill = (name: string) =>
    `---\nname: ${name}\ndescription: The skill ${name}\nmode: llm\nprovider: mock\n---\nAnswer.\n`;
  const files = Array.from({ length: SKILLS }, (_, i) => [`skills/s${i}/SKILL.md`, skill(`s${i}`)]);
  const { dir, remove } = await writeProject(Object.fromEntries(files));
  const hull = await startHull(dir);
  try {
    const ask = async (path: string): Promise<number> => {
      const answer = await fetch(hull.url + path, { headers: { accept: "text/html" } });
      const { byteLength } = await answer.arrayBuffer();
      if (!answer.ok) throw new TypeError(`${path} is ${answer.status}`);
      return byteLength;
    };
    const run = await longRun(hull.url);
    const health = () => ask("/healthz");
    const skills = await compare(health, () => ask("/"), 1, Math.ceil(rounds / 5));
    const page = `/console/runs/${run}`;
    const runs = await compare(health, () => ask(page), 1, Math.ceil(rounds / 5));
    const size = await ask(page);
    return [
      row(
        `console: ${SKILLS} skills (p50)`,
        ms(skills.floor.p50),
        ms(skills.ours.p50),
        skills.ours.p50,
        20,
        ms,
      ),
      row(
        "console: a run of 1,000 records (p50)",
        ms(runs.floor.p50),
        ms(runs.ours.p50),
        runs.ours.p50,
        50,
        ms,
      ),
      row("console: size of that page", "", kilobytes(size), size, 100_000, kilobytes),
    ];
  } finally {
    await hull.stop();
    await remove();
  }
}

/** A run with many rounds of a tool that does not exist; answers its id. */
async function longRun(url: string): Promise<string> {
  const post = (path: string, body: object) =>
    fetch(url + path, {
      method: "POST",
      body: JSON.stringify(body),
      headers: { "content-type": "application/json" },
    });
  await post("/sessions", { id: "long" });
  const call = (i: number) => ({
    tool_calls: [{ name: "none", arguments: { place: i, text: "a".repeat(200) } }],
  });
  const mock = [...Array.from({ length: RUN_ROUNDS }, (_, i) => call(i)), { text: "Done." }];
  const never = { loop_detect_warn: 9999, loop_detect_block: 9999, loop_detect_skip: 9999 };
  const options = { provider: "mock", mock, max_iterations: RUN_ROUNDS + 5, ...never };
  const { run_id } = begun.parse(
    await (await post("/sessions/long/runs", { prompt: "Go on.", options })).json(),
  );
  for (let status = 404; status === 404; ) status = (await fetch(`${url}/runs/${run_id}`)).status;
  return run_id;
}
