/** A request that comes several times at once, by the same key: it takes effect once, and every client gets its answer. */
import { expect, it } from "vitest";
import { ASK, asking, type Body, get, post, run, session, until } from "./session-client.ts";

type Request = [path: string, body?: Body];
/** What tells answers apart. */
interface Answer extends Body {
  run?: { id?: string; run_id?: string } | null;
}

const mocked = (...replies: string[]) => ({ provider: "mock", mock: replies.map((text) => ({ text })) });
const NODE = { kind: "subagent", mode: "llm", model_policy: { provider: "mock" } };
const GRAPH = {
  entry: "a",
  nodes: { a: { model_policy: { provider: "mock" } }, w: { kind: "wait", wait: { event: "go" } } },
  edges: [{ from: "a", to: "w" }],
};

const made = async (path: string, body: Body): Promise<Body> => {
  const response = await post(path, body);
  const text = await response.text();
  expect([path, response.ok, response.ok ? "" : text]).toEqual([path, true, ""]);
  return JSON.parse(text);
};
/** A session that has talked. */
const talked = async (): Promise<string> => {
  const path = await session();
  for (const prompt of ["one", "two"]) await run(path, prompt, { mock: [{ text: `${prompt}!` }] });
  return path;
};
const task = async (): Promise<string> => {
  const options = mocked("one", "two", "three");
  const { id } = await made("/tasks", { task: "Count.", node: NODE, options, wait: true });
  return `/tasks/${id}`;
};
const daemon = async (): Promise<string> => {
  const { id } = await made("/daemons", { task: "Wait.", ...mocked("one", "two", "three") });
  return `/daemons/${id}`;
};
const workflow = async (): Promise<string> => {
  const answer = await post("/workflows/execute?wait=none", { task: "Go.", graph: GRAPH });
  const { run: begun } = await answer.json<Answer>();
  const path = `/workflows/runs/${begun?.id}`;
  await until(path, "waiting");
  return path;
};

/** Requests that take a key, by what they do. Each is for a session, a task or something else of its own. */
const REQUESTS: Record<string, () => Promise<Request>> = {
  "POST /sessions": async () => ["/sessions", {}],
  "a run": async () => [`${await session()}/runs`, { prompt: "x", options: mocked("y") }],
  "a run, asynchronously": async () => [
    `${await session()}/runs?wait=none`,
    { prompt: "x", options: mocked("y") },
  ],
  message: async () => [`${await session()}/messages`, { content: "x" }],
  feedback: async () => [`${await session()}/feedback`, { kind: "hint", content: "x" }],
  inject: async () => [`${await session()}/inject`, { message: { role: "user", content: "x" } }],
  reset: async () => [`${await talked()}/reset`],
  trim: async () => [`${await talked()}/trim`, { keep_last: 2 }],
  compact: async () => [`${await talked()}/compact`, { keep_last: 2 }],
  "compact by a model": async () => [
    `${await talked()}/compact`,
    { strategy: "llm", keep_last: 2, options: mocked("All of it.") },
  ],
  fork: async () => [`${await talked()}/fork`, {}],
  "fork-at": async () => [`${await talked()}/fork-at`, { keep_first: 2 }],
  archive: async () => [`${await talked()}/archive`],
  close: async () => [`${await talked()}/close`],
  resume: async () => [`${await talked()}/resume`],
  "a tool's result": async () => {
    const path = await session();
    await run(`${path}`, "x", { tools: [ASK], mock: asking });
    const { data } = await get<{ data: Body[] }>(`${path}/runs`);
    const { awaiting } = await get<{ awaiting: Body[] }>(`${path}/runs/${data[0]?.run_id}`);
    return [`${path}/tool-results`, { tool_call_id: awaiting[0]?.tool_call_id, content: "Ann" }];
  },
  cancel: async () => {
    const path = await session();
    await run(`${path}`, "x", { tools: [ASK], mock: asking });
    const { data } = await get<{ data: Body[] }>(`${path}/runs`);
    return [`${path}/runs/${data[0]?.run_id}/cancel`];
  },
  "a call in a session": async () => {
    const path = await session();
    return ["/llm/call", { prompt: "x", options: { ...mocked("y"), session_id: path.split("/")[2] } }];
  },
  "/runs": async () => ["/runs", { prompt: "x", options: mocked("y") }],
  task: async () => ["/tasks", { task: "Count.", node: NODE, options: mocked("one") }],
  "task input": async () => [`${await task()}/input`, { task: "On." }],
  "task trigger": async () => {
    const { id } = await made("/tasks", {
      task: "C.",
      node: NODE,
      options: mocked("1", "2"),
      carry: { retriggerable: true },
    });
    await until(`/tasks/${id}`, "awaiting");
    return [`/tasks/${id}/trigger`, { payload: 1 }];
  },
  "task close": async () => [`${await task()}/close`],
  "task resume": async () => {
    const path = await task();
    await post(`${path}/close`);
    return ["/tasks/resume", { id: path.split("/")[2] }];
  },
  "task resume with a run": async () => {
    const path = await task();
    await post(`${path}/close`);
    return ["/tasks/resume", { id: path.split("/")[2], run: true }];
  },
  "sub-agent": async () => ["/sub-agents", { task: "x", options: mocked("y") }],
  daemon: async () => ["/daemons", { task: "Wait.", ...mocked("one", "two") }],
  "daemon event": async () => [`${await daemon()}/events`, { mail: 17 }],
  "daemon wake": async () => [`${await daemon()}/wake`],
  "daemon stop": async () => [`${await daemon()}/stop`],
  "daemon resume": async () => {
    const path = await daemon();
    await post(`${path}/stop`);
    return [`${path}/resume`];
  },
  "workflow execute": async () => [
    "/workflows/execute",
    { task: "Go.", graph: { entry: "a", nodes: { a: {} } }, options: mocked("one") },
  ],
  "workflow signal": async () => [`${await workflow()}/signals`, { name: "go" }],
  "workflow pause": async () => [`${await workflow()}/pause`],
  "workflow resume": async () => {
    const path = await workflow();
    await post(`${path}/pause`);
    return [`${path}/resume?wait=none`];
  },
  "workflow cancel": async () => [`${await workflow()}/cancel`, {}],
  "workflow kill": async () => [`${await workflow()}/kill`, {}],
  "workflow fork": async () => [`${await workflow()}/fork?wait=none`, { from: "a" }],
  response: async () => ["/v1/responses", { model: "mock", input: "x" }],
  conversation: async () => ["/v1/conversations", {}],
  "conversation items": async () => {
    const { id } = await made("/v1/conversations", {});
    return [`/v1/conversations/${id}/items`, { items: [{ type: "message", role: "user", content: "x" }] }];
  },
};

it.each(Object.entries(REQUESTS))("%s", async (name, request) => {
  const [path, body] = await request();
  const key = { "idempotency-key": `same-${name}` };
  const ask = () => post(path, body, key);
  const answers = await Promise.all([ask(), ask(), ask()]);
  answers.push(await ask());
  const read = await Promise.all(
    answers.map(async (answer) => {
      const { id, run_id, seq, compacted, run: of, code } = await answer.json<Answer>();
      return { status: answer.status, id, run_id, seq, compacted, run: of?.id ?? of?.run_id, code };
    }),
  );
  expect(read[0]?.status, `${read[0]?.code}`).toBeLessThan(300);
  expect(read).toEqual(read.map(() => read[0]));
});
