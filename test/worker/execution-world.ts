/** Calls that outlive their connection, the successive processes that run them, and a runner. */
import { runInDurableObject } from "cloudflare:test";
import { afterEach, beforeAll, beforeEach, expect, vi } from "vitest";
import { deploymentOf } from "../../src/deployment.ts";
import type { Bindings } from "../../src/env.ts";
import { SESSION_RUNTIME } from "../../src/run/agent/runtime.ts";
import type { ConversationStore } from "../../src/session/conversation/store.ts";
import { Session } from "../../src/session/session.ts";
import type { ExecutionCall } from "../../src/session/unlisted/rpc.ts";
import type { UnlistedSession } from "../../src/session/unlisted/unlisted-session.ts";
import { FakeRunner, RUNNER_URL, refusal } from "./fake-runner.ts";
import { Client, LOCAL, mockSkill } from "./served.ts";

export const RUNNER = { HULL_RUNNER_URL: RUNNER_URL, HULL_RUNNER_SECRET: "s".repeat(32) };

export const client = new Client({ ...LOCAL, ...RUNNER });
/** The same deployment with further settings. */
export const withSettings = (settings: Record<string, string>): Bindings =>
  new Client({ ...LOCAL, ...RUNNER, ...settings }).env;
/** The answer of a runner whose queue is full. */
export const refusedByRunner = (): Response => refusal(429, "concurrency_limited");
const digests = new Map<string, string>();
export let runner: FakeRunner;

beforeAll(async () => {
  await client.publish({
    asks: mockSkill("asks", "tools:\n  - name: look\n    description: Looks.\n    command: [look]\n"),
    looks: mockSkill(
      "looks",
      "tools:\n  - name: look\n    description: Looks.\n    command: [look]\n    idempotent: true\n",
    ),
    single: mockSkill(
      "single",
      "concurrency: 1\ntools:\n  - name: look\n    description: Looks.\n    command: [look]\n",
    ),
    writes: mockSkill("writes", "workspace_tools: [Write]\n"),
    commands: `${mockSkill("commands", 'workspace_tools: [Bash]\nallowed-tools: "Bash(echo *)"\n')}Now: !\`echo hi\`\n`,
    "needs-key":
      "---\nname: needs-key\ndescription: Its provider needs a key.\nmode: llm\nprovider: openai\n---\nAnswer.\n",
    script: "---\nname: script\ndescription: A script\nrun: [work]\n---\nWorks.\n",
    "slow-script":
      "---\nname: slow-script\ndescription: A script\nrun: [work]\ntimeout_ms: 99000\n---\nWorks.\n",
  });
  for (const { slug, version } of await (await client.fetch("/skills")).json<
    { slug: string; version: string }[]
  >()) {
    digests.set(slug, version);
  }
});

beforeEach(() => {
  runner = new FakeRunner();
  vi.stubGlobal("fetch", runner.fetch);
});
afterEach(() => {
  vi.unstubAllGlobals();
});

const asked = { account: "caller:-" };
const model = { provider: "mock" };
const twoTurns = [
  { tool_calls: [{ name: "look", arguments: {} }] },
  { text: "It is seen. It was out there." },
  { text: "This one was not to be used." },
];
/** Requests for each operation. */
export const OPERATIONS: Record<string, string> = {
  runs: JSON.stringify({
    ...asked,
    operation: "runs",
    until: "terminal",
    body: { prompt: "look", options: { skill: "asks", mock: twoTurns } },
  }),
  "llm/call": JSON.stringify({
    ...asked,
    operation: "llm/call",
    body: { prompt: "what is out", options: model },
  }),
  "llm/structured": JSON.stringify({
    ...asked,
    operation: "llm/structured",
    body: {
      prompt: "a?",
      schema: { type: "object" },
      options: { ...model, mock: [{ text: '{"a":"out"}' }] },
    },
  }),
  responses: JSON.stringify({
    ...asked,
    operation: "responses",
    body: { model: "skill/asks" },
    head: { id: `resp_${"0".repeat(32)}`, object: "response", status: "in_progress", output: [] },
    history: [],
    input: [
      { type: "message", id: "msg_1", role: "user", content: [{ type: "input_text", text: "what is out" }] },
    ],
    conversation: null,
    container: null,
    local_shell: false,
  }),
  "llm/completion": JSON.stringify({
    ...asked,
    operation: "llm/completion",
    body: { prefix: "it is out", options: model },
  }),
};

let count = 0;
/** A call with a new id, of a skill or of an operation. */
export function newCall(skill: string): ExecutionCall {
  count += 1;
  const id = `ex_${count.toString(16).padStart(32, "0")}`;
  const text = new TextEncoder().encode(OPERATIONS[skill] ?? "what is it");
  const digest = digests.get(skill) ?? "";
  return { id, caller: "me", skill, digest, request_hash: "h", request_id: "request-1", text, files: [] };
}

export interface Life {
  session: UnlistedSession;
  alarm: () => void;
  store: ConversationStore;
  /** Resolves when this life has no work left. */
  over: () => Promise<void>;
}

export function life(env: Bindings, storage: DurableObjectStorage): Life {
  const deployment = deploymentOf(env);
  const work: Promise<unknown>[] = [];
  const background = (promise: Promise<unknown>): void => void work.push(promise);
  const session = new Session({
    storage,
    deployment,
    background,
    runtime: SESSION_RUNTIME,
    die: async () => {},
  });
  const over = async (): Promise<void> => {
    for (let seen = -1; seen !== work.length; ) {
      seen = work.length;
      await Promise.all(work);
    }
  };
  const { unlisted, conversation } = session;
  return { session: unlisted, alarm: () => session.alarm(), store: conversation.log.store, over };
}

/** Runs `test` with the storage of a new object. */
export const withStorage = (
  id: string,
  test: (storage: DurableObjectStorage) => Promise<void>,
): Promise<void> => {
  const namespace = client.env.SESSIONS;
  return runInDurableObject(namespace.get(namespace.idFromName(id)), (_, state) => test(state.storage));
};

export async function textOf({ session }: Life): Promise<string> {
  const answer = await session.answer("me");
  if (!answer?.ok) return `error: ${JSON.stringify(answer?.error)}`;
  return new Response(answer.body).text();
}

interface Streamed {
  names: string[];
  /** Text of all deltas that no later `round {restarted}` withdraws. */
  text: string;
}

export async function streamedBy({ session }: Life): Promise<Streamed> {
  const events = await session.follow("me", 0, false);
  const lines = (events?.ok ? await new Response(events.body).text() : "").trim().split("\n\n");
  const names: string[] = [];
  let text = "";
  for (const [index, line] of lines.entries()) {
    expect(line).toMatch(new RegExp(`^id: ex_[0-9a-f]{32}:${index + 1}\n`));
    const name = /^event: (.*)$/m.exec(line)?.[1] ?? "";
    const data = JSON.parse(/^data: (.*)$/m.exec(line)?.[1] ?? "{}");
    if (data.restarted) text = "";
    else names.push(name);
    if (name === "delta") text += data.text;
  }
  return { names: names.filter((name) => name !== "delta"), text };
}
