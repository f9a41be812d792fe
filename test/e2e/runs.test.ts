/** POST /runs: agent runs without a session, against a fake provider and the real runner. */
import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import * as z from "zod";
import { commonHull } from "../support/common-hull.ts";
import { json } from "../support/hull-dev.ts";
import { dataOf, readEvents } from "../support/sse.ts";

const { hull, fake } = await commonHull({
  "greeter/SKILL.md": `---
name: greeter
description: Greets people
mode: llm
provider: openai
tools:
  - {name: greet, description: Greets., command: [sh, greet.sh], parameters: [{name: who, description: whom}]}
---
You greet people.
`,
  "shouter/SKILL.md":
    "---\nname: shouter\ndescription: Has hooks\nmode: llm\nprovider: openai\n---\nBe loud.\n",
  "shouter/hooks.ts": `
export const shout = ({ text }: { text: string }) => ({ loud: text.toUpperCase() });
export const fails = () => { throw new TypeError("no vowels"); };
export const brief = () => ({ system: "Be brief." });
`,
  "looker/SKILL.md": `---
name: looker
description: Looks at things
mode: llm
provider: openai
tools:
  - name: look
    description: Looks.
    command: [sh, look.sh]
    parameters: [{name: own, description: mine}, {name: other, description: that of the other call}]
    annotations: {kind: read, side_effect_level: read_only, arg_schema: {path_params: [own]}}
  - {name: write, description: Writes., command: [sh, look.sh], annotations: {side_effect_level: workspace_write}}
---
Look.
`,
  // Two calls that each wait for the other one.
  "looker/look.sh": '#!/bin/sh\ntouch "$1"; until [ -e "$3" ]; do sleep 0.05; done; echo met\n',
  "flaky/SKILL.md": `---
name: flaky
description: Fails at first
mode: llm
provider: openai
tools:
  - name: repeatable
    description: May run again.
    command: [sh, flaky.sh]
    parameters: [{name: file, description: f}]
    idempotent: true
  - {name: single, description: May not., command: [sh, flaky.sh], parameters: [{name: file, description: f}]}
---
Try.
`,
  "flaky/tools.json": JSON.stringify([
    {
      name: "handled",
      description: "May run again.",
      script: "handled.sh",
      parameters: { file: { type: "string", description: "f" } },
      "x-idempotent": true,
    },
  ]),
  // The first run of a file fails.
  "flaky/flaky.sh": '#!/bin/sh\necho run >> "$1"; [ "$(wc -l < "$1")" -gt 1 ] && echo worked\n',
  "flaky/handled.sh":
    '#!/bin/bash\nread -r line; file=${line#*\\"file\\":\\"}; file=${file%%\\"*}\nsh "$HULL_SKILL_DIR/flaky.sh" "$file"\n',
  "greeter/greet.sh": '#!/bin/sh\necho "hello $1"\n',
});

const CLAUDE = { provider: "anthropic", model: "claude-sonnet-4-5" };
const WARNING = z.looseObject({ code: z.string(), message: z.string() });
const OPENAI = { provider: "openai", model: "gpt-4o", llm_backoff_ms: 0 };
const run = (options: object, prompt = "go", headers: Record<string, string> = {}): Promise<Response> =>
  hull.post("/runs", { prompt, options: { ...OPENAI, ...options } }, headers);
const lastMessage = (n: number): string => JSON.stringify(fake.requests[n]?.body.messages.at(-1));

test("a served skill's tools run in the runner, and the result says what was done", async () => {
  fake.script([{ tool_calls: [{ name: "greet", arguments: { who: "Ada" } }] }, { text: "Done." }]);
  const result = await json(await run({ skill: "greeter" }));
  expect(result).toMatchObject({
    status: "done",
    text: "Done.",
    iterations: 2,
    tools_used: ["greet"],
    successful_tools: ["greet"],
    session_id: null,
  });
  expect(lastMessage(1)).toContain("hello Ada");
  expect(JSON.stringify(fake.requests[0]?.body.messages[0])).toContain("You greet people.");
});

