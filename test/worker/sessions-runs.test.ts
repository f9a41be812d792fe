/** Runs in sessions over HTTP: how they begin, wait, continue and end. */
import { describe, expect, it } from "vitest";
import { readEvents } from "../support/sse.ts";
import { Client, mockSkill } from "./served.ts";
import {
  ASK,
  asking,
  type Body,
  client,
  codeOf,
  firstOf,
  get,
  post,
  rested,
  run,
  session,
  texts,
  until,
} from "./session-client.ts";

const LOOK = new TextEncoder().encode("export const look = () => 'a view';");

describe("a run", () => {
  it("is answered later if the client prefers that, and can be looked at", async () => {
    const path = await session();
    const response = await run(path, "one two", {}, { prefer: "respond-async" });
    const document = await response.json<{
      id: string;
      run_id: string;
      session_id: string;
      status: string;
    }>();
    const { run_id } = document;
    expect([response.status, response.headers.get("preference-applied")]).toEqual([202, "respond-async"]);
    expect(document).toEqual({ id: run_id, run_id, session_id: path.slice(10), status: expect.any(String) });
    expect(response.headers.get("location")).toBe(`${path}/runs/${run_id}`);
    const done = await until(`${path}/runs/${run_id}`, "done");
    expect(done.result).toMatchObject({ run_id, status: "done", text: expect.stringContaining("one two") });
    const none = await post(`${path}/runs?wait=none`, { prompt: "x", options: { provider: "mock" } });
    expect(none.status).toBe(202);
    await until(`${path}/runs/${(await none.json<{ id: string }>()).id}`, "done");
    const { data } = await get<{ data: Body[] }>(`${path}/runs?limit=1`);
    expect(data).toMatchObject([{ status: "done" }]);
    expect(data[0]).not.toHaveProperty("result");
  });

  it("continues the session that session_id names, or the given transcript", async () => {
    const path = await session();
    await run(path, "one");
    const id = path.slice("/sessions/".length);
    const asked = async (to: string, options: object): Promise<Body> =>
      (
        await post(to, { prompt: "two", options: { provider: "mock", mock: [{ text: "ok" }], ...options } })
      ).json();
    const sent = ({ mock_calls }: Body): unknown => Object(mock_calls)[0].messages;
    const named = await asked("/runs", { session_id: id });
    expect(named).toMatchObject({ session_id: id, status: "done" });
    expect(sent(named)).toHaveLength(3);
    expect(await texts(path)).toHaveLength(4);
    expect(await asked(`${path}/runs`, { session_id: id })).toMatchObject({ status: "done" });
    expect(await asked(`${path}/runs`, { session_id: "another" })).toMatchObject({ option: "session_id" });
    expect(await asked("/runs", { session_id: "nowhere" })).toMatchObject({ code: "not_found" });
    const { transcript } = await asked("/runs", {});
    expect(await asked(`${path}/runs`, { transcript })).toMatchObject({ option: "transcript" });
    const on = await asked("/runs", { transcript });
    expect(sent(on)).toEqual(["two", "ok", "two"].map((content) => expect.objectContaining({ content })));
    expect(on.transcript).toMatchObject({ id: Object(transcript).id, messages: { length: 4 } });
  });

  it.each(["budget.max_usd", "budget.max_cost_usd", "budgets"])(
    "names the path of options.%s",
    async (at) => {
      const [first = "", second] = at.split(".");
      const options = { provider: "mock", [first]: second === undefined ? {} : { [second]: "1" } };
      for (const to of ["/runs", "/llm/call"]) {
        const response = await post(to, { prompt: "x", options });
        expect([response.status, await response.json()]).toEqual([
          422,
          expect.objectContaining({ errors: [expect.objectContaining({ path: `options.${at}` })] }),
        ]);
      }
    },
  );

  it("warns of an answer that does not match the schema, where that is asked for", async () => {
    const asked = { json_schema: { type: "object", required: ["a"] }, schema_retries: 0 };
    for (const [validation, codes] of [
      ["warn", ["schema_mismatch"]],
      ["off", []],
    ])
      for (const to of ["/runs", "/llm/call"]) {
        const options = { ...asked, provider: "mock", mock: [{ text: "{}" }], output_validation: validation };
        const { warnings = [], text } = await (await post(to, { prompt: "x", options })).json<{
          warnings?: { code: string }[];
          text: string;
        }>();
        expect([text, warnings.map(({ code }) => code)]).toEqual(["{}", codes]);
      }
  });

  it("asks no model without any message", async () => {
    for (const to of ["/runs", `${await session()}/runs`]) {
      const response = await post(to, { system: "S", options: { provider: "mock" } });
      const problem = await response.json();
      expect([response.status, problem]).toEqual([
        400,
        expect.objectContaining({ code: "invalid_request", option: "prompt" }),
      ]);
    }
    const path = await session();
    await post(`${path}/messages`, { content: "left for it" });
    const options = { provider: "mock", mock: [{ text: "ok" }] };
    expect(await (await post(`${path}/runs`, { options })).json()).toMatchObject({ text: "ok" });
  });

  it("reports what the loop did in addition to its messages, in its result and in the session's transcript", async () => {
    const path = await session();
    const skills = [{ name: "alpha", description: "d", prompt: "A", allowed_tools: ["*"] }];
    const options = {
      skills,
      skill_match: { strategy: "host" },
      json_schema: { type: "object", required: ["a"] },
      schema_retries: 1,
      mock: [{ text: "none" }, { text: '{"a": 1}' }],
    };
    const body = await (await run(path, "alpha", options)).json<Body>();
    expect(body).toMatchObject({
      data: { a: 1 },
      warnings: [{ code: "skill_match_strategy" }],
      trace: [
        { kind: "skill_activated", iteration: 1, name: "alpha" },
        { kind: "skill_scope_tools" },
        { kind: "SchemaRetry", attempt: 1, nudge_used: true, errors: [expect.any(String)] },
      ],
    });
    const { events } = await get<{ events: { kind: string; visibility: string }[] }>(
      `${path}/transcript?view=raw`,
    );
    const internal = events.flatMap(({ kind, visibility }) => (visibility === "internal" ? [kind] : []));
    expect(internal).toEqual([
      "skill_matched",
      "skill_activated",
      "skill_scope_tools",
      "provider_payload",
      "SchemaRetry",
    ]);
  });

  it("says in its result which skills of earlier runs stayed, and which did not", async () => {
    const path = await session();
    const skills = ["alpha", "beta"].map((name) => ({ name, description: "d", prompt: name }));
    const kinds = async (prompt: string): Promise<string[]> => {
      const options = {
        skills,
        skill_match: { strategy: "metadata", sticky: false },
        mock: [{ text: "ok" }],
      };
      const { transcript } = await (await run(path, prompt, options)).json<{
        transcript: { events: { kind: string }[] };
      }>();
      return transcript.events.flatMap(({ kind }) => (kind.startsWith("skill_") ? [kind] : []));
    };
    expect(await kinds("alpha")).toEqual(["skill_matched", "skill_activated"]);
    expect(await kinds("alpha again")).toEqual(["skill_matched"]);
    expect(await kinds("beta")).toEqual(["skill_matched", "skill_deactivated", "skill_activated"]);
  });

  it("takes system messages as part of its system text", async () => {
    const messages = [
      { role: "system", content: "Be brief." },
      { role: "user", content: "hi" },
    ];
    const path = await session();
    const response = await run(path, "", { messages, mock: [{ text: "ok" }] });
    const { mock_calls } = await response.json<Body>();
    expect(Object(mock_calls)[0]).toMatchObject({ system: "Be brief.", messages: [{ content: "hi" }] });
  });

  it("is one for the same Idempotency-Key, and no other body's", async () => {
    const path = await session();
    const key = { "idempotency-key": "k1" };
    const first = await (await run(path, "one", {}, key)).json<Body>();
    const again = await run(path, "one", {}, key);
    expect([again.headers.get("x-hull-replayed"), await again.json()]).toEqual(["1", first]);
    expect(await codeOf(await run(path, "two", {}, key))).toEqual([422, "idempotency_key_reused"]);
    const events = await run(path, "one", {}, { ...key, accept: "text/event-stream" });
    expect((await readEvents(events)).at(-1)).toMatchObject({
      event: "done",
      data: { run_id: first.run_id },
    });
    expect(await texts(path)).toHaveLength(2);
    const message = () => post(`${path}/messages`, { content: "hi" }, { "idempotency-key": "k2" });
    expect(await (await message()).json()).toEqual(await (await message()).json());
    expect(await texts(path)).toHaveLength(2);
    await run(path, "now", { mock: [{ text: "ok" }] });
    expect(await texts(path)).toEqual([expect.anything(), expect.anything(), "hi", "now", "ok"]);
  });

  it("streams from its first event to its done, and the session's stream knows its ids", async () => {
    const path = await session();
    const id = path.slice("/sessions/".length);
    await run(path, "before");
    const stream = await run(path, "one", { mock: [{ text: "a b" }] }, { accept: "text/event-stream" });
    expect(stream.headers.get("content-type")).toBe("text/event-stream; charset=utf-8");
    const events = await readEvents(stream);
    expect(events.map(({ event }) => event)).toEqual(["start", "delta", "round", "done"]);
    expect(events.at(-1)?.data).toMatchObject({ ok: true, status: "done", text: "a b" });
    const numbers = events.map((event) => Number(event.id.slice(id.length + 1)));
    expect(numbers).toEqual(numbers.map((_, index) => (numbers[0] ?? 0) + index));
    expect(events.map((event) => event.id)).toEqual(numbers.map((number) => `${id}:${number}`));
    const all = await firstOf(`${path}/events?after=0`, (numbers[0] ?? 0) + 3);
    expect(all.slice(-4).map((event) => event.id)).toEqual(events.map((event) => event.id));
    const rest = await firstOf(`${path}/events?after=${numbers[1]}`, 2);
    expect(rest.map(({ event }) => event)).toEqual(["round", "done"]);
    for (const bad of ["x", "s:1", `${id}:`]) {
      const response = await client.fetch(`${path}/events`, { headers: { "last-event-id": bad } });
      expect(await codeOf(response)).toEqual([400, "bad_request"]);
    }
  });

  it("is followed by a client that waits in silence: its stream begins at once, also after a number that no event has", async () => {
    const path = await session();
    for (const query of ["", "?after=99999"]) {
      const reader = (await client.stream(`${path}/events${query}`)).body?.getReader();
      const next = async () => new TextDecoder().decode((await reader?.read())?.value);
      expect([query, await next()]).toEqual([query, ": hb\n\n"]);
      const { run_id } = await (await run(path, "one")).json<{ run_id: string }>();
      expect([query, await next()]).toEqual([query, expect.stringContaining(run_id)]);
      await reader?.cancel();
    }
  });

  it("has its provider's error as the HTTP answer, and as the end of the run", async () => {
    const path = await session();
    const mock = [{ error: { category: "auth", message: "no such key" } }];
    const response = await run(path, "x", { mock });
    expect([response.status, response.headers.get("cache-control")]).toEqual([502, "no-store"]);
    const { code } = await response.json<{ code: string }>();
    const { data } = await get<{ data: { run_id: string; status: string }[] }>(`${path}/runs`);
    expect(data).toMatchObject([{ status: "error", run_id: response.headers.get("x-hull-run-id") }]);
    expect(await get(`${path}/runs/${data[0]?.run_id}`)).toMatchObject({ status: "error", error: { code } });
    const stream = await run(path, "x", { mock }, { accept: "text/event-stream" });
    const events = await readEvents(stream);
    expect(events.slice(-2)).toMatchObject([
      { event: "error", data: { code } },
      { event: "done", data: { ok: false, status: "error" } },
    ]);
    expect((await run(path, "again")).status).toBe(200);
  });

  it.each([
    ["awaiting_tool", {}],
    ["awaiting_approval", { approval_policy: { require_approval: ["ask"] } }],
    ["idle", { daemon: true, tools: [], mock: [{ text: "later" }] }],
  ])("ends at its deadline while it rests: %s", async (status, more) => {
    const path = await session();
    const options = { tools: [ASK], mock: asking, deadline_ms: 600_000, ...more };
    const body = { prompt: "go", options: { provider: "mock", ...options } };
    const resting = await post(`${path}/runs?wait=idle`, body);
    const { run_id, ...answer } = await resting.json<Body>();
    expect(answer).toMatchObject({ status });
    await rested(path, 600_000);
    const ended = await until<{ error: Body }>(`${path}/runs/${run_id}`, "error");
    expect(ended.error.code).toBe("deadline_exceeded");
    expect((await run(path, "and now?")).status).toBe(200);
  });

  it("lists the tools of a turn in the order of its calls, whichever is answered first", async () => {
    const path = await session();
    const tools = ["first", "second"].map((name) => ({ name, description: "Asks a person." }));
    const mock = [{ tool_calls: tools.map(({ name }) => ({ name, arguments: {} })) }, { text: "thanks" }];
    const waiting = await (await run(path, "go", { tools, mock })).json<Body & { awaiting: Body[] }>();
    for (const { tool_call_id } of waiting.awaiting.toReversed())
      await post(`${path}/tool-results`, { tool_call_id, content: "yes" });
    const { result } = await until<{ result: Body }>(`${path}/runs/${waiting.run_id}`, "done");
    expect(result.tools_used).toEqual(["first", "second"]);
  });

  it("waits for the client's own tool; a second run is refused in that time", async () => {
    const path = await session();
    const response = await run(path, "go", { tools: [ASK], mock: asking });
    const waiting = await response.json<{ status: string; run_id: string; awaiting: Body[] }>();
    expect(waiting).toMatchObject({
      status: "awaiting_tool",
      awaiting: [{ name: "ask", arguments: { q: "name?" } }],
    });
    const { run_id, awaiting } = waiting;
    const [call] = awaiting;
    for (const [to, body] of [
      ["runs", { prompt: "x", options: { provider: "mock" } }],
      ["reset", {}],
      ["trim", { keep_last: 1 }],
      ["compact", {}],
      ["inject", { message: { role: "user", content: "x" } }],
      ["fork", {}],
      ["archive", {}],
    ] as const) {
      expect([to, ...(await codeOf(await post(`${path}/${to}`, body)))]).toEqual([
        to,
        409,
        "run_in_progress",
      ]);
    }
    expect(await get(`${path}/runs/${run_id}`)).toMatchObject({ status: "awaiting_tool", awaiting });
    const answer = { tool_call_id: call?.tool_call_id, content: { name: "Ann" } };
    expect(await codeOf(await post(`${path}/tool-results`, { ...answer, tool_call_id: "x" }))).toEqual([
      404,
      "not_found",
    ]);
    expect((await post(`${path}/tool-results`, answer)).status).toBe(200);
    const done = await until(`${path}/runs/${run_id}`, "done");
    expect(done.result).toMatchObject({ text: "thanks", tools_used: ["ask"], successful_tools: ["ask"] });
    expect(await codeOf(await post(`${path}/tool-results`, answer))).toEqual([409, "tool_call_closed"]);
    expect((await texts(path))[2]).toBe('{\n  "name": "Ann"\n}');
  });

  it.each(["native", "text"])(
    "reports all requests to mocks, however often it waited: %s",
    async (tool_format) => {
      const path = await session();
      await run(path, "before");
      const ask = (q: string) => ({ tool_calls: [{ name: "ask", arguments: { q } }] });
      const json_schema = { type: "object", required: ["a"] };
      const mock = [{ text: "none" }, ask("1"), ask("2"), { text: '{"a": 1}' }];
      const options = { tools: [ASK], mock, tool_format, json_schema, schema_retries: 1, thinking: true };
      const { run_id } = await (await run(path, "go", options)).json<{ run_id: string }>();
      for (const tool_call_id of ["mock_call_1", "mock_call_2"]) {
        const { awaiting } = await until(`${path}/runs/${run_id}`, "awaiting_tool");
        expect(awaiting).toMatchObject([{ tool_call_id }]);
        await post(`${path}/tool-results`, { tool_call_id, content: tool_call_id });
      }
      const { result } = await until(`${path}/runs/${run_id}`, "done");
      const calls: Body[] = Object(result).mock_calls;
      // The conversation before it and the prompt; a correction for this call alone; then a call and its result each time.
      expect(calls.map(({ messages }) => Object(messages).length)).toEqual([3, 4, 5, 7]);
      expect(JSON.stringify(calls[1])).toContain("did not match the JSON schema");
      expect(JSON.stringify(Object(calls[3]).messages.at(-1))).toContain("mock_call_2");
      const same = calls.map(({ tools, thinking, system }) => ({ tools, thinking, system }));
      expect(same).toEqual(same.map(() => same[3]));
      expect(same[3]).toMatchObject({ tools: [{ name: "ask" }], thinking: expect.anything() });
    },
  );

  it("waits for an approval that is bound to the arguments and good once", async () => {
    const path = await session();
    const approval_policy = { require_approval: ["ask"] };
    const mock = [{ ...asking[0], text: "I must know the name." }, ...asking.slice(1)];
    const options = { tools: [ASK], mock, approval_policy, approval_timeout_ms: 90_000 };
    const { run_id } = await (await run(path, "go", options)).json<{ run_id: string }>();
    expect(await get(`${path}/runs/${run_id}`)).toMatchObject({ status: "awaiting_approval" });
    const { data } = await get<{
      data: { id: string; arguments_digest: string; requested_at: string; expires_at: string }[];
    }>(`${path}/approvals`);
    const [approval] = data;
    expect(approval).toMatchObject({
      run_id,
      tool: "ask",
      arguments: { q: "name?" },
      arguments_digest: expect.stringMatching(/^[0-9a-f]{64}$/),
      cause: "ask needs an approval.",
      said: "I must know the name.",
    });
    const { requested_at = "", expires_at = "" } = approval ?? {};
    expect(Date.parse(expires_at) - Date.parse(requested_at)).toBe(90_000);
    const told = (await firstOf(`${path}/events?after=0`, 4)).at(-1);
    expect(told?.event).toBe("approval_request");
    expect(told?.data).toMatchObject({ id: approval?.id, requested_at, expires_at });
    const to = `${path}/approvals/${approval?.id}`;
    const { arguments_digest } = approval ?? {};
    const wrong = { decision: "approve", arguments_digest: "0".repeat(64) };
    expect(await codeOf(await post(to, wrong))).toEqual([409, "approval_closed"]);
    expect(await codeOf(await post(`${to}x`, { decision: "deny" }))).toEqual([404, "not_found"]);
    expect((await post(to, { decision: "approve", scope: "once", arguments_digest })).status).toBe(200);
    await until(`${path}/runs/${run_id}`, "awaiting_tool");
    expect(await codeOf(await post(to, { decision: "deny" }))).toEqual([409, "approval_closed"]);
    expect(await get(`${path}/approvals`)).toEqual({ data: [], next_cursor: null });
  });

  it("keeps its caller waiting for an approval by default", async () => {
    const path = await session();
    const at = { name: "look", description: "Looks.", handler: "looker#look", parameters: {} };
    const mock = [{ tool_calls: [{ name: "look" }] }, { text: "seen" }];
    const options = {
      skills: ["looker"],
      tools: [at],
      mock,
      approval_policy: { require_approval: ["look"] },
    };
    await client.publish({ looker: mockSkill("looker") }, { "hooks.js": LOOK });
    const response = await post(`${path}/runs?wait=idle`, {
      prompt: "go",
      options: { provider: "mock", ...options },
    });
    const waiting = await response.json<{ run_id: string; status: string; approvals: Body[] }>();
    expect([response.status, waiting.status]).toEqual([200, "awaiting_approval"]);
    const { data } = await get<{ data: Body[] }>(`${path}/approvals`);
    expect([waiting.approvals, data.length]).toEqual([data, 1]);
    const shown = await get(`${path}/runs/${waiting.run_id}`);
    expect(shown).toMatchObject({ status: "awaiting_approval", approvals: data });
    const { id, arguments_digest } = data[0] ?? {};
    await post(`${path}/approvals/${id}`, { decision: "approve", arguments_digest });
    expect(await until(`${path}/runs/${waiting.run_id}`, "done")).toMatchObject({ result: { text: "seen" } });
    const whole = run(path, "go", options);
    await expect.poll(async () => (await get<{ data: Body[] }>(`${path}/approvals`)).data.length).toBe(1);
    const again = (await get<{ data: Body[] }>(`${path}/approvals`)).data[0];
    const answer = { decision: "deny", reason: "no" };
    await post(`${path}/approvals/${again?.id}`, answer);
    expect(await (await whole).json()).toMatchObject({ status: "done", rejected_tools: ["look"] });
  });

  it("shows the calls of its client, too, while another call waits for an approval", async () => {
    const path = await session();
    const look = { name: "look", description: "Looks.", handler: "looker#look", parameters: {} };
    const mock = [
      { tool_calls: [{ name: "ask", arguments: { q: "name?" } }, { name: "look" }] },
      { text: "seen" },
    ];
    const approval_policy = { require_approval: ["look"] };
    await client.publish({ looker: mockSkill("looker") }, { "hooks.js": LOOK });
    const options = { provider: "mock", skills: ["looker"], tools: [ASK, look], mock, approval_policy };
    const rested = await post(`${path}/runs?wait=idle`, { prompt: "go", options });
    const waiting = await rested.json<{ run_id: string; approvals: Body[]; awaiting: Body[] }>();
    expect(waiting).toMatchObject({
      status: "awaiting_approval",
      approvals: [{ tool: "look" }],
      awaiting: [{ name: "ask", arguments: { q: "name?" } }],
    });
    const at = `${path}/runs/${waiting.run_id}`;
    expect(await get(at)).toMatchObject({ awaiting: waiting.awaiting });
    const { tool_call_id } = waiting.awaiting[0] ?? {};
    await post(`${path}/tool-results`, { tool_call_id, content: "Ann" });
    const answered = await get(at);
    expect([answered.status, Object.hasOwn(answered, "awaiting")]).toEqual(["awaiting_approval", false]);
    const { id, arguments_digest } = waiting.approvals[0] ?? {};
    await post(`${path}/approvals/${id}`, { decision: "approve", arguments_digest });
    expect(await until(at, "done")).toMatchObject({ result: { text: "seen" } });
  });

  it("learns the reason of a denial; a call that is approved for the session is not asked about again", async () => {
    const path = await session();
    const approval_policy = { require_approval: ["ask"] };
    const options = { tools: [ASK], mock: asking, approval_policy };
    const open = async () => {
      const { run_id } = await (await run(path, "go", options)).json<{ run_id: string }>();
      const { data } = await get<{ data: { id: string; arguments_digest: string }[] }>(`${path}/approvals`);
      return { run_id, approval: data[0] };
    };
    for (const [n, [reason, told]] of [
      ["not today", "not today"],
      [" ", "It was denied."],
    ].entries()) {
      const { run_id, approval } = await open();
      await post(`${path}/approvals/${approval?.id}`, { decision: "deny", reason });
      const { result } = await until(`${path}/runs/${run_id}`, "done");
      expect(result).toMatchObject({ rejected_tools: ["ask"], successful_tools: [] });
      expect((await texts(path))[4 * n + 2]).toContain(told);
    }
    const second = await open();
    const { arguments_digest } = second.approval ?? {};
    const forAll = { decision: "approve", scope: "session", arguments_digest };
    await post(`${path}/approvals/${second.approval?.id}`, forAll);
    await until(`${path}/runs/${second.run_id}`, "awaiting_tool");
    await post(`${path}/runs/${second.run_id}/cancel`);
    const third = await (await run(path, "go", options)).json<Body>();
    expect(third.status).toBe("awaiting_tool");
  });

  it("is cancelled, and the next one works", async () => {
    const path = await session();
    const { run_id } = await (await run(path, "go", { tools: [ASK], mock: asking })).json<{
      run_id: string;
    }>();
    const cancelled = await post(`${path}/runs/${run_id}/cancel`);
    expect(await cancelled.json()).toMatchObject({ status: "cancelled", error: { code: "run_cancelled" } });
    expect((await post(`${path}/runs/${run_id}/cancel`)).status).toBe(200);
    expect(await codeOf(await run(path, "go", {}, { "idempotency-key": "c" }))).toEqual([200, undefined]);
    // What the cancelled run left open has a result, so that a provider takes the conversation.
    expect((await texts(path))[2]).toContain("whether it took effect is unknown");
    const waiting = { tools: [ASK], approval_policy: { require_approval: ["*"] }, mock: asking };
    const second = await (await run(path, "go", waiting)).json<{ run_id: string }>();
    await post(`${path}/runs/${second.run_id}/cancel`);
    expect((await texts(path)).at(-1)).toContain("before this call was made");
    const { messages } = await get<{ messages: Body[] }>(`${path}/transcript?view=raw`);
    expect(messages.at(-1)).toMatchObject({ content: expect.stringContaining("before this call was made") });
  });

  it("takes and gives texts that are longer than one message between objects", async () => {
    const path = await session();
    const long = "0123456789".repeat(580_000);
    const message = { role: "assistant", content: long };
    expect((await post(`${path}/inject`, { message })).status).toBe(200);
    expect((await post(`${path}/messages`, { content: `${long}!` })).status).toBe(202);
    expect((await run(path, `${long}?`, { mock: [{ text: "long" }] })).status).toBe(200);
    expect(await texts(path)).toEqual([long, `${long}!`, `${long}?`, "long"]);
    const fork = await (await post(`${path}/fork`)).json<{ id: string }>();
    expect(await texts(`/sessions/${fork.id}`)).toHaveLength(4);
  });

  it("a message that comes while it waits is not lost", async () => {
    const path = await session();
    const { run_id, awaiting } = await (
      await run(path, "go", { tools: [ASK], mock: [...asking, { text: "and more" }] })
    ).json<{ run_id: string; awaiting: { tool_call_id: string }[] }>();
    const said = await post(`${path}/messages`, { content: "one more thing", delivery: "finish_step" });
    expect([said.status, await said.json()]).toMatchObject([202, { run_id, delivery: "finish_step" }]);
    await post(`${path}/messages`, { content: "for the end", delivery: "wait_for_completion" });
    await post(`${path}/feedback`, { kind: "hint", content: "be brief" });
    await post(`${path}/tool-results`, { tool_call_id: awaiting[0]?.tool_call_id, content: "Ann" });
    const { result } = await until(`${path}/runs/${run_id}`, "done");
    expect(result).toMatchObject({ deferred_user_messages: [{ role: "user", content: "for the end" }] });
    expect(await texts(path)).toEqual([
      "go",
      "",
      "Ann",
      "one more thing",
      '<hull_feedback kind="hint">be brief</hull_feedback>',
      "thanks",
      "for the end",
    ]);
  });
});

