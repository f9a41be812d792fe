/** `POST /v1/messages` over several providers; the client is Anthropic's own SDK, unmodified. */
import Anthropic from "@anthropic-ai/sdk";
import { betaTool } from "@anthropic-ai/sdk/helpers/beta/json-schema";
import Legacy from "anthropic-sdk-legacy";
import OpenAI from "openai";
import OpenAI7 from "openai-7";
import { describe, expect, test } from "vitest";
import { commonHull } from "../support/common-hull.ts";
import { json } from "../support/hull-dev.ts";

const SECRET = "sk-ant-e2e-key";
const { hull, fake } = await commonHull({
  "a/SKILL.md": "---\nname: a\ndescription: Test.\nprovider: mock\n---\nHi.\n",
  "tight/SKILL.md":
    "---\nname: tight\ndescription: Test.\nmode: llm\nmax_tool_rounds: 1\nmax_tokens: 50\ntools: [{name: now, description: Tells the time, command: [date]}]\n---\nHi.\n",
  "forked/SKILL.md":
    "---\nname: forked\ndescription: Test.\nmode: llm\ncontext: fork\nmax_tool_rounds: 1\ntools: [{name: now, description: Tells the time, command: [date]}]\n---\nHi.\n",
  "brief/SKILL.md":
    "---\nname: brief\ndescription: Test.\nmode: llm\ndeadline_ms: 400\nconcurrency: 1\n---\nHi.\n",
});

const JSON_TYPE = { "content-type": "application/json" };
const client = new Anthropic({ apiKey: "any", baseURL: hull.url, maxRetries: 0 });
const CLAUDE = "claude-opus-4-6";
const GPT = "gpt-4o";
const WEATHER: Anthropic.Tool = {
  name: "weather",
  description: "Tells the weather.",
  input_schema: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
};
const ask = { max_tokens: 100, messages: [{ role: "user" as const, content: "Hello?" }] };
const sent = (n = 0): Record<string, unknown> => ({ ...fake.requests[n]?.body });
const texts = ({ content }: Anthropic.Message): string =>
  content.map((block) => (block.type === "text" ? block.text : "")).join("");

test.each([CLAUDE, GPT])("a client's tool gets numbers with all their digits: %s", async (model) => {
  const input = '{"city":12345678901234567890}';
  const body = `{"id":"m","type":"message","role":"assistant","model":"m","content":[{"type":"tool_use","id":"t","name":"weather","input":${input}}],"usage":{}}`;
  const turn = model === CLAUDE ? { body } : { tool_calls: [{ name: "weather", arguments: input }] };
  fake.script([turn, turn]);
  const asked = { ...ask, model, tools: [WEATHER] };
  const answer = await client.messages.create(asked).asResponse();
  expect(await answer.text()).toContain(`"input":${input}`);
  if (model === CLAUDE) return;
  const events = await client.messages.create({ ...asked, stream: true }).asResponse();
  expect(await events.text()).toContain(`"partial_json":${JSON.stringify(input)}`);
});

