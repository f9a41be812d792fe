/** llm skills against a bare Worker that makes the same provider call. */
import { compare, load, post } from "./load.ts";
import { ms, type Row, row, times } from "./row.ts";
import { bareSpawn } from "./script.ts";
import type { Subjects } from "./subjects.ts";

const MESSAGE = JSON.stringify({
  model: "bench",
  max_tokens: 4096,
  system: "Answer briefly.",
  messages: [{ role: "user", content: [{ type: "text", text: "hi" }] }],
});

export async function llmRows({ hull, quiet, bare, provider }: Subjects, rounds: number): Promise<Row[]> {
  const rows: Row[] = [];
  for (const [url, note] of [
    [hull, ""],
    [quiet, ", HULL_LOG=failures"],
  ]) {
    for (const concurrency of [1, 8]) {
      const { floor, ours } = await compare(
        () => post(bare, "hi"),
        () => post(`${url}/skills/plain`, "hi"),
        concurrency,
        rounds,
      );
      const what = `llm, no tools, c=${concurrency}${note}: p50`;
      rows.push(row(what, ms(floor.p50), ms(ours.p50), ours.p50 / floor.p50, 1.3, times));
    }
  }
  const call = await load(
    () => post(`${provider}/v1/messages`, MESSAGE, { "content-type": "application/json" }),
    1,
    rounds,
  );
  const { floor: spawned, ours } = await compare(
    bareSpawn,
    () => post(`${hull}/skills/tool`, "hi"),
    1,
    rounds,
  );
  const floor = 2 * call.p50 + spawned.p50;
  const what = "llm + 1 tool: p50 over 2 provider calls + 1 bare spawn";
  rows.push(row(what, ms(floor), ms(ours.p50), ours.p50 - floor, 5, ms));
  return rows;
}