test("annotations of a skill's tools count: reading tools run in parallel, and policies know the annotations", async () => {
  const [one, two] = ["one", "two"].map((name) => `${hull.root}/home/${name}`);
  const look = (own = "", other = "") => ({ name: "look", arguments: { own, other } });
  const write = { name: "write", arguments: {} };
  fake.script([{ tool_calls: [look(one, two), look(two, one), write] }, { text: "Done." }]);
  const policy = { side_effect_level: "read_only", workspace_roots: [`${hull.root}/home`] };
  const result = await json(await run({ skill: "looker", policy }));
  expect(result).toMatchObject({ status: "done", successful_tools: ["look"], rejected_tools: ["write"] });
  expect(JSON.stringify(fake.requests[1]?.body.messages).match(/met/g)).toHaveLength(2);
  fake.script([{ tool_calls: [look("/etc/x", two)] }, { text: "Done." }]);
  expect((await json(await run({ skill: "looker", policy }))).rejected_tools).toEqual(["look"]);
});

test.each([
  ["repeatable", 2, "worked"],
  ["handled", 2, "worked"],
  ["single", 1, "exit_nonzero"],
])("tool_retries starts the process of %s %i times", async (name, starts, answer) => {
  const file = `${hull.root}/home/flaky-${name}`;
  fake.script([{ tool_calls: [{ name, arguments: { file } }] }, { text: "Done." }]);
  await run({ skill: "flaky", tool_retries: 2, tool_backoff_ms: 1, deadline_ms: 20_000 });
  expect(lastMessage(1)).toContain(answer);
  expect(await readFile(file, "utf8")).toBe("run\n".repeat(starts));
});

test("a persistent run is nudged until it is done", async () => {
  fake.script([{ text: "working" }, { text: "ok ##DONE##" }]);
  const result = await json(await run({ persistent: true }));
  expect([result.status, result.iterations, result.visible_text]).toEqual(["done", 2, "working\n\nok"]);
  expect(lastMessage(1)).toContain("You have not output ##DONE## yet");
});

// Mocks answer at once, so that the next answer begins while the last one is still being sent.
test.each([false, true])(
  "watchers see the run as it goes, with the result at the end; mocked: %s",
  async (mocked) => {
    const tool_calls = [{ name: "greet", arguments: { who: "Bo" } }];
    fake.script([{ text: ["Greeting ", "Bo."], tool_calls }, { text: ["All ", "done."] }]);
    const mock = [{ text: "Greeting Bo.", tool_calls }, { text: "All done." }];
    const options = { skill: "greeter", ...(mocked ? { mock } : {}) };
    const response = await run(options, "go", { accept: "text/event-stream" });
    const events = await readEvents(response);
    const names = events.map(({ event }) => event);
    expect([names[0], names.lastIndexOf("start")]).toEqual(["start", 0]);
    expect(dataOf(events, "start")[0]).toMatchObject({ operation: "runs", session_id: null });
    expect(names.at(-1)).toBe("done");
    expect(names.indexOf("tool_call")).toBeLessThan(names.indexOf("tool_result"));
    expect(dataOf(events, "tool_result")[0]).toMatchObject({ name: "greet", ok: true, exit_code: 0 });
    const said = (of: number): string =>
      dataOf(events, "delta")
        .flatMap(({ text, round }) => (round === of ? [text] : []))
        .join("");
    expect([said(1), said(2)]).toEqual(["Greeting Bo.", "All done."]);
    expect(dataOf(events, "done")[0]).toMatchObject({
      ok: true,
      status: "done",
      text: "Greeting Bo.All done.",
    });
  },
);

/** Of three tools the model sees one; a search finds the others. */
const SEARCHED = ["eager", "open_file", "deploy"].map((name, n) => ({
  name,
  description: `The tool ${name}`,
  parameters: {},
  handler: "shout",
  ...(n === 0 ? {} : { defer_loading: true }),
}));