describe("an Anthropic model gets the client's own request", () => {
  test("a character that its server cuts in two comes whole", async () => {
    const event = (data: { type: string; [key: string]: unknown }) =>
      `event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`;
    const deltas = (index: number, block: object, type: string, member: string, pieces: string[]) => [
      event({ type: "content_block_start", index, content_block: block }),
      ...pieces.map((piece) =>
        event({ type: "content_block_delta", index, delta: { type, [member]: piece } }),
      ),
      event({ type: "content_block_stop", index }),
    ];
    const tool = { type: "tool_use", id: "t", name: "weather", input: {} };
    const usage = { input_tokens: 1, output_tokens: 1 };
    const message = { id: "m", type: "message", role: "assistant", model: CLAUDE, content: [], usage };
    fake.script([
      {
        raw_chunks: [
          event({ type: "message_start", message }),
          ...deltas(0, { type: "text", text: "" }, "text_delta", "text", ["a\ud83d", "\ude00b", "\ud83d"]),
          ...deltas(1, tool, "input_json_delta", "partial_json", ['{"city": "\ud83d', '\ude00"}']),
          event({ type: "message_delta", delta: { stop_reason: "tool_use" }, usage: { output_tokens: 1 } }),
          event({ type: "message_stop" }),
        ],
      },
    ]);
    const answer = await client.messages.stream({ ...ask, model: CLAUDE }).finalMessage();
    expect(answer.content).toMatchObject([{ text: "a😀b\ufffd" }, { input: { city: "😀" } }]);
  });

  test("unchanged, with version and betas; the answer comes back unchanged", async () => {
    const spent = async () => json<Record<string, number>>(await hull.call("/llm/usage"));
    const before = await spent();
    fake.script([{ text: "Hi.", usage: { input: 7, output: 2, cache_read: 3 } }]);
    const body = {
      ...ask,
      model: CLAUDE,
      system: [{ type: "text" as const, text: "Be brief.", cache_control: { type: "ephemeral" as const } }],
      metadata: { user_id: "u1" },
      stop_sequences: ["END"],
      a_new_field: { x: 1 },
    };
    const answer = await client.messages.create(body, { headers: { "anthropic-beta": "a-beta,b-beta" } });
    expect(sent()).toEqual(body);
    expect(fake.requests[0]?.headers).toMatchObject({
      "x-api-key": SECRET,
      "anthropic-version": "2026-10-21",
      "anthropic-beta": "a-beta,b-beta",
    });
    expect(texts(answer)).toBe("Hi.");
    expect(answer).toMatchObject({
      model: CLAUDE,
      stop_reason: "end_turn",
      usage: { input_tokens: 7, output_tokens: 2, cache_read_input_tokens: 3 },
    });
    const after = await spent();
    const names = ["input_tokens", "output_tokens", "call_count"];
    expect(names.map((name) => (after[name] ?? 0) - (before[name] ?? 0))).toEqual([7, 2, 1]);
  });

  test("a cut answer comes back unchanged: only a header has the code of the warning", async () => {
    const turn = { text: ["Ha", "lf"], stop: "max_tokens" };
    fake.script([turn, turn]);
    const { data, response } = await client.messages.create({ ...ask, model: CLAUDE }).withResponse();
    expect(response.headers.get("x-hull-warnings")).toBe("answer_cut");
    expect(data).not.toHaveProperty("warnings");
    const asked = client.messages.create({ ...ask, model: "mystery", stream: true });
    const stream = await asked.withResponse();
    expect(stream.response.headers.get("x-hull-warnings")).toBe("provider_not_inferred");
    for await (const event of stream.data)
      if (event.type === "message_delta") expect(event.delta).not.toHaveProperty("warnings");
  });

  test("streamed, with the provider's own events", async () => {
    const turn = {
      text: ["One ", "two ", "three."],
      reasoning: "hm",
      tool_calls: [{ id: "toolu_1", name: "weather", arguments: { city: "Rome" } }],
    };
    fake.script([turn, turn]);
    const body = { ...ask, model: CLAUDE, tools: [WEATHER] };
    const whole = await client.messages.create(body);
    const streamed = await client.messages.stream(body).finalMessage();
    expect(streamed.content).toEqual(whole.content);
    expect(streamed.stop_reason).toBe("tool_use");
    expect(streamed.usage).toMatchObject({ output_tokens: whole.usage.output_tokens });
    expect(sent(1)).toEqual({ ...body, stream: true });
  });

  test("a key of the deployment in the answer is cut out, also across deltas", async () => {
    const turn = { text: ["The key is sk-ant", "-e2e-", "key, yes."] };
    fake.script([turn, { text: turn.text.join("") }]);
    const streamed = await client.messages.stream({ ...ask, model: CLAUDE }).finalMessage();
    const whole = await client.messages.create({ ...ask, model: CLAUDE });
    expect([texts(streamed), texts(whole)]).toEqual(Array(2).fill("The key is [redacted], yes."));
  });

  test("Hull refuses tools that the provider runs itself, because it cannot count their cost", async () => {
    const web = { type: "web_search_20250305" as const, name: "web_search" as const };
    const refused = client.messages.create({ ...ask, model: CLAUDE, tools: [web] });
    await expect(refused).rejects.toThrow(/tools\.0.*web_search_20250305.*cannot count/);
    expect(fake.requests).toHaveLength(0);
  });
});

const ROUTES: [string, (slug: string) => object][] = [
  ["/skills/SLUG", () => ({ input: "Hello?" })],
  ["/v1/messages", (slug) => ({ ...ask, model: `skill/${slug}` })],
  ["/v1/chat/completions", (slug) => ({ model: `skill/${slug}`, messages: ask.messages })],
  ["/v1/responses", (slug) => ({ model: `skill/${slug}`, input: "Hello?" })],
  ["/runs", (skill) => ({ prompt: "Hello?", options: { skill } })],
];

