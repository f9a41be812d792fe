/** What holds for each call of any turn, however many calls it has and in whatever order they end. */
import { expect, it } from "vitest";
import { applyAgentRecord } from "../../../../src/engine/agent/apply.ts";
import { callDigest } from "../../../../src/engine/agent/policy.ts";
import type { AgentRecord } from "../../../../src/engine/agent/records.ts";
import { type AgentState, EMPTY_SESSION } from "../../../../src/engine/agent/state.ts";
import type { JsonObject } from "../../../../src/skill/manifest.ts";
import { fc } from "../../../support/property.ts";
import { play, type Reply, SPEC, started, tool } from "./harness.ts";

/** What is decided about calls of each tool. */
const TOOLS = {
  /** Allowed. */
  free: tool("free"),
  reads: tool("reads", { kind: "read" }),
  /** Allowed, in order. */
  edits: tool("edits", { kind: "edit" }),
  writes: tool("writes", { side_effect_level: "workspace_write" }),
  /** Refused: by the ceiling, as blocked, by the permissions. */
  beyond: tool("beyond"),
  blocked: tool("blocked"),
  denied: tool("denied"),
  /** Its arguments are refused if they hold `secret`. */
  guarded: tool("guarded"),
  /** A hook refuses odd ones, and replaces the arguments of the others, in part by ones with `secret`. */
  hooked: tool("hooked"),
  /** A person decides. */
  asks: tool("asks"),
  /** The client answers. */
  client: { ...tool("client"), executor: "client" as const },
} as const;
type Name = keyof typeof TOOLS;
const NAMES = Object.keys(TOOLS) as Name[];
const WRITERS = ["edits", "writes"];

interface Asked {
  name: Name;
  n: number;
  secret: boolean;
}

const argsOf = ({ n, secret }: Asked, i: number): JsonObject => ({
  n,
  i,
  ...(secret ? { p: "secret" } : {}),
});

/** Whether a call may be made, by the rules above alone. @param approved what the person says */
function isAllowed({ name, n, secret }: Asked, approved: boolean): boolean {
  if (["beyond", "blocked", "denied"].includes(name)) return false;
  if (name === "guarded") return !secret;
  // Both the model's arguments and the hook's are judged.
  if (name === "hooked") return !secret && n % 4 === 2;
  return name !== "asks" || approved;
}

const SPEC_OF_TURN = {
  tools: Object.values(TOOLS),
  loop_detect: { warn: 0, block: 0, skip: 0 },
  tool_hooks: [{ pattern: "hooked", pre: "check", post: null, deny: null, max_output: null }],
  policies: {
    ...SPEC.policies,
    policy: { tools: NAMES.filter((name) => name !== "beyond"), blocked_tools: ["blocked"] },
    permissions: { deny: { denied: true, guarded: ["*secret*"], hooked: ["*secret*"] } },
    approval_policy: { require_approval: ["asks"] },
  },
};

const turns = fc.record({
  calls: fc.array(
    fc.record({ name: fc.constantFrom(...NAMES), n: fc.nat(20), secret: fc.boolean() }),
    // More than those for which Hull decides something at the same time.
    { minLength: 1, maxLength: 150, size: "max" },
  ),
  /** How long each call takes, in turns of the event loop, and how people and processes act. */
  ticks: fc.array(fc.nat(4), { minLength: 7, maxLength: 7 }),
  approvals: fc.array(fc.boolean(), { minLength: 5, maxLength: 5 }),
  dies: fc.option(fc.double({ min: 0, max: 1, noNaN: true })),
});