test.each([
  ["native", ["open file"]],
  ["native", ["open file", "deploy"]],
  ["text", ["open file"]],
])(
  "a large registry is searched: only the tools found in the turn are offered: %s %j",
  async (tool_format, queries) => {
    const tool_calls = queries.map((query) => ({ name: "hull_tool_search", arguments: { query } }));
    fake.script([{ tool_calls }, { text: "found" }]);
    const options = { skill: "shouter", tools: SEARCHED, tool_search: { mode: "client" }, tool_format };
    const events = await readEvents(await run(options, "go", { accept: "text/event-stream" }));
    const offered = (n: number): string[] => {
      const { tools = [], messages = [] } = fake.requests[n]?.body ?? {};
      if (tool_format === "native")
        return tools.map((tool) => JSON.parse(JSON.stringify(tool)).function.name);
      return Array.from(String(messages[0]?.content).matchAll(/^function (\w+)/gm), ([, name = ""]) => name);
    };
    expect(offered(0)).toEqual(["hull_tool_search", "eager"]);
    const found = queries.map((query) => query.replace(" ", "_"));
    expect(offered(1)).toEqual(["hull_tool_search", "eager", ...found]);
    expect(dataOf(events, "done")[0]?.tools_used).toEqual(queries.map(() => "hull_tool_search"));
    const called = dataOf(events, "tool_call").map(({ call_id }) => call_id);
    expect(dataOf(events, "tool_result")).toMatchObject(called.map((call_id) => ({ call_id, ok: true })));
    expect(called).toHaveLength(queries.length);
  },
);

test("a search finds only tools that the active skills permit", async () => {
  const allowed_tools = ["eager", "deploy"];
  const skills = [{ name: "deploying", description: "How to deploy", prompt: "Deploy.", allowed_tools }];
  const tool_calls = [{ name: "hull_tool_search", arguments: { query: "tool" } }];
  fake.script([{ tool_calls }, { text: "found" }]);
  const options = { skill: "shouter", tools: SEARCHED, tool_search: { mode: "client" }, skills };
  const result = await json(await run(options, "help me with the skill deploying"));
  expect(result.status).toBe("done");
  expect(lastMessage(1)).toContain("deploy");
  expect(lastMessage(1)).not.toContain("open_file");
});

test("a tool that the provider found stays callable once its search is compacted away", async () => {
  const eager = [{ name: "eager", arguments: {} }];
  const search = [{ query: "open file", found: ["open_file"] }];
  fake.script([
    { searches: search, tool_calls: eager },
    { searches: search, tool_calls: eager },
    { text: "Long. ".repeat(400), tool_calls: eager },
    { text: "Done." },
  ]);
  const response = await run(
    {
      provider: "anthropic",
      model: "claude-opus-4-7",
      skill: "shouter",
      tools: SEARCHED,
      tool_search: true,
      auto_compact: true,
      compact_threshold: 500,
      compact_keep_last: 2,
    },
    "go",
    { accept: "text/event-stream" },
  );
  const events = await readEvents(response);
  expect(dataOf(events, "done")).toMatchObject([{ ok: true, status: "done" }]);
  const results = dataOf(events, "tool_search_result");
  expect(results.map(({ promoted }) => promoted)).toEqual([["open_file"], []]);
  const deferred = (n: number): string[] =>
    (fake.requests[n]?.body.tools ?? []).flatMap((tool) => {
      const { name, defer_loading } = JSON.parse(JSON.stringify(tool));
      return defer_loading === true ? [name] : [];
    });
  const holds = (n: number): boolean =>
    JSON.stringify(fake.requests[n]?.body.messages).includes("tool_search_tool_result");
  expect([holds(1), deferred(1)]).toEqual([true, ["open_file", "deploy"]]);
  expect([holds(3), deferred(3)]).toEqual([false, ["deploy"]]);
});

test("skills: the one that the prompt names is active, and load_skill brings another", async () => {
  const skills = [
    { name: "deploying", description: "How to deploy", prompt: "DEPLOY BODY" },
    { name: "testing", description: "How to test", prompt: "TEST BODY" },
  ];
  fake.script([{ tool_calls: [{ name: "load_skill", arguments: { name: "testing" } }] }, { text: "ok" }]);
  const result = await json(await run({ skills }, "help me with deploying"));
  expect(result.status).toBe("done");
  expect(JSON.stringify(fake.requests[0]?.body.messages[0])).toContain("DEPLOY BODY");
  expect(lastMessage(1)).toContain("TEST BODY");
});

