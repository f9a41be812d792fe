/** Sub-agents: as a route, and as a tool that a model calls. */
import { describe, expect, it, onTestFinished } from "vitest";
import { dataOf, readEvents } from "../support/sse.ts";
import { mockSkill } from "./served.ts";
import {
  ASK,
  asking,
  type Body,
  client,
  codeOf,
  get,
  post,
  run,
  send,
  session,
  texts,
  until,
} from "./session-client.ts";

const MOCK = { provider: "mock" };
const subAgent = async (options: Body = {}, more: Body = {}): Promise<Body> => {
  const response = await post("/sub-agents", { task: "Look.", options: { ...MOCK, ...options }, ...more });
  return response.json<Body>();
};
const said = (text: string) => ({ mock: [{ text }] });
const DELEGATE = (...tasks: Body[]) => ({
  tool_calls: tasks.map((args) => ({ name: "sub_agent", arguments: args })),
});

describe("POST /sub-agents", () => {
  it("answers an envelope", async () => {
    const envelope = await subAgent(said("All is well."));
    expect(envelope).toMatchObject({
      ok: true,
      status: "done",
      summary: "All is well.",
      artifacts: [],
      evidence_added: 0,
      budget_exceeded: false,
      session_id: expect.stringMatching(/^task_/),
    });
    expect(envelope.tokens_used).toBeGreaterThan(0);
    expect(await get(`/tasks/${envelope.session_id}`)).toMatchObject({ mode: "sub_agent", result: envelope });
  });

  it.each<[string, Body]>([
    ["that succeeds", said("All is well.")],
    ["that fails", { mock: [{ error: { category: "auth", message: "no such key" } }] }],
  ])("ends its stream with the envelope of a run %s", async (_, options) => {
    const body = { task: "Look.", options: { ...MOCK, ...options } };
    const events = await readEvents(await post("/sub-agents", body, { accept: "text/event-stream" }));
    const done = events.at(-1);
    const { result } = await get<{ result: Body }>(`/tasks/${done?.data.session_id}`);
    expect([done?.event, done?.data]).toEqual(["done", result]);
    const { session_id: own, ...whole } = await subAgent(options);
    expect(own).not.toBe(done?.data.session_id);
    expect(done?.data).toMatchObject(whole);
  });

  it("says when its budget was exceeded, and gives data that fits its schema or says why not", async () => {
    const long = await subAgent({ ...said("one two three four five six seven"), token_budget: 8 });
    expect(long).toMatchObject({ ok: true, budget_exceeded: true, status: "budget_exhausted" });
    const returns = { schema: { type: "object", properties: { n: { type: "integer" } }, required: ["n"] } };
    expect(await subAgent({ ...said('{"n": 3}'), returns })).toMatchObject({ ok: true, data: { n: 3 } });
    const misfit = { text: '{"n": "three"}', input_tokens: 10, output_tokens: 4 };
    const wrong = await subAgent({ mock: [misfit], returns });
    expect(wrong).toMatchObject({ ok: false, error: { category: "schema_validation" }, tokens_used: 14 });
    const mock = [misfit, { error: { category: "auth" } }];
    const failed = await subAgent({ mock, returns, schema_retries: 1 });
    expect(failed).toMatchObject({ ok: false, error: { category: "auth" }, tokens_used: 14 });
    expect(wrong).not.toHaveProperty("data");
  });

  it("says that its model refused", async () => {
    const envelope = await subAgent({ mock: [{ stop_reason: "refusal" }] });
    expect(envelope).toMatchObject({ summary: "", warnings: [{ code: "model_refused" }] });
  });

  it("is not ok if a tool was refused, even if it continued", async () => {
    const mock = [{ tool_calls: [{ name: "ask", arguments: { q: "?" } }] }, { text: "Without it, then." }];
    const tools = [ASK, { ...ASK, name: "look" }];
    const envelope = await subAgent({ tools, allowed_tools: ["look"], mock });
    expect(envelope).toMatchObject({
      ok: false,
      status: "done",
      summary: "Without it, then.",
      error: { category: "permission_denied", tool: "ask" },
    });
  });

  it("answers a failure with an envelope too; in the background it is a task", async () => {
    const mock = [{ error: { category: "auth", message: "no such key" } }];
    expect(await subAgent({ mock })).toMatchObject({ ok: false, error: { category: "auth" } });
    const request = { payload: { n: 1 } };
    const handle = await subAgent({
      ...said("Done."),
      background: true,
      name: "bg",
      request,
      action_items: ["a"],
    });
    expect(handle).toMatchObject({ _type: "task_handle", mode: "sub_agent", name: "bg" });
    expect(handle.request).toMatchObject({ task: "Look.", payload: { n: 1 }, action_items: ["a"] });
    const waited = await (await post("/tasks/wait", { ids: handle.id })).json();
    expect(waited).toMatchObject({ status: "completed", result: { ok: true, summary: "Done." } });
    const failed = await subAgent({ mock, background: true });
    expect(await (await post("/tasks/wait", { ids: failed.id })).json()).toMatchObject({
      status: "completed",
      error: null,
      result: { ok: false },
    });
  });

  it("runs in an existing session, unless that is above it", async () => {
    const [top, within] = [await session(), await session()].map((path) => path.replace("/sessions/", ""));
    const below = { parent_session_id: top };
    expect(await subAgent({ ...said("In."), session_id: within }, below)).toMatchObject({ ok: true });
    const inside = async (session_id: unknown, parent_session_id: unknown) =>
      codeOf(await post("/sub-agents", { task: "x", options: { ...MOCK, session_id }, parent_session_id }));
    // Each of these would report to itself forever.
    expect(await inside(top, top)).toEqual([422, "input_invalid"]);
    expect(await inside(top, within)).toEqual([422, "input_invalid"]);
    expect(await get(`/sessions/${top}`)).toMatchObject({ child_ids: [within] });
  });

  it("does not run in a parent session, even if both are nested at the same time", async () => {
    for (const sessions of [2, 3]) {
      const paths = await Promise.all(Array.from({ length: sessions }, () => session()));
      const ids = paths.map((path) => path.replace("/sessions/", ""));
      // Each below the next one, and the last one below the first.
      const made = await Promise.all(
        ids.map((session_id, n) =>
          post("/sub-agents", {
            task: "x",
            options: { ...said("In."), session_id },
            parent_session_id: ids[(n + 1) % sessions],
          }),
        ),
      );
      const codes = await Promise.all(made.map(async (answer) => (answer.ok ? "ok" : codeOf(answer))));
      expect(codes).toContainEqual([422, "input_invalid"]);
      for (const code of codes) expect(["ok", [422, "input_invalid"]]).toContainEqual(code);
      const children = await Promise.all(
        paths.map(async (path) => (await get<{ child_ids: string[] }>(`${path}/ancestry`)).child_ids),
      );
      expect(children.flat()).toHaveLength(codes.filter((code) => code === "ok").length);
    }
  });

  it("starts clean or from a copy, and the parent session reports it", async () => {
    const path = await session();
    await run(path, "Remember 17.", said("Yes."));
    const parent_session_id = path.replace("/sessions/", "");
    const clean = await subAgent(said("What?"), { parent_session_id });
    expect(await texts(`/sessions/${clean.session_id}`)).toEqual(["Look.", "What?"]);
    const copy = await subAgent({ ...said("17."), fork: true }, { parent_session_id });
    expect(await texts(`/sessions/${copy.session_id}`)).toEqual(["Remember 17.", "Yes.", "Look.", "17."]);
    expect(await texts(path)).toEqual(["Remember 17.", "Yes."]);
    const { child_ids } = await get<{ child_ids: string[] }>(`${path}/ancestry`);
    expect(child_ids.toSorted()).toEqual([clean.session_id, copy.session_id].toSorted());
    const told = await events(path, 30, "sub_agent_result", 2);
    expect(dataOf(told, "sub_agent_start").map(({ session_id }) => session_id)).toEqual([
      clean.session_id,
      copy.session_id,
    ]);
    expect(dataOf(told, "sub_agent_result")).toMatchObject([{ ok: true }, { ok: true }]);
    expect(await codeOf(await post("/sub-agents", { task: "x", options: { fork: true } }))).toEqual([
      422,
      "input_invalid",
    ]);
    expect(await codeOf(await post("/sub-agents", { task: "x", parent_session_id: "nobody" }))).toEqual([
      404,
      "not_found",
    ]);
  });
});

