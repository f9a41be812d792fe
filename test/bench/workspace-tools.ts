/**
 * Workspace tools and the choice of a skill: a command over a bare start of bash, a read of a session's file over a run without
 * it, what 1,175 skills cost before a model is called, and how long `hull dev` takes to start with them.
 */
import { randomUUID } from "node:crypto";
import { tmpdir } from "node:os";
import type { AgentSkill } from "../../src/engine/agent/spec.ts";
import { CATALOG_TOKENS, catalogSection, MOST_LISTED } from "../../src/engine/skill-choice/catalog.ts";
import { chooseSkills, indexSkills, rankSkills } from "../../src/engine/skill-choice/choose.ts";
import { EMPTY_PACK, withEmptyPack } from "../../src/tool/empty-pack.ts";
import { runExecution } from "../../src/tool/runner-client.ts";
import { startHullDev } from "../support/hull-dev.ts";
import { type Bundle, runOptions, spec, startRunner } from "../support/runner.ts";
import { dataOf, readEvents } from "../support/sse.ts";
import { compare } from "./load.ts";
import { ms, type Row, row, times } from "./row.ts";
import { spawnAndWait } from "./script.ts";

const SKILLS = 1175;
const LINES = 2000;

/** @param rounds calls a block */
export async function workspaceToolRows(rounds: number): Promise<Row[]> {
  return [await commandRow(rounds), await readRow(rounds), ...choiceRows(), await startRow()];
}

/** `hull dev` on a folder that it served before: from the command to its first answer. */
async function startRow(): Promise<Row> {
  const skills = Object.fromEntries(
    Array.from({ length: SKILLS }, (_, i) => [
      `helper-${i}/SKILL.md`,
      `---\nname: helper-${i}\ndescription: ${described(i)}\n---\n# Helper ${i}\n\n${"What to do, step by step. ".repeat(40)}\n`,
    ]),
  );
  const first = await startHullDev({ skills, args: ["--direct"] });
  await first.stop();
  const begun = performance.now();
  const again = await startHullDev({ from: first, args: ["--direct"] });
  const took = (performance.now() - begun) / 1000;
  await again.stop();
  return row(`start with ${SKILLS} skills, warm`, "", seconds(took), took, 4, seconds);
}

const seconds = (value: number): string => `${value.toFixed(2)} s`;
const described = (i: number): string =>
  `Helps with topic${i} and area${i % 40}. Reports, notes and reviews of topic${i}. ${"Further words of a description. ".repeat(8)}`;

async function commandRow(rounds: number): Promise<Row> {
  const runner = await startRunner();
  const none: Bundle = { digest: EMPTY_PACK, executables: [], tar: new Uint8Array() };
  const base = runOptions(none);
  const id = randomUUID().replaceAll("-", "");
  const manifest = JSON.stringify({ id, version: 0, files: [] });
  const workspace = { manifest: async () => manifest, contents: () => new ReadableStream<Uint8Array>() };
  const options = { ...base, pack: withEmptyPack(base.pack), workspace };
  const handler = { language: "bash", config: "{}", context: "{}", network: null } as const;
  const place = { workspace: { id, version: 0, cwd: true }, handler, input: { mode: "stdin" } } as const;
  const stdin = new TextEncoder().encode("true");
  const command = async (): Promise<void> => {
    const asked = spec({ argv: ["bash"], digest: EMPTY_PACK, ...place });
    for await (const event of runExecution(runner, asked, { stdin }, options)) {
      if (event.kind === "ended" && event.status.exit_code !== 0) throw new RangeError("true failed");
    }
  };
  try {
    const bare = (): Promise<void> => spawnAndWait(["bash", "-c", "true"], tmpdir());
    const { floor, ours } = await compare(bare, command, 1, Math.ceil(rounds / 3));
    return row("Bash `true`, p50", ms(floor.p50), ms(ours.p50), ours.p50 / floor.p50, 1.5, times);
  } finally {
    await runner.stop();
  }
}

async function readRow(rounds: number): Promise<Row> {
  const hull = await startHullDev({ args: ["--direct"] });
  try {
    const response = await hull.post("/sessions", {});
    const { id }: { id: string } = JSON.parse(await response.text());
    const text = Array.from({ length: LINES }, (_, i) => `line ${i} of a file that is read`).join("\n");
    await hull.call(`/sessions/${id}/files/a.txt`, text, { method: "PUT" });
    const durations: number[] = [];
    const mock = [
      { text: "", tool_calls: [{ name: "Read", arguments: { file_path: "a.txt" } }] },
      { text: "Done." },
    ];
    const options = { provider: "mock", model: "mock", tool_format: "native", mock, workspace_tools: true };
    for (let n = 0; n < rounds / 3; n++) {
      const headers = { accept: "text/event-stream" };
      const events = await readEvents(
        await hull.post(`/sessions/${id}/runs`, { prompt: "go", options }, headers),
      );
      for (const { duration_ms } of dataOf(events, "tool_result")) durations.push(Number(duration_ms));
      await (await hull.post(`/sessions/${id}/reset`, {})).text();
    }
    const each = durations.sort((a, b) => a - b)[durations.length >> 1] ?? Number.NaN;
    return row(`Read of ${LINES} lines in a session, p50`, "", ms(each), each, 3, ms);
  } finally {
    await hull.stop();
  }
}

function choiceRows(): Row[] {
  // As they come to a run: read from JSON.
  const stored = JSON.stringify(
    Array.from({ length: SKILLS }, (_, i) => ({
      name: `helper-${i}`,
      description: described(i),
      when_to_use: "",
      prompt: "",
      paths: [],
      allowed_tools: [],
      disable_model_invocation: false,
      on_activate: null,
      on_deactivate: null,
    })),
  );
  const made = (): AgentSkill[] => JSON.parse(stored);
  const prompt = "Write a review of topic777 and compare it with the reports of area12";
  const choose = (skills: AgentSkill[], index: ReturnType<typeof indexSkills>): void => {
    chooseSkills(skills, index, prompt, []);
    const ranked = new Set(rankSkills(skills, index, prompt, MOST_LISTED).map(({ name }) => name));
    const first = skills.toSorted((a, b) => Number(ranked.has(b.name)) - Number(ranked.has(a.name)));
    catalogSection(first.slice(0, MOST_LISTED), CATALOG_TOKENS, true);
  };
  const timed = (work: () => void): number => {
    const begun = performance.now();
    work();
    return performance.now() - begun;
  };
  const middle = (values: number[]): number => values.sort((a, b) => a - b)[values.length >> 1] ?? 0;
  const first = middle(
    Array.from({ length: 15 }, () => {
      const skills = made();
      return timed(() => choose(skills, indexSkills(skills)));
    }),
  );
  const skills = made();
  const index = indexSkills(skills);
  const after = middle(Array.from({ length: 100 }, () => timed(() => choose(skills, index))));
  return [
    row(`choice and list of ${SKILLS} skills, first`, "", ms(first), first, 10, ms),
    row("the same again", "", ms(after), after, 1, ms),
  ];
}