describe.each(ROUTES)("a skill's own limits hold when %s runs it", (path, body) => {
  const run = (slug: string): Promise<Response> => hull.post(path.replace("SLUG", slug), body(slug));

  test("its rounds and its tokens", async () => {
    fake.script(() => ({ tool_calls: [{ name: "now", arguments: {} }] }));
    await (await run("tight")).text();
    expect(fake.requests.map((request) => request.body.max_tokens)).toEqual([50, 50]);
  });

  test("its time, and how many may run at once", async () => {
    fake.script(() => ({ hang: true }));
    const answers = await Promise.all([run("brief"), run("brief")]);
    expect(answers.map(({ status }) => status).sort()).toEqual([429, 504]);
    fake.script([]);
  });
});

test.each(ROUTES.slice(0, 4))(
  "%s asks no model again after text, which its client cannot discard",
  async (path, body) => {
    fake.script([{ text: ["Half ", "of it"], cut: true }]);
    const streamed = path.startsWith("/v1/") ? { stream: true } : {};
    const wanted = { ...body("tight"), ...streamed };
    const answer = await hull.post(path.replace("SLUG", "tight"), wanted, { accept: "text/event-stream" });
    expect(await answer.text()).toContain("Half ");
    expect(fake.requests).toHaveLength(1);
  },
);

const NOW = { tool_calls: [{ name: "now", arguments: {} }] };
test.each([
  ...ROUTES,
  ["/sessions/messages-tight/runs", (skill: string) => ({ prompt: "Hello?", options: { skill } })] as const,
  ["/sub-agents", (skill: string) => ({ task: "Hello?", options: { skill } })] as const,
])(
  "after the rounds of the skill the model answers in one last call without tools: %s",
  async (path, body) => {
    fake.script(({ body: { tool_choice } }) =>
      JSON.stringify(tool_choice) === '{"type":"none"}' ? { text: "Enough." } : NOW,
    );
    if (path.startsWith("/sessions")) await hull.post("/sessions", { id: "messages-tight" });
    const answer = await hull.post(path.replace("SLUG", "tight"), body("tight"));
    const text = await answer.text();
    expect([answer.status < 300, fake.requests.length, text]).toEqual([
      true,
      2,
      expect.stringContaining("Enough."),
    ]);
    expect(text).not.toContain("budget_exhausted");
  },
);

describe("an answer whose last call asks for further tools is not complete", () => {
  const openai = new OpenAI7({ apiKey: "any", baseURL: `${hull.url}/v1`, maxRetries: 0 });
  const model = "skill/tight";
  const used = { max_iterations_reached: true };
  const { messages } = ask;

  test.each([true, false])("a chat completion ends for its length (stream: %s)", async (stream) => {
    fake.script(() => ({ ...NOW, text: fake.requests.length === 1 ? "Let me look." : "" }));
    const answer = await (stream
      ? openai.chat.completions.stream({ model, messages }).finalChatCompletion()
      : openai.chat.completions.create({ model, messages }));
    const end = { finish_reason: "length", message: { content: "Let me look." } };
    expect(answer).toMatchObject({ choices: [end], ...(stream ? {} : used) });
    expect(answer.choices[0]?.message).not.toHaveProperty("tool_calls");
  });

  test.each([true, false])("a response is incomplete (stream: %s)", async (stream) => {
    fake.script(() => NOW);
    const body = { model, input: "Hello?" };
    const answer = await (stream
      ? openai.responses.stream(body).finalResponse()
      : openai.responses.create(body));
    const why = { incomplete_details: { reason: "max_output_tokens" } };
    expect(answer).toMatchObject({ status: "incomplete", ...why, ...used });
  });

  test.each([true, false])("a message pauses, and its client continues it (stream: %s)", async (stream) => {
    const send = (more: Anthropic.MessageParam[]) => {
      const body = { ...ask, model, messages: [...messages, ...more] };
      return stream ? client.messages.stream(body).finalMessage() : client.messages.create(body);
    };
    fake.script(() => NOW);
    const paused = await send([]);
    expect(paused).toMatchObject({
      stop_reason: "pause_turn",
      content: [{ name: "bash_code_execution" }, {}],
    });
    if (!stream) expect(paused).toMatchObject(used);
    fake.script([{ text: "Noon." }]);
    const content: Anthropic.MessageParam["content"] = paused.content as Anthropic.ContentBlockParam[];
    expect(await send([{ role: "assistant", content }])).toMatchObject({
      stop_reason: "end_turn",
      content: [{ text: "Noon." }],
    });
    expect(JSON.stringify(fake.requests.at(-1)?.body.messages)).toContain("tool_result");
  });
});