/** A session's events from the beginning, up to the so-and-so-manieth of a name. */
async function events(path: string, most: number, name: string, times: number) {
  const response = await client.stream(`${path}/events?after=0`);
  const reader = response.body?.getReader();
  const decoder = new TextDecoder();
  let text = "";
  while (text.split(`event: ${name}\n`).length <= times && text.split("\n\n").length < most * 10) {
    const piece = await reader?.read();
    text += decoder.decode(piece?.value, { stream: true });
  }
  while (!text.endsWith("\n\n")) text += decoder.decode((await reader?.read())?.value, { stream: true });
  await reader?.cancel();
  return readEvents(new Response(text));
}

describe("the tool sub_agent", () => {
  /** None of so many tasks is seen to end before the last one has. */
  function endTogether(count: number): void {
    const { SESSIONS } = client.env;
    const ended = Promise.withResolvers<void>();
    let left = count;
    const waits = (stub: ReturnType<typeof SESSIONS.get>) =>
      new Proxy(stub, {
        get(object, name) {
          if (name !== "ask") return Reflect.get(object, name);
          return async (...[question]: Parameters<typeof object.ask>) => {
            const answer = await object.ask(question);
            if (typeof question !== "string" || !question.includes('"type":"task_wait"')) return answer;
            left -= 1;
            if (left === 0) ended.resolve();
            await ended.promise;
            return answer;
          };
        },
      });
    client.env.SESSIONS = new Proxy(SESSIONS, {
      get(namespace, name) {
        if (name === "get") return (id: DurableObjectId) => waits(namespace.get(id));
        const value: unknown = Reflect.get(namespace, name);
        return typeof value === "function" ? value.bind(namespace) : value;
      },
    });
    onTestFinished(() => {
      client.env.SESSIONS = SESSIONS;
    });
  }

  it("runs several of one turn in parallel, streams their events, and counts their cost", async () => {
    endTogether(2);
    const path = await session();
    const mock = [DELEGATE({ task: "left", name: "l" }, { task: "right" }), { text: "Done." }];
    const options = { sub_agents: true, mock };
    const response = await run(path, "Both, please.", options, { accept: "text/event-stream" });
    const stream = await readEvents(response);
    const done = dataOf(stream, "done")[0] ?? {};
    expect(done).toMatchObject({ ok: true, text: "Done.", tools_used: ["sub_agent", "sub_agent"] });
    const own = String(done.run_id);
    const starts = dataOf(stream, "sub_agent_start");
    // They begin in parallel, so either may be first.
    expect(starts.toSorted((a, b) => String(a.task).localeCompare(String(b.task)))).toMatchObject([
      { parent_run_id: own, task: "left", name: "l" },
      { parent_run_id: own, task: "right", name: "task" },
    ]);
    const ended = dataOf(stream, "sub_agent_result");
    expect(ended.map(({ ok }) => ok)).toEqual([true, true]);
    const below = dataOf(stream, "delta").filter(({ parent_run_id }) => parent_run_id === own);
    expect(new Set(below.map(({ run_id }) => run_id))).toEqual(new Set(starts.map(({ run_id }) => run_id)));
    // Both began before one of them had ended.
    const names = stream.map(({ event }) => event);
    expect(names.lastIndexOf("sub_agent_start")).toBeLessThan(names.indexOf("tool_result"));
    expect(await texts(path)).toMatchObject({ length: 5 });
    const messages = JSON.stringify(await get(`${path}/messages`));
    expect(messages.match(/tokens_used/g)).toHaveLength(2);
    expect(messages).not.toContain('"content":"left"');
    // A client that reconnects with an id gets what followed, each event once.
    const half = stream[Math.floor(stream.length / 2)];
    const later = await events(`${path}`, 200, "done", 1);
    const from = later.findIndex(({ id }) => id === half?.id);
    expect(later.slice(from).map(({ event, data }) => ({ event, data }))).toEqual(
      stream.slice(Math.floor(stream.length / 2)).map(({ event, data }) => ({ event, data })),
    );
  });
});