it("the result names options that have no effect", async () => {
  const told = async (path: string, options: Body) => {
    const { warnings } = await (await run(path, "go", options)).json<{ warnings?: Body[] }>();
    return (warnings ?? []).map(({ code, option }) => [code, option]);
  };
  const path = await session();
  const skills = [{ name: "a", model: "large", effort: "high" }, { name: "b" }];
  const idle = { cron: "0 9 * * *", watch_paths: "in", resume_after_ms: 1000, done_sentinel: "DONE", skills };
  expect(await told(path, idle)).toEqual(
    ["cron", "watch_paths", "resume_after_ms", "done_sentinel", "skills.0.model", "skills.0.effort"].map(
      (option) => ["option_ignored", option],
    ),
  );
  const strange = {
    daemon: true,
    watch_paths: ["in"],
    persist_path: "a",
    resume_after_ms: 1000,
    skill_match: { strategy: "best" },
  };
  expect(await told("", strange)).toEqual(
    ["watch_paths", "persist_path", "resume_after_ms", "skill_match.strategy"].map((option) => [
      "option_ignored",
      option,
    ]),
  );
  expect(await told(path, { daemon: true, watch_paths: ["in"], wake_interval_ms: 60_000 })).toEqual([]);
  const tools = [{ name: "task_ledger", description: "Mine.", parameters: {} }];
  for (const option of ["task_ledger", "deliverables"])
    expect(await told(await session(), { tools, [option]: ["a"] })).toEqual([["option_ignored", option]]);
});