test("a skill that a sub-agent carries out has its own rounds there", async () => {
  const load = { tool_calls: [{ name: "load_skill", arguments: { name: "forked", task: "Look." } }] };
  fake.script([load, NOW, { text: "Enough." }, { text: "Done." }]);
  const options = { provider: "openai", model: GPT, skills: ["forked"] };
  const run = await hull.post("/runs", { prompt: "Go.", options });
  expect(await run.json()).toMatchObject({ status: "done", text: expect.stringContaining("Done.") });
  expect(fake.requests.map(({ body }) => body.tool_choice)).toEqual([
    undefined,
    undefined,
    "none",
    undefined,
  ]);
  expect(JSON.stringify(fake.requests[3]?.body)).toContain("Enough.");
});

test.each([CLAUDE, GPT])("the SDK's tool runner and threads keep the conversation: %s", async (model) => {
  const weather = betaTool({
    name: "weather",
    description: "Tells the weather.",
    inputSchema: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
    run: ({ city }) => `Sunny in ${city}.`,
  });
  fake.script([{ tool_calls: [{ name: "weather", arguments: { city: "Rome" } }] }, { text: "Sunny." }]);
  const question = { role: "user" as const, content: "How is Rome?" };
  const body = { model, max_tokens: 100, messages: [question], tools: [weather] };
  const answer = await client.beta.messages.toolRunner(body);
  expect(answer.content).toMatchObject([{ text: "Sunny." }]);
  expect(JSON.stringify(sent(1))).toMatch(/How is Rome\?.*Sunny in Rome\./);
  const thread = client.beta.messages.thread({ model, max_tokens: 100 });
  await expect(thread.send(question)).rejects.toMatchObject({
    status: 400,
    errorCode: "thread_unsupported_request",
  });
  const whole = { model, max_tokens: 100, unsupportedRequestBehavior: "continue_unthreaded" as const };
  const unthreaded = client.beta.messages.thread(whole);
  await unthreaded.send(question);
  await unthreaded.send({ role: "user", content: "And Oslo?" });
  expect(JSON.stringify(sent(3))).toMatch(/How is Rome\?.*And Oslo\?/);
  expect(fake.requests).toHaveLength(4);
});