it("a tool sub_agent of the run's own replaces the runtime's, with a warning", async () => {
  const tools = [{ name: "sub_agent", description: "Mine.", parameters: {} }];
  const path = await session();
  const options = { sub_agents: true, tools, mock: [{ text: "Done." }] };
  expect(await (await run(path, "Go.", options)).json<Body>()).toMatchObject({
    warnings: [{ code: "option_ignored", option: "sub_agents" }],
  });
  await client.publish({ lead: "---\nname: lead\ndescription: d\nallowed-tools: Task\n---\nLead.\n" });
  const { sub_agents: _, ...unasked } = { ...options, skills: ["lead"] };
  expect(await (await run(path, "Go.", unasked)).json<Body>()).not.toHaveProperty("warnings");
});

describe("the parent", () => {
  it("leaves less: tools, depth, and no more runs than there may be", async () => {
    const path = await session();
    const policy = { tools: ["sub_agent", "read"], recursion_limit: 0 };
    const tasks = [{ task: "Dig.", tools: ["exec"] }, { task: "Dig." }, { task: "Go.", tools: ["dance"] }];
    const mock = [DELEGATE(...tasks), { text: "Done." }];
    const tools = ["read", "exec"].map((name) => ({ name, description: name, parameters: {} }));
    const done = await (await run(path, "Go.", { sub_agents: true, policy, tools, mock })).json<Body>();
    expect(done).toMatchObject({ status: "done", rejected_tools: ["sub_agent"] });
    expect((await texts(path)).join()).toContain("none of these tools: dance. There are: sub_agent,");
    const parent_session_id = path.replace("/sessions/", "");
    const { child_ids } = await get<{ child_ids: string[] }>(`${path}/ancestry`);
    expect(child_ids).toHaveLength(1);
    // One level below the request no run may delegate any more.
    expect(
      await codeOf(await post("/sub-agents", { task: "x", options: MOCK, parent_session_id: child_ids[0] })),
    ).toEqual([403, "tool_rejected"]);
    const wanted = { task: "x", options: { ...MOCK, allowed_tools: ["exec"] }, parent_session_id };
    expect(await codeOf(await post("/sub-agents", wanted))).toEqual([403, "tool_rejected"]);
    const some = { ...wanted.options, tools, allowed_tools: ["exec", "read"], background: true };
    const handle = await (await post("/sub-agents", { ...wanted, options: some })).json<Body>();
    expect(handle).toMatchObject({ policy_dropped: ["exec"], provenance: { parent_session_id } });
  });

  it("counts its cost and its time", async () => {
    const path = await session();
    const mock = [DELEGATE({ task: "Dig deep, and tell me all about it." }), { text: "Done." }];
    const options = { sub_agents: true, token_budget: 40, mock };
    const done = await (await run(path, "Go.", options)).json<Body>();
    expect(done.status).toBe("budget_exhausted");
    expect(Number(done.input_tokens) + Number(done.output_tokens)).toBeLessThan(40);
    const slow = { mock: [{ tool_calls: [{ name: "ask", arguments: { q: "?" } }] }], tools: [ASK] };
    const late = await run(await session(), "Go.", { ...slow, deadline_ms: 1, timeout_ms: 60_000 });
    expect([late.status, (await late.json<Body>()).code]).toEqual([504, "deadline_exceeded"]);
  });

  it("ends what it delegated when it is cancelled", async () => {
    const path = await session();
    const child = { task: "Ask.", node: { model_policy: MOCK, tools: [ASK] } };
    const waiting = { mock: [{ tool_calls: [{ name: "ask", arguments: { q: "?" } }] }] };
    const above = await run(path, "Wait.", { ...waiting, tools: [ASK] }, { prefer: "respond-async" });
    const { run_id } = await above.json<{ run_id: string }>();
    const below = { ...child, options: waiting, parent_session_id: path.replace("/sessions/", "") };
    const first = await (await post("/tasks", below)).json<Body>();
    const second = await (await post("/tasks", { ...below, parent_session_id: first.id })).json<Body>();
    expect(second).toMatchObject({ parent_task_id: first.id, status: "running" });
    expect((await post(`${path}/runs/${run_id}/cancel`)).status).toBe(200);
    const waited = await (await post("/tasks/wait", { ids: [first.id, second.id] })).json();
    expect(waited).toMatchObject([{ status: "cancelled" }, { status: "cancelled" }]);
  });

  describe("with a budget", () => {
    const usage = { input_tokens: 10, output_tokens: 10 };
    const call = { tool_calls: [{ name: "ask", arguments: { q: "?" } }], ...usage };
    const end = { text: "<done>##DONE##</done>", ...usage };
    const mock = [call, end, call, end];
    const refused = [403, "tool_rejected"];
    const begin = (parent_session_id: unknown, token_budget: number | null = null) => {
      const node = { model_policy: { ...MOCK, mock, token_budget }, tools: [ASK] };
      return post("/tasks", { task: "Ask.", node, parent_session_id });
    };
    const outcomeOf = async (answer: Response) => (answer.ok ? "ok" : codeOf(answer));
    const idOf = (answer: Response) => String(answer.headers.get("location")).replace("/tasks/", "");
    const answered = async (id: string): Promise<Body> => {
      const { child_run_path } = await get(`/tasks/${id}`);
      await until(String(child_run_path), "awaiting_tool");
      await post(`/sessions/${id}/tool-results`, { tool_call_id: "mock_call_1", content: "Yes." });
      return (await post("/tasks/wait", { ids: id })).json<Body>();
    };
    /** A session whose run has used 20 tokens and waits. */
    const above = async (token_budget: number): Promise<{ id: string; at: string }> => {
      const path = await session();
      const asked = await run(
        path,
        "Wait.",
        { mock, tools: [ASK], token_budget },
        { prefer: "respond-async" },
      );
      const { run_id } = await asked.json<Body>();
      await until(`${path}/runs/${run_id}`, "awaiting_tool");
      return { id: path.replace("/sessions/", ""), at: `${path}/runs/${run_id}` };
    };

    it("is granted once, and the next task can use what a task leaves", async () => {
      const { id, at } = await above(100);
      const all = await Promise.all([begin(id, 80), begin(id, 80), begin(id, 80)]);
      const [first = expect.fail(), ...others] = all.toSorted((a, b) => a.status - b.status);
      expect(await Promise.all(others.map(outcomeOf))).toEqual([refused, refused]);
      const busy = { task: "x", options: { ...MOCK, session_id: idOf(first) }, parent_session_id: id };
      expect(await outcomeOf(await post("/sub-agents", busy))).toEqual(refused);
      expect(await answered(idOf(first))).toMatchObject({ result: { status: "done" } });
      // It used 40 of 80.
      const small = await begin(id, 15);
      expect(
        await outcomeOf(
          await post("/sub-agents", { ...busy, options: { ...busy.options, session_id: idOf(small) } }),
        ),
      ).toEqual([409, "run_in_progress"]);
      const rest = await begin(id, 40);
      expect([small.status, rest.status, await outcomeOf(await begin(id))]).toEqual([201, 201, refused]);
      for (const task of [small, rest])
        expect(await answered(idOf(task))).toMatchObject({ result: { status: "budget_exhausted" } });
      await post(`/sessions/${id}/tool-results`, { tool_call_id: "mock_call_1", content: "Yes." });
      expect(await until(at, "budget_exhausted")).toMatchObject({ result: { iterations: 1 } });
    });

    it("is not held by tasks without one, which do not end the parent run", async () => {
      const { id, at } = await above(100);
      const tasks = await Promise.all([begin(id), begin(id), begin(id)]);
      expect(await Promise.all(tasks.map(outcomeOf))).toEqual(["ok", "ok", "ok"]);
      await post(`/sessions/${id}/tool-results`, { tool_call_id: "mock_call_1", content: "Yes." });
      await until(at, "done");
    });

    it("is free again when a task is closed, or its session is removed", async () => {
      const { id } = await above(200);
      const closed = idOf(await begin(id, 200));
      expect(await outcomeOf(await begin(id))).toEqual(refused);
      await post(`/tasks/${closed}/close`);
      await post("/tasks/wait", { ids: closed });
      const removed = idOf(await begin(id, 200));
      expect((await send("DELETE", `/sessions/${removed}`)).status).toBe(204);
      expect(await outcomeOf(await begin(id))).toBe("ok");
    });

    it("keeps a task with its parent run if another request for the task fails", async () => {
      const { id, at } = await above(200);
      const task = idOf(await begin(id, 15));
      const { child_run_path } = await get(`/tasks/${task}`);
      await until(String(child_run_path), "awaiting_tool");
      const busy = { task: "x", options: { ...MOCK, session_id: task }, parent_session_id: id };
      expect(await outcomeOf(await post("/sub-agents", busy))).toEqual([409, "run_in_progress"]);
      expect((await post(`${at}/cancel`)).status).toBe(200);
      const [ended] = await (await post("/tasks/wait", { ids: [task] })).json<Body[]>();
      expect(ended).toMatchObject({ status: "cancelled" });
    });

    it("is not released where tasks below a task used it, or still hold it", async () => {
      const { id } = await above(100);
      const graph = { nodes: { a: { kind: "wait", wait: { event: "go" } } } };
      const flow = await (await post("/tasks", { task: "Wait.", graph, parent_session_id: id })).json<Body>();
      expect(await answered(idOf(await begin(flow.id)))).toMatchObject({ result: { status: "done" } });
      expect((await post(`${flow.child_run_path}/signals`, { name: "go" })).status).toBe(202);
      expect(await (await post("/tasks/wait", { ids: flow.id })).json()).toMatchObject({
        status: "completed",
      });
      // Of 100 the run above used 20, and the task below the workflow 40.
      expect(await answered(idOf(await begin(id)))).toMatchObject({ result: { status: "budget_exhausted" } });

      const other = await above(100);
      const task = idOf(await begin(other.id, 60));
      expect((await begin(task, 40)).status).toBe(201);
      expect(await answered(task)).toMatchObject({ result: { status: "done" } });
      // The task used 40, and the one below it may use 40 more.
      expect(await outcomeOf(await begin(other.id))).toEqual(refused);
    });

    it("is given again to a task's next run, and shared by the tasks of a workflow run", async () => {
      const { id } = await above(200);
      const first = idOf(await begin(id, 70));
      await answered(first);
      const other = await begin(id, 100);
      expect(await outcomeOf(await post(`/tasks/${first}/input`, { task: "Again." }))).toBe("ok");
      expect(await outcomeOf(await begin(id))).toEqual(refused);
      await post(`/tasks/${first}/close`);
      await post(`/tasks/${idOf(other)}/close`);
      const graph = { nodes: { a: { kind: "wait", wait: { event: "go" } } } };
      const flow = idOf(await post("/tasks", { task: "Wait.", graph, parent_session_id: id }));
      const both = await Promise.all([begin(flow, 200), begin(flow, 200)]);
      expect((await Promise.all(both.map(outcomeOf))).toSorted()).toEqual([refused, "ok"].toSorted());
    });
  });

  it("has the task above it as its parent, whatever request delegated it", async () => {
    const mock = [DELEGATE({ task: "Dig." }), { text: "Dug." }, { text: "Done." }];
    const node = { model_policy: { ...MOCK, sub_agents: true, mock } };
    const above = await (await post("/tasks", { task: "Delve.", node, wait: true })).json<Body>();
    const graph = { nodes: { dig: { kind: "subagent", model_policy: { ...MOCK, ...said("Dug.") } } } };
    const flow = await (await post("/tasks", { task: "Delve.", graph, wait: true })).json<Body>();
    expect([above.status, flow.status]).toEqual(["completed", "completed"]);
    const all = (await get("/tasks?limit=100")).data as Body[];
    const below = (id: unknown) => all.filter(({ parent_task_id }) => parent_task_id === id);
    expect([below(above.id), below(flow.id)]).toMatchObject([
      [{ mode: "sub_agent" }],
      [{ mode: "delegated_stage" }],
    ]);
    const [{ id } = { id: "" }] = below(flow.id);
    expect(await get(`/tasks/${id}`)).toMatchObject({
      parent_task_id: flow.id,
      provenance: { parent_task_id: flow.id },
    });
  });

  it.each([
    ["is closed", (path: string) => post(`${path}/close`)],
    ["is abandoned", (path: string) => post(`${path}/abandon`)],
    ["is removed", (path: string) => send("DELETE", path)],
  ])("ends what it delegated when it %s", async (_, end) => {
    const path = await session();
    const node = { model_policy: { ...MOCK, mock: asking }, tools: [ASK] };
    const parent_session_id = path.replace("/sessions/", "");
    const task = await (await post("/tasks", { task: "Ask.", node, parent_session_id })).json<Body>();
    expect((await end(path)).ok).toBe(true);
    const waited = await (await post("/tasks/wait", { ids: task.id })).json();
    expect(waited).toMatchObject({ status: "cancelled" });
  });
});