test("a run that is answered later returns its ids at once", async () => {
  for (const [query, headers] of [
    ["?wait=none", {}],
    ["", { prefer: "respond-async" }],
  ] as const) {
    const body = JSON.stringify({ prompt: "go", options: { provider: "mock" } });
    const init = { headers: { "content-type": "application/json", ...headers } };
    const response = await hull.call(`/runs${query}`, body, init);
    const { id, run_id, session_id } = await json(response);
    expect([response.status, session_id]).toEqual([202, null]);
    expect(response.headers.get("location")).toBe(`/executions/${id}`);
    expect(String(run_id)).toBe(String(id).replace("ex_", "run_"));
  }
});

test("prefill is how the first answer of a run begins", async () => {
  fake.script([{ tool_calls: [{ name: "greet", arguments: { who: "Ada" } }] }, { text: "Done." }]);
  await run({ provider: "anthropic", model: "claude-sonnet-4-5", skill: "greeter", prefill: "I greet" });
  const begun = fake.requests.map(({ body }) => body.messages.at(-1)?.role);
  expect(begun).toEqual(["assistant", "user"]);
  expect(lastMessage(0)).toContain("I greet");
});

test("the result names options that have no effect next to the others", async () => {
  fake.script([{ text: "ok" }, { text: "ok" }, { text: "ok" }]);
  const ignored = {
    cron: "0 9 * * *",
    consolidate_on_idle: true,
    exit_when_verified: true,
    break_unless_phase: "a",
    nudge: "go on",
    turn_policy: {},
    root_task: "all",
    schema_retries: 2,
  };
  const { warnings } = await json<{ warnings: { code: string; option: string }[] }>(await run(ignored));
  expect(warnings.map(({ code }) => code)).toEqual(warnings.map(() => "option_ignored"));
  const names = warnings.map(({ option }) => option).sort();
  expect(names).toEqual([
    "break_unless_phase",
    "consolidate_on_idle",
    "cron",
    "exit_when_verified",
    "nudge",
    "root_task",
    "schema_retries",
  ]);
  expect(await json(await run({ exit_when_verified: false }))).not.toHaveProperty("warnings");
  const never = { daemon: true, consolidate_on_idle: true, auto_compact: false };
  expect(await json(await run(never))).toMatchObject({ warnings: [{ option: "consolidate_on_idle" }] });
});

test.each([
  [{ profile: "nope" }, 400, "completer"],
  [{ max_iterations: "many" }, 422, "max_iterations"],
  [{ loop_detekt_warn: 1 }, 422, 'did you mean \\"loop_detect_warn\\"'],
  [
    {
      task_ledger: [
        { title: "a", id: "1" },
        { title: "b", id: "1" },
      ],
    },
    422,
    "another item has the id",
  ],
  [{ working_files: 3 }, 422, "of at most 1024 characters; got 3"],
  [{ permissions: { deny: { edit: 1 } } }, 422, "must be a list of globs"],
  [{ task_ledger: [{ title: "x", status: "finished" }] }, 422, "in_progress"],
  [{ skill: "nobody" }, 404, "nobody"],
  [{ tools: [{ name: "a", description: "b", parameters: {} }] }, 400, "no handler"],
  [{ tools: [{ name: "a", description: "b", parameters: {}, command: ["sh"] }] }, 422, "command"],
  [
    {
      tools: [{ name: "a", description: "b", parameters: {}, handler: "shout", defer_loading: true }],
      tool_search: true,
      skills: "shouter",
    },
    400,
    "defer",
  ],
])("is refused before the first call: %j", async (options, status, named) => {
  const response = await run(options);
  const text = await response.text();
  expect([response.status, text.includes(named)]).toEqual([status, true]);
  expect(fake.requests).toHaveLength(0);
});