describe("a model of another provider", () => {
  test("gets the conversation in its own protocol", async () => {
    fake.script([{ text: "Warm.", usage: { input: 30, output: 4, cache_read: 10 } }]);
    const answer = await client.messages.create({
      model: GPT,
      max_tokens: 50,
      system: [{ type: "text", text: "Be brief." }],
      tools: [WEATHER],
      tool_choice: { type: "any" },
      stop_sequences: ["END"],
      metadata: { user_id: "u1" },
      messages: [
        {
          role: "user",
          content: [
            { type: "text", text: "How is it?" },
            { type: "image", source: { type: "base64", media_type: "image/png", data: "aGk=" } },
          ],
        },
        {
          role: "assistant",
          content: [
            { type: "thinking", thinking: "secret", signature: "s" },
            { type: "tool_use", id: "toolu_1", name: "weather", input: { city: "Rome" } },
          ],
        },
        {
          role: "user",
          content: [
            { type: "tool_result", tool_use_id: "toolu_1", content: [{ type: "text", text: "29 °C" }] },
            { type: "text", text: "Well?" },
          ],
        },
      ],
    });
    expect(sent()).toMatchObject({
      model: GPT,
      max_completion_tokens: 50,
      stop: ["END"],
      tool_choice: "required",
      tools: [{ type: "function", function: { name: "weather", parameters: WEATHER.input_schema } }],
      messages: [
        { role: "system", content: "Be brief." },
        {
          role: "user",
          content: [
            { type: "text", text: "How is it?" },
            { type: "image_url", image_url: { url: "data:image/png;base64,aGk=" } },
          ],
        },
        { role: "assistant", tool_calls: [{ id: "toolu_1", function: { arguments: '{"city":"Rome"}' } }] },
        { role: "tool", tool_call_id: "toolu_1", content: "29 °C" },
        { role: "user", content: "Well?" },
      ],
    });
    expect(answer).toMatchObject({
      type: "message",
      role: "assistant",
      content: [{ type: "text", text: "Warm." }],
      stop_reason: "end_turn",
      usage: { input_tokens: 20, output_tokens: 4, cache_read_input_tokens: 10 },
    });
  });

  test("streams the same message as it gives whole, and names what was ignored", async () => {
    const turn = {
      text: ["One ", "two."],
      reasoning: "hm",
      tool_calls: [{ id: "call_1", name: "weather", arguments: { city: "Rome" } }],
      usage: { input: 5, output: 6 },
    };
    fake.script([turn, turn, turn, turn]);
    const tool_choice = { type: "auto" as const, disable_parallel_tool_use: true };
    const body = {
      ...ask,
      model: GPT,
      tools: [WEATHER],
      tool_choice,
      metadata: { user_id: "u" },
      a_new_field: 1,
    };
    const ignored = "metadata, a_new_field";
    const whole = await client.messages.create(body).withResponse();
    const stream = client.messages.stream(body);
    const thought = new Set<string>();
    stream.on("streamEvent", (event) => {
      if (event.type === "content_block_delta" && event.index === 0) thought.add(event.delta.type);
    });
    const streamed = await stream.finalMessage();
    expect(streamed.content).toEqual(whole.data.content);
    // Clients that put blocks together themselves know a signature from its delta alone.
    expect([...thought]).toEqual(["thinking_delta", "signature_delta"]);
    expect(whole.data.content.map(({ type }) => type)).toEqual(["thinking", "text", "tool_use"]);
    expect([streamed.stop_reason, whole.data.stop_reason]).toEqual(["tool_use", "tool_use"]);
    expect(streamed.usage).toMatchObject({ input_tokens: 5, output_tokens: 6 });
    expect(whole.response.headers.get("x-hull-ignored")).toBe(ignored);
    expect(stream.response?.headers.get("x-hull-ignored")).toBe(ignored);
    expect(sent()).not.toHaveProperty("a_new_field");
    expect(sent().parallel_tool_calls).toBe(false);
    const { messages } = client.beta;
    for (const beta of [await messages.create(body), await messages.stream(body).finalMessage()])
      expect(beta).toMatchObject({
        context_management: null,
        usage: { iterations: null, fallback_credit: null },
      });
  });

  test("answers a request as Claude Code sends it although the model cannot think", async () => {
    const cached = { cache_control: { type: "ephemeral" } };
    const body = {
      model: GPT,
      max_tokens: 64_000,
      metadata: { user_id: '{"device_id":"d","session_id":"s"}' },
      thinking: { type: "adaptive", display: "omitted" },
      context_management: { edits: [{ type: "clear_thinking_20251015", keep: "all" }] },
      output_config: { effort: "high" },
      system: [
        { type: "text", text: "x-anthropic-billing-header: cc_version=2;" },
        { type: "text", text: "You are an agent.", ...cached },
      ],
      tools: [
        { ...WEATHER, ...cached },
        { ...WEATHER, name: "Placeholder", defer_loading: true },
      ],
      messages: [
        {
          role: "user",
          content: [
            { type: "text", text: "Hi." },
            { type: "text", text: "Go.", ...cached },
          ],
        },
        { role: "system", content: [{ type: "text", text: "A reminder.", ...cached }] },
      ],
    };
    const headers = {
      ...JSON_TYPE,
      "anthropic-version": "2023-06-01",
      "anthropic-beta": "claude-code-20250219",
    };
    fake.script([{ text: "Hello." }]);
    const answer = await hull.call("/v1/messages?beta=true", JSON.stringify(body), { headers });
    expect(answer.status).toBe(200);
    expect(answer.headers.get("x-hull-ignored")).toBe("metadata, context_management, thinking");
    expect(texts(await json(answer))).toBe("Hello.");
    expect(sent()).not.toHaveProperty("reasoning_effort");
    // Where Hull runs tools, and with a skill as the model.
    const tools = [...body.tools, { type: "code_execution_20250825", name: "code_execution" }];
    for (const more of [{ tools }, { model: "skill/a" }]) {
      fake.script([{ text: "Hello." }]);
      const ran = await hull.call("/v1/messages", JSON.stringify({ ...body, ...more }), { headers });
      expect(ran.status).toBe(200);
    }
    const forced = { ...body, thinking: { type: "enabled", budget_tokens: 2000 } };
    const refused = await hull.call("/v1/messages", JSON.stringify(forced), { headers });
    expect([refused.status, await refused.text()]).toEqual([400, expect.stringContaining("thinking: ")]);
  });

  const code = { type: "code_execution_20250825" as const, name: "code_execution" as const };
  test.each<[string, Anthropic.ToolUnion[]]>([
    ["in one call", []],
    ["where Hull runs the tools", [code]],
  ])("returns a cut answer with its warnings, whole and streamed: %s", async (_, tools) => {
    fake.script(Array.from({ length: 4 }, () => ({ text: ["Ha", "lf"], stop: "length" })));
    const body = { ...ask, model: GPT, tools };
    const warnings = [{ code: "answer_cut", message: expect.any(String) }];
    expect(await client.messages.create(body)).toMatchObject({ stop_reason: "max_tokens", warnings });
    const deltas: object[] = [];
    for await (const event of await client.messages.create({ ...body, stream: true }))
      if (event.type === "message_delta") deltas.push(event.delta);
    expect(deltas).toMatchObject([{ stop_reason: "max_tokens", warnings }]);
    const legacy = new Legacy({ apiKey: "any", baseURL: hull.url, maxRetries: 0 });
    const older = { ...ask, model: GPT, tools: tools.length === 0 ? [] : [code] };
    for (const whole of [
      await client.messages.stream(body).finalMessage(),
      await legacy.messages.stream(older).finalMessage(),
    ])
      expect(whole).toMatchObject({ stop_reason: "max_tokens", content: [{ type: "text", text: "Half" }] });
  });

  test.each<[string, Anthropic.ToolUnion[]]>([
    ["in one call", []],
    ["where Hull runs the tools", [code]],
  ])("answers a refusal in Anthropic's form, and later requests may contain it: %s", async (_, tools) => {
    const turn = { text: [], refusal: "I cannot help with that." };
    fake.script([turn, turn, { text: "Gladly." }]);
    const body = { ...ask, model: GPT, tools };
    const { data: whole, response } = await client.messages.create(body).withResponse();
    expect(response.headers.get("x-hull-warnings")).toBe("model_refused");
    const streamed = await client.messages.stream(body).finalMessage();
    for (const { content, stop_reason, stop_details } of [whole, streamed])
      expect({ content, stop_reason, stop_details }).toMatchObject({
        content: [{ type: "text", text: turn.refusal }],
        stop_reason: "refusal",
        stop_details: { type: "refusal", category: null, explanation: turn.refusal },
      });
    const { role, content } = streamed;
    const further = [...ask.messages, { role, content }, { role: "user" as const, content: "Another?" }];
    expect((await client.messages.create({ ...body, messages: further })).stop_reason).toBe("end_turn");
    expect(sent(2).messages).toMatchObject([
      { role: "user" },
      { role: "assistant", content: turn.refusal },
      { role: "user", content: "Another?" },
    ]);
  });

  test("gets nothing that only Anthropic takes", async () => {
    const editor = { type: "text_editor_20250728" as const, name: "str_replace_based_edit_tool" as const };
    const refused = client.messages.create({ ...ask, model: GPT, tools: [editor] });
    await expect(refused).rejects.toThrow(
      /tools\.0: only models of Anthropic take the type text_editor_20250728/,
    );
    const compaction = { type: "summarize" as const };
    const summary = client.beta.messages.create({ ...ask, model: GPT, compaction });
    await expect(summary).rejects.toThrow(/compaction: only models of Anthropic take the type summarize/);
  });
});

