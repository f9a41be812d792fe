/** What a session survives: its process dies at any of its writes, and the next one continues. */

import { describe, expect, it } from "vitest";
import type { DaemonOptions } from "../../src/engine/agent/spec.ts";
import type { RunStatus } from "../../src/engine/run-status.ts";
import { DAEMON, eachWrite, inWorld, type Script, SPEC, said, tool, type World } from "./session-world.ts";

const BOUNDED: DaemonOptions = { ...DAEMON, bounded: true };
/** A tool whose call is recognised by its effect. */
const journal = (name: string) => ({ ...tool(name), handler: "journal" });

interface Scenario {
  script: Script;
  /** What a client does; it asks again with the same request where it got no answer. */
  play: (world: World) => Promise<unknown>;
  /** How the run ends. */
  status?: RunStatus;
  text: string;
  /** What its tools make: ids and versions, in order. */
  artifacts?: string[];
}

const ended = (world: World) => world.ask("answer", { run_id: "r1", wait: "terminal" });
const rested = (world: World) => world.ask("answer", { run_id: "r1", wait: "idle" });

const SCENARIOS: Record<string, Scenario> = {
  "tools with side effects": {
    script: {
      spec: { tools: [journal("write"), tool("send"), tool("count", { idempotent: true })] },
      replies: [
        { text: "Let me see. ", calls: [["write", { n: 1 }]] },
        {
          calls: [
            ["send", {}],
            ["write", { n: 2 }],
          ],
        },
        { calls: [["count", {}]] },
        "all is done",
      ],
    },
    play: (world) => world.run("r1", "go"),
    text: "Let me see. all is done",
  },
  "an approval": {
    script: {
      spec: {
        tools: [journal("write")],
        policies: {
          policy: null,
          permissions: null,
          approval_timeout_s: 1000,
          approval_policy: { require_approval: ["write"] },
        },
      },
      replies: [{ calls: [["write", {}]] }, "written"],
    },
    async play(world) {
      await world.start("r1", "go");
      await rested(world);
      const [approval] = await world.ask("approvals", null);
      const { id = "", arguments_digest = "" } = approval ?? {};
      const decision = { approval: id, decision: "approve" as const, scope: "once" as const, reason: null };
      const request = { name: "approve", hash: "h" };
      expect(await world.ask("decide", { ...decision, arguments_digest, request })).toMatchObject({ id });
      await ended(world);
    },
    text: "written",
  },
  "messages while it runs": {
    script: {
      spec: { tools: [journal("write")] },
      replies: [{ calls: [["write", {}]] }, "one ", "two ", "three"],
      async during(_, world) {
        await world.tryAsk("message", said("first"));
        await world.tryAsk("message", said("last", "wait_for_completion"));
      },
    },
    async play(world) {
      await world.start("r1", "go");
      await world.say("first");
      await world.say("last", "wait_for_completion");
      await ended(world);
      await world.say("too late");
    },
    text: "",
  },
  "the client's own tool": {
    script: {
      spec: { tools: [{ ...tool("ask"), executor: "client" }] },
      replies: [{ calls: [["ask", { q: 1 }]] }, "thanks"],
    },
    async play(world) {
      await world.start("r1", "go");
      const { awaiting = [] } = await rested(world);
      const request = { name: "answer", hash: "h" };
      const tool_call_id = awaiting[0]?.tool_call_id ?? "";
      await world.ask("tool_result", { tool_call_id, content: "42", is_error: false, request });
      await ended(world);
    },
    text: "thanks",
  },
  "a run that goes idle and is woken": {
    script: {
      spec: { daemon: BOUNDED, max_iterations: 2 },
      replies: ["at your service. ", "done. "],
      // Too late for the last call, too early for a wake.
      asked: async (iteration, world) =>
        iteration === 1 ? world.tryAsk("message", said("and again")) : undefined,
    },
    async play(world) {
      await world.start("r1", "go");
      await rested(world);
      await world.say("once more");
      await rested(world);
      await world.say("and again");
      await ended(world);
    },
    status: "budget_exhausted",
    text: "at your service. done. ",
  },
  "an answer that is stored while it comes": {
    // Slower than what is gathered.
    script: { replies: [{ text: "one two", calls: [], pace: 45 }] },
    play: (world) => world.run("r1", "go"),
    text: "one two",
  },
  "compaction by a model": {
    script: {
      spec: {
        tools: [journal("write")],
        compaction: { ...SPEC.compaction, auto: true, threshold_tokens: 1, keep_last: 1, strategy: "llm" },
      },
      replies: [{ calls: [["write", {}]] }, { calls: [["write", { n: 2 }]] }, "short"],
    },
    play: (world) => world.run("r1", "a long story"),
    text: "short",
  },
  artifacts: {
    script: {
      spec: { tools: [journal("draw"), tool("recount", { idempotent: true })] },
      makes: {
        draw: [
          { __artifact__: true, id: "page", type: "html", title: "Page", content: "<p>".repeat(90_000) },
          { __artifact__: true, id: "plan", type: "markdown", content: "# Plan" },
        ],
        recount: [{ __artifact_update__: true, id: "page", metadata: { edited: true } }],
      },
      replies: [{ calls: [["draw", {}]] }, { calls: [["recount", {}]] }, "drawn"],
    },
    play: (world) => world.run("r1", "go"),
    text: "drawn",
    artifacts: ["page 1", "plan 1", "page 2"],
  },
  "a cancelled run": {
    script: {
      spec: { tools: [{ ...tool("ask"), executor: "client" }] },
      replies: [{ calls: [["ask", {}]] }, "never"],
    },
    async play(world) {
      await world.start("r1", "go");
      await rested(world);
      await world.ask("cancel", { run_id: "r1" });
    },
    status: "cancelled",
    text: "",
  },
};