test("null inside of an option, or as the options, counts as absent", async () => {
  fake.script([{ text: "ok" }]);
  const options = {
    turn_policy: { max_prose_chars: null, require_action_or_yield: false },
    budget: { max_cost_usd: null, total_budget_usd: 1 },
    policy: { tools: null, side_effect_level: "network" },
    approval_policy: { auto_deny: null },
    permissions: { allow: null, on_escalation: null },
    skill_match: { strategy: null, top_n: 2 },
    task_ledger: [{ title: "one", id: null, note: null }, { title: "two", id: "1" }, "three"],
  };
  const result = await json(await run(options));
  const items = ["2", "1", "3"].map((id) => ({ id }));
  expect(result).toMatchObject({ status: "done", task_ledger: { items } });
  const none = JSON.stringify({ prompt: "go", options: null });
  const headers = { "content-type": "application/json" };
  // No provider is chosen, so the default one is asked.
  expect((await json(await hull.call("/runs", none, { headers }))).status).toBe("done");
  expect(fake.requests.map(({ path }) => path)).toEqual(["/v1/chat/completions", "/v1/messages"]);
  const wrong = await run({ turn_policy: { max_prose_chars: "many" } });
  expect(wrong.status).toBe(422);
});

test("total_budget_usd is the run's own, whatever its caller spent before", async () => {
  const call = { tool_calls: [{ name: "greet", arguments: { who: "Ada" } }] };
  const usage = { input: 1000, output: 100 };
  const turns = [
    { ...call, usage },
    { ...call, usage },
    { text: "Done.", usage },
  ];
  const budget = { total_budget_usd: 0.006 };
  for (let times = 0; times < 3; times++) {
    fake.script(turns);
    const result = await json(await run({ skill: "greeter", budget }));
    // Each call costs 0.0035: the second one uses the budget up. The skill's limit of output is not counted in advance.
    expect([result.status, result.iterations, result.cost_usd]).toEqual(["budget_exhausted", 2, 0.007]);
  }
});

test("max_output_tokens bounds a skill's max_tokens, and needs no other option", async () => {
  for (const [max_output_tokens, sent] of [
    [77, 77],
    [1_000_000, 4096],
  ]) {
    fake.script([{ text: "Done." }]);
    const result = await json(await run({ skill: "greeter", budget: { max_output_tokens } }));
    expect([result.status, fake.requests.at(-1)?.body.max_completion_tokens]).toEqual(["done", sent]);
  }
});

test("a provider's refusal is an HTTP error, not a status", async () => {
  fake.script(() => ({ status: 401 }));
  const response = await run({});
  expect([response.status, (await json(response)).code]).toEqual([502, "provider_auth_failed"]);
});

test.each([
  [{ refusal: "I will not." }, {}, "model_refused", "refusal", "stop"],
  [{ text: "Hal", stop: "length" }, {}, "answer_cut", "max_tokens", "length"],
  [{ text: [], stop: "SAFETY" }, {}, "model_refused", "refusal", "SAFETY"],
  [{ text: [], refusal: "I will not." }, CLAUDE, "model_refused", "refusal", "refusal"],
  [{ text: "Hal", stop: "pause_turn" }, { ...CLAUDE, max_iterations: 1 }, undefined, "pause", "pause_turn"],
  [{ text: "Whole." }, {}, undefined, "end_turn", "stop"],
])("the result says that an answer is not whole: %j %j", async (turn, options, code, stop, raw) => {
  fake.script(() => turn);
  const whole = await json(await run(options));
  const streamed = await readEvents(await run(options, "go", { accept: "text/event-stream" }));
  for (const result of [whole, dataOf(streamed, "done")[0]]) {
    expect(result).toMatchObject({ stop_reason: stop, raw_stop_reason: raw });
    expect(result?.status).toBe(stop === "pause" ? "budget_exhausted" : "done");
    const [warning] = z.optional(z.array(WARNING)).parse(result?.warnings) ?? [];
    expect(warning?.code).toBe(code);
    if ("refusal" in turn) expect(warning?.message).toContain(turn.refusal);
  }
});

test("an answer without JSON says that the model refused", async () => {
  fake.script(() => ({ refusal: "I will not." }));
  const options = { response_format: "json", schema_retries: 0, output_validation: "error" };
  const response = await run(options);
  expect([response.status, await response.text()]).toEqual([
    422,
    expect.stringContaining("the model refused"),
  ]);
});

