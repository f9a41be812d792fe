/** The console: what it costs isolates that get no request for it, and its largest pages. */
import { join } from "node:path";
import * as z from "zod";
import { entryModules } from "./entry-modules.ts";
import { compare } from "./load.ts";
import { ms, type Row, row } from "./row.ts";
import { startHull, writeProject } from "./subjects.ts";

const REPO = join(import.meta.dirname, "..", "..");
const SKILLS = 500;
/** Each makes more than four records. */
const RUN_ROUNDS = 250;

const bytes = (value: number): string => `${value} B`;
const kilobytes = (value: number): string => `${(value / 1000).toFixed(1)} KB`;

export async function consoleRows(rounds: number): Promise<Row[]> {
  return [await entryRow(), ...(await pageRows(rounds))];
}

/** Of the console in the modules that every isolate compiles, whether or not anybody asks for a page. */
async function entryRow(): Promise<Row> {
  const { entry } = await entryModules(REPO);
  const inputs = Object.values(entry).flatMap((output) => Object.entries(output.inputs));
  const own = inputs.filter(([file]) => /^src\/(?:http\/)?console[/.]/.test(file));
  const glue = own.reduce((sum, [, { bytesInOutput }]) => sum + bytesInOutput, 0);
  return row("console: of it in the modules that each isolate compiles", "", bytes(glue), glue, 2048, bytes);
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

/** A run with many rounds of a tool that does not exist; returns its id. */
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
