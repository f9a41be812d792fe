/** The rows that a stage of a workflow run writes over the same run without a workflow. */
import { expect, it, vi } from "vitest";
import type { AgentSpec } from "../../src/engine/agent/spec.ts";
import { SESSION_RUNTIME } from "../../src/run/agent/runtime.ts";
import { stageSession } from "../../src/run/workflow/attempt.ts";
import { edge, said, specOf } from "../support/workflow-graphs.ts";
import { counting } from "./session-storage.ts";
import { inWorld, newName, type World } from "./session-world.ts";

/** The rows that one session writes. */
async function written(id: string, test: (world: World) => Promise<void>): Promise<number> {
  const storage = counting();
  await inWorld({ id, runtime: SESSION_RUNTIME, replies: [] }, test, undefined, storage.wrap);
  return storage.written();
}

/** Rows of a chain of stages, of the session of one of them, and of the same run in a session of its own. */
async function chain(stages: number) {
  const id = newName();
  const ids = Array.from({ length: stages }, (_, n) => `n${n}`);
  const nodes = Object.fromEntries(ids.map((node) => [node, said("done")]));
  const edges = ids.slice(1).map((to, n) => edge(ids[n] ?? "", to));
  const spec = specOf(id, { entry: "n0", nodes, edges });
  const child = stageSession(id, { node: "n1", visit: 1, attempt: 1 });
  let begun: AgentSpec | null = null;
  let above = 0;
  const below = await written(child, async (stage) => {
    above = await written(id, async (world) => {
      await world.ask("beginWorkflow", { spec, account: "a", request: { name: "begin", hash: "h" } });
      expect(await world.ask("workflow", { wait: "terminal" })).toMatchObject({ status: "completed" });
    });
    begun = stage.conversation.log.state().run?.spec ?? null;
  });
  if (begun === null) throw new TypeError("The stage had no run.");
  const { delegation: _, ...alone }: AgentSpec = begun;
  return { above, below, alone };
}

/** Rows that a stage of a chain costs its session and that of the workflow run, over the same run in a session of its own. */
async function more(): Promise<number> {
  const [few, many] = [await chain(2), await chain(12)];
  const own = await written(newName(), async (world) => {
    const run_id = `run_${world.id}`;
    const spec = { ...many.alone, run_id, session_id: world.id };
    await world.open();
    await world.ask("start", { run_id, work: { spec }, request: null, wait: "terminal" });
  });
  return (many.above - few.above) / 10 + many.below - own;
}

/** How long the rows of D1 gather (`src/row-collector.ts`), ms; a session waits for them. */
const COLLECTING_MS = 200;

it("number at most 4 more", async () => {
  const real = setTimeout;
  // No pause of a session ends by time, so a stage sends its events in one message, however busy the machine is.
  vi.stubGlobal("setTimeout", (work: () => void, ms = 0) =>
    ms <= 2 || ms === COLLECTING_MS ? real(work, ms) : undefined,
  );
  try {
    expect(await more()).toBeLessThanOrEqual(4);
  } finally {
    vi.unstubAllGlobals();
  }
});