it("each call of a turn is made as its rules say, at most once by an attempt, and has one result", async () => {
  const property = fc.asyncProperty(turns, async ({ calls, ticks, approvals, dies }) => {
    let underWay: { name: string; i: number }[] = [];
    let made: { i: number; args: JsonObject; again: boolean }[] = [];
    const approvedFor = new Map<number, string>();
    const approves = (i: number): boolean => approvals[i % approvals.length] === true;
    let state: AgentState = applyAgentRecord(EMPTY_SESSION, started(SPEC_OF_TURN));
    let replies: Reply[] = [
      { calls: calls.map((call, i): [string, JsonObject] => [call.name, argsOf(call, i)]) },
      "end",
    ];
    const attempt = async (): ReturnType<typeof play> =>
      await play({
        state,
        replies,
        hooks: {
          check: (payload) => {
            const { args } = payload as { args: { n: number; i: number } };
            if (args.n % 2 === 1) return { deny: "odd" };
            return { args: { n: args.n, i: args.i, ...(args.n % 4 === 0 ? { p: "secret" } : {}) } };
          },
        },
        async runTool({ call, again, started_at }) {
          const args = call.arguments ?? {};
          const i = Number(args.i);
          // The record of the start comes before the call.
          expect(started_at).toBeDefined();
          made.push({ i, args, again });
          if (WRITERS.includes(call.name))
            expect(underWay.filter(({ name }) => WRITERS.includes(name))).toEqual([]);
          underWay.push({ name: call.name, i });
          expect(underWay.length).toBeLessThanOrEqual(6);
          for (let tick = ticks[i % ticks.length] ?? 0; tick > 0; tick--) await new Promise(setImmediate);
          underWay = underWay.filter((one) => one.i !== i);
          return `result ${i}`;
        },
      });
    let played = await attempt();
    if (dies !== null) {
      // The process died: what it stored up to some row is all that there is.
      const kept = played.rows.slice(0, Math.ceil(dies * played.rows.length)).flat();
      state = kept.reduce(applyAgentRecord, state);
      if (kept.some(({ type }) => type === "model_call_settled")) replies = ["end"];
      const began = kept.flatMap((record) => (record.type === "tools_started" ? record.calls : []));
      made = made.filter(({ i }) => began.some(({ call }) => call.arguments?.i === i));
      played = await attempt();
    }
    replies = ["end"];
    for (let rests = 0; played.step.type === "wait"; rests++) {
      expect(rests).toBeLessThan(2 * calls.length);
      const at = { v: 1 as const, at: 1, run: SPEC.run_id };
      const decisions = played.step.approvals.map((request): AgentRecord => {
        const i = Number(request.arguments.i);
        expect(request.arguments_digest).toBe(callDigest(request.tool, request.arguments));
        approvedFor.set(i, request.arguments_digest);
        const decision = approves(i) ? "approve" : "deny";
        return {
          ...at,
          type: "approval_decided",
          approval: request.id,
          decision,
          scope: "once",
          reason: null,
        };
      });
      const awaited = played.run.calls.filter(
        ({ call, stage }) => call.name === "client" && stage !== "settled",
      );
      const [first] = awaited;
      const answers: AgentRecord[] =
        decisions.length > 0 || first === undefined
          ? []
          : [{ ...at, type: "client_tool_answered", call_id: first.call.id, content: "c", is_error: false }];
      state = [...decisions, ...answers].reduce(applyAgentRecord, played.state);
      played = await attempt();
    }
    expect(played.run.status).toBe("done");
    const results = played.state.visible.flatMap((message) =>
      message.role === "tool" ? message.results : [],
    );
    expect(results.map(({ name }) => name)).toEqual(calls.map(({ name }) => name));
    for (const [i, call] of calls.entries()) {
      const allowed = isAllowed(call, approves(i));
      const times = made.filter((one) => one.i === i);
      // A call is made again only after its process died, and says so.
      expect(times.filter(({ again }) => !again).length).toBe(allowed && call.name !== "client" ? 1 : 0);
      expect(results[i]?.is_error).toBe(!allowed);
      if (allowed && call.name !== "client") expect(results[i]?.content).toBe(`result ${i}`);
      if (call.name === "asks")
        for (const { args } of times) expect(approvedFor.get(i)).toBe(callDigest("asks", args));
    }
    const order = made.filter(({ i }) => WRITERS.includes(calls[i]?.name ?? "")).map(({ i }) => i);
    expect(order).toEqual(order.toSorted((a, b) => a - b));
  });
  await fc.assert(property, { numRuns: 12 });
});