describe("a skill with context: fork", () => {
  it("runs in a sub-agent if the model loads it, and is never active", async () => {
    await client.publish({
      review: "---\nname: review\ndescription: Reviews things.\ncontext: fork\n---\nReview with care.\n",
    });
    const path = await session();
    const mock = [
      { tool_calls: [{ name: "load_skill", arguments: { name: "review", task: "Mine." } }] },
      { text: "Fine." },
    ];
    const options = { skills: ["review"], mock };
    const response = await run(path, "/review mine", options, { accept: "text/event-stream" });
    const stream = await readEvents(response);
    expect(dataOf(stream, "done")).toMatchObject([{ ok: true, text: "Fine." }]);
    expect(dataOf(stream, "skill_activated")).toEqual([]);
    const [start] = dataOf(stream, "sub_agent_start");
    expect(start).toMatchObject({ name: "review", task: "Mine." });
    expect(await texts(`/sessions/${start?.session_id}`)).toMatchObject(["Mine.", expect.any(String)]);
    expect(JSON.stringify(await get(`/tasks/${start?.session_id}`))).toContain("Review with care.");
  });
});

it("a run without a session delegates too, and streams what happens below", async () => {
  const mock = [DELEGATE({ task: "Dig." }), { text: "Done." }];
  const body = { prompt: "Go.", options: { ...MOCK, sub_agents: true, mock } };
  const stream = await readEvents(await post("/runs", body, { accept: "text/event-stream" }));
  const [done] = dataOf(stream, "done");
  expect(done).toMatchObject({ ok: true, text: "Done.", successful_tools: ["sub_agent"] });
  expect(dataOf(stream, "sub_agent_start")).toMatchObject([{ task: "Dig.", parent_run_id: done?.run_id }]);
  expect(dataOf(stream, "sub_agent_result")).toMatchObject([{ ok: true }]);
  expect(dataOf(stream, "task_update").map(({ status }) => status)).toEqual(["running", "completed"]);
  const names = stream.map(({ event }) => event);
  expect(names.lastIndexOf("task_update")).toBeLessThan(names.indexOf("sub_agent_result"));
  expect(names.lastIndexOf("sub_agent_result")).toBeLessThan(names.indexOf("tool_result"));
});