test.each([
  [{ route_policy: "always(gpt-4o)" }, 0, { mode: "always", chosen: { model: "gpt-4o" } }],
  [{ fallback_chain: ["deepseek"] }, 1, { answered_by: { provider: "deepseek", model: "gpt-4o" } }],
])("result and transcript say how the model was chosen: %j", async (options, failures, routing) => {
  const failed = Array.from({ length: failures }, () => ({ status: 503 }));
  fake.script([...failed, { text: "ok" }]);
  const result = await json(await run({ llm_retries: 0, ...options }));
  expect(result).toMatchObject({ status: "done", routing });
  const { answered_by: _, ...metadata } = Object(result.routing);
  expect(Object(result.transcript).events).toEqual(
    expect.arrayContaining([expect.objectContaining({ kind: "routing_decision", metadata })]),
  );
});

const hookTool = (handler: string) => ({
  name: handler,
  description: "Says it.",
  parameters: { text: { type: "string" } },
  handler,
});

test("tools and callbacks may be hooks of the run's skills", async () => {
  const tools = [hookTool("shout"), hookTool("fails")];
  const tool_calls = tools.map(({ name }) => ({ name, arguments: { text: "ada" } }));
  fake.script([{ tool_calls }, { text: "Done." }]);
  const options = { tools, skills: "shouter", context_callback: "shouter#brief", tool_retries: 0 };
  const result = await json(await run(options));
  expect(result).toMatchObject({ status: "done", successful_tools: ["shout"], rejected_tools: [] });
  const sent = JSON.stringify(fake.requests[1]?.body.messages);
  expect(sent).toContain('{\\n  \\"loud\\": \\"ADA\\"\\n}');
  expect(sent).toContain("no vowels");
  expect(JSON.stringify(fake.requests[0]?.body.messages[0])).toContain("Be brief.");
});

test("a hook that no skill of the run exports is refused before the run starts", async () => {
  const response = await run({ skill: "shouter", post_turn_callback: "shuot" });
  expect(response.status).toBe(400);
  expect(await json(response)).toMatchObject({
    code: "invalid_request",
    detail: expect.stringContaining("shouter#shout"),
  });
  expect(fake.requests).toHaveLength(0);
});

const said = (events: Parameters<typeof dataOf>[0], name: string): string =>
  dataOf(events, name)
    .map(({ text }) => text)
    .join("");

test.each(["/llm/stream", "/runs", "/sessions/whole/runs"])(
  "%s sends the text of a whole answer too, and lets a provider search if an option of its own says that it can",
  async (path) => {
    await hull.post("/sessions", { id: "whole" });
    fake.script([{ text: "a b c", reasoning: "hm" }]);
    const tool = (name: string) => ({ name, description: "Test.", handler: "shout" });
    const options = {
      provider: "vllm",
      model: "my-clone",
      stream: false,
      tool_search: { mode: "native" },
      vllm: { force_native_tool_search: true },
      tools: [tool("eager"), { ...tool("late"), defer_loading: true }],
      ...(path === "/llm/stream" ? {} : { skills: ["shouter"] }),
    };
    const response = await hull.post(path, { prompt: "x", options }, { accept: "text/event-stream" });
    const events = await readEvents(response);
    expect([said(events, "thought"), said(events, "delta")]).toEqual(["hm", "a b c"]);
    expect(dataOf(events, "done")).toMatchObject([{ ok: true, text: "a b c" }]);
    const { tools, ...sent } = fake.requests[0]?.body ?? {};
    expect(sent).not.toHaveProperty("stream");
    expect(sent).not.toHaveProperty("force_native_tool_search");
    expect(tools).toMatchObject(
      expect.arrayContaining([
        { type: "tool_search", mode: "hosted" },
        expect.objectContaining({ function: expect.objectContaining({ name: "late" }), defer_loading: true }),
      ]),
    );
  },
);

test.each([true, false])(
  "sends the summary of the reasoning of OpenAI's model: streamed %s",
  async (stream) => {
    fake.script([{ text: "a b c", reasoning: "hm" }]);
    const options = { provider: "openai", model: "gpt-5.4", openai: { api: "responses" }, stream };
    const response = await hull.post("/runs", { prompt: "x", options }, { accept: "text/event-stream" });
    const events = await readEvents(response);
    expect([said(events, "thought"), said(events, "delta")]).toEqual(["hm", "a b c"]);
  },
);