describe("what goes wrong", () => {
  test("has the SDK's classes", async () => {
    fake.script([{ status: 429, headers: { "retry-after": "40" } }, { status: 400 }]);
    const limited = await client.messages.create({ ...ask, model: CLAUDE }).catch((error: unknown) => error);
    expect(limited).toBeInstanceOf(Anthropic.RateLimitError);
    expect(limited).toMatchObject({ requestID: expect.any(String), type: "rate_limit_error" });
    const bad = await client.messages.create({ ...ask, model: CLAUDE }).catch((error: unknown) => error);
    expect(bad).toBeInstanceOf(Anthropic.BadRequestError);
    const nothing = await client.messages
      .create({ ...ask, model: GPT, messages: [] })
      .catch((e: unknown) => e);
    expect(nothing).toBeInstanceOf(Anthropic.BadRequestError);
  });

  test("an exhausted budget is reported once, and no provider is asked", async () => {
    const budget = { window: "total", max_cost_usd: 0.000001 };
    await hull.call("/budgets/tenant", JSON.stringify(budget), { method: "PUT", headers: JSON_TYPE });
    const patient = new Anthropic({ apiKey: "any", baseURL: hull.url, maxRetries: 2 });
    const refused = await patient.messages.create({ ...ask, model: CLAUDE }).catch((e: unknown) => e);
    expect(refused).toMatchObject({ status: 402, type: "billing_error" });
    const chat = await new OpenAI({ apiKey: "any", baseURL: `${hull.url}/v1` }).chat.completions
      .create({ model: CLAUDE, messages: ask.messages })
      .catch((e: unknown) => e);
    expect(chat).toMatchObject({ status: 402, code: "insufficient_quota" });
    expect(fake.requests).toHaveLength(0);
    await hull.call("/budgets/tenant", undefined, { method: "DELETE" });
  });

  test("before the first event has a status, after it is an event", async () => {
    fake.script([
      { status: 429, headers: { "retry-after": "40" } },
      { text: ["One ", "two"], cut: true },
    ]);
    const early = client.messages.stream({ ...ask, model: CLAUDE }).finalMessage();
    await expect(early).rejects.toBeInstanceOf(Anthropic.RateLimitError);
    const late = await client.messages
      .stream({ ...ask, model: CLAUDE })
      .finalMessage()
      .catch((e: unknown) => e);
    expect(String(late)).toMatch(/api_error/);
  });
});