it.each(["../a.json", "/a.json", "a/"])("no snapshot can be kept at %s", async (persist_path) => {
  const response = await run(await session(), "x", { daemon: true, persist_path });
  expect([response.status, await response.json()]).toMatchObject([
    422,
    { errors: [{ path: "options.persist_path", message: expect.stringContaining(persist_path) }] },
  ]);
});

it.each([
  [7, "options.skills.0", /name of a skill/],
  [[{ name: "a", paths: 7 }], "options.skills.0.paths", /expected array, received number; got 7/],
  [[{ name: "a", promt: "x" }], "options.skills.0.promt", /no such field/],
])("a skill of the wrong type is 422 with its path: %j", async (skills, path, message) => {
  const response = await post("/runs", { prompt: "x", options: { provider: "mock", skills } });
  expect([response.status, await response.json()]).toEqual([
    422,
    expect.objectContaining({ errors: [{ path, message: expect.stringMatching(message) }] }),
  ]);
});

it("a run that is still being prepared does not start in a session that was archived in the meantime", async () => {
  const slow = new Client();
  const { SKILLS } = slow.env;
  // No promise of one object may be settled in another.
  const state = { asked: false, released: false };
  const until = async (done: () => boolean): Promise<void> => {
    while (!done()) await new Promise((resolve) => setTimeout(resolve, 5));
  };
  await slow.publish({ late: mockSkill("late") });
  slow.env.SKILLS = new Proxy(SKILLS, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name);
      if (typeof value !== "function") return value;
      return async (key: string, ...rest: unknown[]) => {
        if (name === "get" && key.startsWith("skill:")) {
          state.asked = true;
          await until(() => state.released);
        }
        return value.call(target, key, ...rest);
      };
    },
  });
  await slow.post("/sessions", { id: "prepared" });
  const begun = slow.post("/sessions/prepared/runs", {
    prompt: "hi",
    options: { provider: "mock", skills: ["late"] },
  });
  await until(() => state.asked);
  expect((await slow.post("/sessions/prepared/archive", {})).status).toBe(200);
  state.released = true;
  expect(await (await begun).json()).toMatchObject({ status: 409, code: "session_not_active" });
  const { data } = await (await slow.fetch("/sessions/prepared/runs")).json<{ data: object[] }>();
  expect(data).toEqual([]);
});
