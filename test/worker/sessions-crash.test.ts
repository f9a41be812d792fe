/** What a session survives: its process dies at any of its writes, and the next one goes on (design.md §2.3). */
import { describe, expect, it } from "vitest";
import { inWorld, type Script, tool, type World } from "./session-world.ts";

const journal = (name: string) => ({ ...tool(name), handler: "journal" });

interface Scenario {
  script: Script;
  /** What a client does; asks again with the same request where it got no answer. */
  play: (world: World) => Promise<unknown>;
  text: string;
}

/** Lets a call of an approval-bound tool happen. */
async function approve(world: World): Promise<void> {
  await world.ask("answer", { run_id: "r1", wait: "idle" });
  const [approval] = await world.ask("approvals", null);
  if (approval === undefined) return;
  const { id, arguments_digest } = approval;
  const decision = { approval: id, decision: "approve" as const, scope: "once" as const, reason: null };
  const request = { name: "approve", hash: "h" };
  const decided = await world.ask("decide", { ...decision, arguments_digest, request });
  expect(decided).toEqual({ id, decision: "approve", run_id: "r1" });
}

const SCENARIOS: Record<string, Scenario> = {
  "tools with side effects": {
    script: {
      spec: { tools: [journal("write"), journal("send")] },
      replies: [
        { text: "Let me see. ", calls: [["write", { n: 1 }]] },
        { calls: [["send", {}]] },
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
          ...{ policy: null, permissions: null, approval_timeout_s: 1000 },
          approval_policy: { require_approval: ["write"] },
        },
      },
      replies: [{ calls: [["write", {}]] }, "written"],
    },
    async play(world) {
      await world.start("r1", "go");
      await approve(world);
      await world.ask("answer", { run_id: "r1", wait: "terminal" });
    },
    text: "written",
  },
  "messages while it runs": {
    script: {
      spec: { tools: [journal("write")] },
      replies: [{ calls: [["write", {}]] }, "one ", "two"],
    },
    async play(world) {
      await world.start("r1", "go");
      await world.say("first");
      await world.ask("answer", { run_id: "r1", wait: "terminal" });
      await world.say("second");
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
      const { awaiting = [] } = await world.ask("answer", { run_id: "r1", wait: "idle" });
      const [call] = awaiting;
      const request = { name: "answer", hash: "h" };
      const tool_call_id = call?.tool_call_id ?? "";
      await world.ask("tool_result", { tool_call_id, content: "42", is_error: false, request });
      await world.ask("answer", { run_id: "r1", wait: "terminal" });
    },
    text: "thanks",
  },
};

describe.each(Object.entries(SCENARIOS))("%s", (_, { script, play, text }) => {
  it.each([false, true])("settles once whatever write is the last (stored: %s)", async (after) => {
    let deaths = 0;
    for (let writes = 1; writes < 200; writes += 1) {
      const died = await inWorld(
        script,
        async (world) => {
          await world.open();
          await play(world);
          await check(world, { writes, text });
          return world.deaths;
        },
        { writes, after },
      );
      deaths += died;
      if (died === 0) break;
    }
    expect(deaths).toBeGreaterThan(10);
  });
});

async function check(world: World, { writes, text }: { writes: number; text: string }): Promise<void> {
  const events = world.events();
  const records = world.records();
  const settled = records.filter(({ type }) => type === "run_settled");
  expect({ writes, settled: settled.length }).toEqual({ writes, settled: 1 });
  expect(settled[0]).toMatchObject({ status: "done" });
  const done = events.filter(({ event }) => event === "done");
  expect(done.map(({ data }) => data.ok)).toEqual([true]);
  if (text !== "") expect({ writes, text: done[0]?.data.text }).toEqual({ writes, text });
  expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index + 1));
  expect({ writes, performed: world.performed }).toEqual({
    writes,
    performed: [...new Set(world.performed)],
  });
  expect({ writes, told: told(world) }).toEqual({ writes, told: done[0]?.data.text });
  // Every message is in the conversation, once, and the next run has it.
  const next = await world.run("r2", "next", { tools: [] });
  expect(next.status).toBe("done");
  const said = records.flatMap((record) => (record.type === "message_received" ? [record.message] : []));
  const request = world.requests.at(-1);
  for (const message of said) {
    const found = request?.messages.filter((sent) => JSON.stringify(sent) === JSON.stringify(message));
    expect({ writes, message, times: found?.length }).toEqual({ writes, message, times: 1 });
  }
  // Nothing is left to be seen to, and a session without anything due has no alarm.
  world.now += 120_000;
  await world.revive();
  await world.over();
  expect([world.store.due(), await world.storage.getAlarm()]).toEqual([[], null]);
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