describe("a repeated request with its Idempotency-Key", () => {
  it("is answered although its skill and the parent session are gone", async () => {
    await client.publish({ helper: mockSkill("helper") });
    const above = await session();
    const mock = { mock: [{ text: "done" }], skills: ["helper"] };
    const parent_session_id = above.split("/").at(-1);
    const node = { kind: "subagent", mode: "llm", model_policy: MOCK };
    const graph = { nodes: { a: { model_policy: { ...MOCK, mock: [{ text: "a" }] } } } };
    const asked: [path: string, body: Body][] = [
      ["/tasks", { task: "x", node, options: mock, wait: true }],
      ["/tasks", { task: "x", node, options: mock }],
      ["/tasks", { task: "x", graph, options: mock, wait: true, parent_session_id }],
      ["/sub-agents", { task: "x", options: { ...MOCK, ...mock } }],
      ["/sub-agents", { task: "x", options: { ...MOCK, ...mock, fork: true }, parent_session_id }],
      ["/sub-agents", { task: "x", options: { ...MOCK, ...mock, background: true } }],
      ["/daemons", { task: "x", ...MOCK, ...mock }],
      [`${await session()}/runs`, { prompt: "x", options: { ...MOCK, ...mock } }],
    ];
    const ask = (round: string) =>
      Promise.all(
        asked.map(async ([path, body], n) => {
          const answer = await post(path, body, { "idempotency-key": `${round}-${n}` });
          const { id, session_id = id, code } = await answer.json<Body>();
          return [answer.status, code ?? session_id, answer.headers.get("x-hull-replayed")];
        }),
      );
    const first = await ask("first");
    expect(first.map(([status]) => status)).toEqual([201, 201, 201, 200, 200, 201, 201, 200]);
    await client.publish({});
    expect((await send("DELETE", above)).status).toBe(204);
    expect(first.map(([, , replayed]) => replayed)).toEqual(asked.map(() => null));
    expect(await ask("first")).toEqual(first.map(([status, id]) => [status, id, "1"]));
    for (const [n, [path, body]] of asked.entries()) {
      const text = path.endsWith("/runs") ? { prompt: "y" } : { task: "y" };
      const answer = await post(path, { ...body, ...text }, { "idempotency-key": `first-${n}` });
      expect(await codeOf(answer)).toEqual([422, "idempotency_key_reused"]);
    }
    expect((await ask("anew")).map(([status]) => status)).toEqual(asked.map(() => 404));
  });

  it("takes effect once, also if something undid it since", async () => {
    const key = { "idempotency-key": "late" };
    const at = await session();
    const daemon = await (await post("/daemons", { task: "x", ...MOCK, mock: [{ text: "a" }] })).json<Body>();
    const node = { kind: "subagent", mode: "llm", model_policy: { ...MOCK, mock: [{ text: "a" }] } };
    const task = await (await post("/tasks", { task: "x", node, wait: true })).json<Body>();
    const [daemonAt, taskAt] = [`/daemons/${daemon.id}`, `/tasks/${task.id}`];
    const changes: [change: string, undo: string, body: Body, look: string, facts: Body][] = [
      [`${at}/archive`, `${at}/resume`, {}, at, { state: "active" }],
      [`${at}/close`, `${at}/resume`, {}, at, { state: "active" }],
      [`${at}/resume`, `${at}/abandon`, {}, at, { state: "abandoned" }],
      [`${daemonAt}/stop`, `${daemonAt}/resume`, {}, daemonAt, { status: "running" }],
      [`${taskAt}/close`, "/tasks/resume", { id: task.id }, taskAt, { status: "completed" }],
    ];
    for (const [change, undo, body, look, facts] of changes) {
      expect((await post(change, {}, key)).status).toBe(200);
      expect((await post(undo, body)).status).toBe(200);
      expect((await post(change, {}, key)).status).toBe(200);
      expect(await get(look)).toMatchObject(facts);
    }
  });
});