test("tokens are counted by estimate, for every provider", async () => {
  const { input_tokens } = await client.messages.countTokens({ model: GPT, messages: ask.messages });
  expect(input_tokens).toBe(2);
});

test("older and newer clients of both vendors work alike", async () => {
  fake.script(() => ({ text: ["One ", "two."] }));
  const legacy = new Legacy({ apiKey: "any", baseURL: hull.url, maxRetries: 0 });
  for (const model of [CLAUDE, GPT]) {
    const whole = await legacy.messages.create({ ...ask, model, temperature: 0.5 });
    expect(whole.content).toMatchObject([{ type: "text", text: "One two." }]);
    const streamed = await legacy.beta.messages.stream({ ...ask, model, betas: ["b-beta"] }).finalMessage();
    expect(streamed.content).toMatchObject([{ type: "text", text: "One two." }]);
    const seven = new OpenAI7({ apiKey: "any", baseURL: `${hull.url}/openai/v1`, maxRetries: 0 });
    const stream = seven.chat.completions.stream({ model, messages: ask.messages });
    expect((await stream.finalChatCompletion()).choices[0]?.message.content).toBe("One two.");
  }
  expect(fake.requests[0]?.headers).toMatchObject({ "anthropic-version": "2023-06-01" });
  expect(fake.requests[1]?.headers).toMatchObject({ "anthropic-beta": "b-beta" });
  expect(sent(0)).toMatchObject({ temperature: 0.5 });
});

test("a tool's alternatives reach the other vendor's models as one object", async () => {
  const alternatives = [
    { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
    { type: "object", properties: { zip: { type: "string" } }, required: ["zip"] },
  ];
  const schema = { type: "object" as const, oneOf: alternatives };
  const folded = { type: "object", properties: { city: { type: "string" }, zip: { type: "string" } } };
  await client.messages.create({ ...ask, model: GPT, tools: [{ ...WEATHER, input_schema: schema }] });
  expect(sent(0).tools).toMatchObject([{ function: { parameters: folded } }]);
  expect(JSON.stringify(sent(0).tools)).not.toContain("oneOf");
  const openai = new OpenAI({ apiKey: "any", baseURL: `${hull.url}/v1`, maxRetries: 0 });
  const declared = { type: "function" as const, function: { name: "weather", parameters: schema } };
  await openai.chat.completions.create({ model: CLAUDE, messages: ask.messages, tools: [declared] });
  expect(sent(1).tools).toMatchObject([{ input_schema: folded }]);
  expect(JSON.stringify(sent(1).tools)).not.toContain("oneOf");
});