describe.each(Object.entries(SCENARIOS))("%s", (_, { script, play, ...expected }) => {
  const { status = "done", text, artifacts = [] } = expected;
  const deaths = eachWrite((death) =>
    inWorld(
      script,
      async (world) => {
        const { writes } = death;
        await world.open();
        await play(world);
        checkArtifacts(world, { writes, artifacts });
        await check(world, { writes, status, text });
        return world;
      },
      death,
    ),
  );
  it.each([false, true])("settles once whatever write is the last (stored: %s)", async (after) => {
    expect(await deaths(after)).toBeGreaterThan(10);
  });
});

/** One event reports each version, before the result of its call, and the session keeps it. */
function checkArtifacts(world: World, { writes, artifacts }: { writes: number; artifacts: string[] }): void {
  const events = world.events();
  const told = events.filter((event) => event.event === "artifact");
  expect({ writes, told: told.map(({ data }) => `${data.id} ${data.version}`) }).toEqual({
    writes,
    told: artifacts,
  });
  for (const { data, seq } of told) {
    const result = events.find(
      (event) => event.event === "tool_result" && event.data.call_id === data.call_id,
    );
    expect(seq).toBeLessThan(result?.seq ?? 0);
    const { content, metadata } = world.store.artifacts.view(String(data.id), Number(data.version));
    expect({ writes, content, metadata }).toEqual({ writes, content: data.content, metadata: data.metadata });
  }
  const { data } = world.store.artifacts.list({ offset: 0, limit: 10 });
  expect(data.reduce((sum, { versions }) => sum + versions, 0)).toBe(artifacts.length);
}

async function check(
  world: World,
  { writes, status, text }: { writes: number; status: RunStatus; text: string },
): Promise<void> {
  const events = world.events();
  const records = world.records();
  const settled = records.filter(({ type }) => type === "run_settled");
  expect({ writes, settled: settled.length }).toEqual({ writes, settled: 1 });
  expect(settled[0]).toMatchObject({ status });
  const done = events.filter((event) => event.event === "done");
  expect(done.map(({ data }) => data.ok)).toEqual([status !== "cancelled"]);
  if (text !== "") expect({ writes, text: done[0]?.data.text }).toEqual({ writes, text });
  expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index + 1));
  // No effect happens twice but that of a tool which may.
  const performed = world.performed.filter((effect) => !effect.endsWith("count"));
  expect({ writes, performed }).toEqual({ writes, performed: [...new Set(performed)] });
  expect({ writes, told: told(world) }).toEqual({ writes, told: done[0]?.data.text });
  // Every message is in the conversation, once, and the next run has it.
  const next = await world.run("r2", "next", { tools: [], daemon: null });
  expect(next.status).toBe("done");
  const said = records.flatMap((record) => (record.type === "message_received" ? [record.message] : []));
  const request = world.requests.at(-1);
  for (const message of said) {
    const found = request?.messages.filter((sent) => JSON.stringify(sent) === JSON.stringify(message));
    expect({ writes, message, times: found?.length }).toEqual({ writes, message, times: 1 });
  }
  // Nothing is left to do, and a session without anything due has no alarm.
  world.now += 120_000;
  await world.revive();
  await world.over();
  expect([world.store.due.list(), await world.storage.getAlarm()]).toEqual([[], null]);
}

/** The text of all deltas that no later `round {restarted}` takes back. */
function told(world: World): string {
  const rounds = new Map<unknown, string>();
  for (const { event, data } of world.events()) {
    if (event === "round" && data.restarted === true) rounds.delete(data.round);
    if (event === "delta") rounds.set(data.round, (rounds.get(data.round) ?? "") + data.text);
  }
  return [...rounds.values()].join("");
}
