/** `/v1/responses`, `/v1/conversations` and `/v1/containers`; the clients are OpenAI's own SDKs, unmodified. */
import { dirname } from "node:path";
import Anthropic from "@anthropic-ai/sdk";
import OpenAI, { toFile } from "openai";
import OpenAI7, * as openai7 from "openai-7";
import { describe, expect, test } from "vitest";
import { commonHull, keyOf } from "../support/common-hull.ts";
import { until } from "../support/runner.ts";
import { killWorker } from "../support/shared.ts";
import { makeZip } from "../support/zip.ts";

const { hull, fake } = await commonHull(
  {
    "mills/.claude-plugin/plugin.json": '{"name": "mills"}',
    "mills/GRAIN.md": "Rye.\n",
    "mills/skills/grind/SKILL.md":
      "---\nname: grind\ndescription: Grinds.\n---\nGrind [what there is](../../GRAIN.md).\n",
    "reports/SKILL.md":
      "---\nname: reports\ndescription: Writes reports.\nprovider: openai\nmodel: gpt-4o\nworkspace_tools: [Bash]\n---\nWrite.\n",
  },
  "keyed",
);
const KEYS = { red: await keyOf(hull, "red"), blue: await keyOf(hull, "blue") };
const baseURL = `${hull.url}/v1`;
const client = new OpenAI({ apiKey: KEYS.red, baseURL, maxRetries: 0 });
const seven = new OpenAI7({ apiKey: KEYS.red, baseURL, maxRetries: 0 });
/** Its types say more than those of the client before, and the calls are the same. */
const module: object = openai7;
const Later: typeof OpenAI = Reflect.get(module, "OpenAI");
const later = new Later({ apiKey: KEYS.red, baseURL, maxRetries: 0 });
const stranger = new OpenAI({ apiKey: KEYS.blue, baseURL, maxRetries: 0 });

const GPT = "gpt-4o";
const WEATHER: OpenAI.Responses.FunctionTool = {
  type: "function",
  name: "weather",
  description: "Tells the weather.",
  parameters: { type: "object", properties: { city: { type: "string" } } },
  strict: false,
};
const SHELL = { type: "shell" as const, environment: { type: "container_auto" as const } };
const shell = (...commands: string[]) => ({
  tool_calls: [{ id: "c1", name: "shell", arguments: { commands } }],
});
const BASH = (command: string) => ({ tool_calls: [{ id: "c1", name: "Bash", arguments: { command } }] });
const sent = (n = 0): string => JSON.stringify(fake.requests[n]?.body);
const ended = (id: string) =>
  until(
    () => client.responses.retrieve(id),
    ({ status }) => status !== "queued" && status !== "in_progress",
  );
const kinds = ({ output }: { output: { type: string }[] }): string[] => output.map(({ type }) => type);

test.each([true, false])(
  "a response says that its rounds of tools are used up, and is complete with its text (stream: %s)",
  async (stream) => {
    fake.script((request) =>
      request.body.tool_choice === "none" ? { text: "Enough." } : shell(`echo ${fake.requests.length}`),
    );
    const body = { model: GPT, input: "Go.", tools: [SHELL] };
    const response = await (stream
      ? seven.responses.stream(body).finalResponse()
      : seven.responses.create(body));
    expect(fake.requests).toHaveLength(11);
    expect(response).toMatchObject({
      status: "completed",
      incomplete_details: null,
      max_iterations_reached: true,
      output_text: "Enough.",
    });
  },
);

describe.each([
  ["openai 6", client],
  ["openai 7", later],
])("%s", (_, openai) => {
  test.each([GPT, "claude-opus-4-6"])("a response of %s, whole and as events, and later", async (model) => {
    const turn = { text: "It is warm.", usage: { input: 9, output: 4 } };
    fake.script([turn, turn]);
    const body = {
      model,
      instructions: "Be brief.",
      input: "Hello?",
      metadata: { of: "test" },
      max_output_tokens: 50,
    };
    const whole = await openai.responses.create(body);
    expect(whole.output_text).toBe("It is warm.");
    expect(whole).toMatchObject({
      id: expect.stringMatching(/^resp_[0-9a-f]{32}$/),
      object: "response",
      status: "completed",
      instructions: "Be brief.",
      metadata: { of: "test" },
      usage: { input_tokens: 9, output_tokens: 4, total_tokens: 13 },
    });
    expect(sent()).toContain("Be brief.");
    const events: OpenAI.Responses.ResponseStreamEvent[] = [];
    for await (const event of await openai.responses.create({ ...body, stream: true })) events.push(event);
    expect(events.map((event) => event.sequence_number)).toEqual(events.map((_, n) => n));
    const names = events.map(({ type }) => type).filter((type) => type !== "response.output_text.delta");
    expect(names).toEqual([
      "response.created",
      "response.in_progress",
      "response.output_item.added",
      "response.content_part.added",
      "response.output_text.done",
      "response.content_part.done",
      "response.output_item.done",
      "response.completed",
    ]);
    const last = events.at(-1);
    if (last?.type !== "response.completed") throw new Error("no end");
    const stored = await openai.responses.retrieve(last.response.id);
    expect(stored.output).toEqual(last.response.output);
    const again: OpenAI.Responses.ResponseStreamEvent[] = [];
    for (const starting_after of [3, events.length - 1]) {
      const options = { stream: true, starting_after } as const;
      for await (const event of await openai.responses.retrieve(last.response.id, options)) again.push(event);
      expect(again).toEqual(events.slice(4));
    }
    const items = await openai.responses.inputItems.list(last.response.id);
    expect(items.data).toMatchObject([
      { type: "message", role: "user", content: [{ type: "input_text", text: "Hello?" }] },
    ]);
    await openai.responses.delete(last.response.id);
    await expect(openai.responses.retrieve(last.response.id)).rejects.toMatchObject({ status: 404 });
  });
});

describe("a conversation continues", () => {
  test.each([GPT, "claude-opus-4-6"])("with tools of the client and %s", async (model) => {
    fake.script([
      { reasoning: "Rome it is.", tool_calls: [{ id: "c1", name: "weather", arguments: { city: "Rome" } }] },
      { text: "29 °C." },
    ]);
    const first = await client.responses.create({ model, input: "How warm?", tools: [WEATHER] });
    const call = first.output.at(-1);
    expect(call).toMatchObject({ type: "function_call", call_id: "c1", name: "weather" });
    expect(JSON.stringify(first.output)).not.toContain("encrypted_content");
    const second = await client.responses.create({
      model,
      previous_response_id: first.id,
      input: [{ type: "function_call_output", call_id: "c1", output: "29" }],
      tools: [WEATHER],
    });
    expect(second.output_text).toBe("29 °C.");
    expect(sent(1)).toContain("How warm?");
    expect(sent(1)).toContain("c1");
    // The reasoning that the provider needs comes back.
    if (model.startsWith("claude")) expect(sent(1)).toContain("Rome it is.");
    const items = await client.responses.inputItems.list(second.id);
    expect(items.data).toMatchObject([{ type: "function_call_output", output: "29" }]);
  });

  test("without the server's store", async () => {
    fake.script([{ reasoning: "Hm.", text: "One." }, { text: "Two." }]);
    const model = "claude-opus-4-6";
    const first = await client.responses.create({ model, input: "Count.", store: false });
    expect(kinds(first)).toEqual(["reasoning", "message"]);
    await expect(client.responses.retrieve(first.id)).rejects.toBeInstanceOf(OpenAI.NotFoundError);
    const said = { role: "user" as const, content: "Go on." };
    const input = [{ role: "user" as const, content: "Count." }, ...first.output, said];
    const events = client.responses.stream({
      model,
      store: false,
      input: input as OpenAI.Responses.ResponseInput,
    });
    expect((await events.finalResponse()).output_text).toBe("Two.");
    expect(sent(1)).toContain("Hm.");
  });

  test("in a conversation, with stored items", async () => {
    expect((await client.conversations.create()).id).toMatch(/^conv_/);
    const conversation = await client.conversations.create({
      metadata: { topic: "sums" },
      items: [{ type: "message", role: "user", content: "My number is 7." }],
    });
    fake.script([{ text: "Seven." }]);
    const answer = await client.responses.create({
      model: GPT,
      input: "Which number?",
      conversation: conversation.id,
    });
    expect(answer.conversation).toEqual({ id: conversation.id });
    expect(sent()).toContain("My number is 7.");
    const items = [];
    for await (const item of client.conversations.items.list(conversation.id, { order: "asc", limit: 1 }))
      items.push(item);
    expect(items.map((item) => item.type)).toEqual(["message", "message", "message"]);
    expect(items.at(-1)).toEqual(answer.output[0]);
    const [first] = items;
    const conversation_id = conversation.id;
    expect(await client.conversations.items.retrieve(first?.id ?? "", { conversation_id })).toEqual(first);
    await client.conversations.items.delete(first?.id ?? "", { conversation_id });
    await expect(client.conversations.items.retrieve(first?.id ?? "", { conversation_id })).rejects.toThrow(
      "404",
    );
    const added = await client.conversations.items.create(conversation.id, {
      items: [{ type: "message", role: "user", content: "And now?" }],
    });
    expect(added.data).toHaveLength(1);
    expect(await client.conversations.update(conversation.id, { metadata: { a: "b" } })).toMatchObject({
      metadata: { a: "b" },
    });
    expect(await client.conversations.delete(conversation.id)).toMatchObject({ deleted: true });
    await expect(client.conversations.retrieve(conversation.id)).rejects.toThrow("404");
  });
});

describe("a request", () => {
  test("reports which members did not reach the provider; one of the same protocol gets them", async () => {
    fake.script([{ text: "Hi." }, { text: "Hi." }]);
    const more = { user: "u1", prompt_cache_key: "k", service_tier: "auto" as const, brand_new: 1 };
    const chat = await client.responses.create({ model: GPT, input: "Hello?", ...more }).asResponse();
    expect(chat.headers.get("x-hull-ignored")).toBe("user, prompt_cache_key, service_tier, brand_new");
    expect(sent()).not.toContain("brand_new");
    const same = await client.responses.create({ model: "plain", input: "Hello?", ...more }).asResponse();
    expect(same.headers.get("x-hull-ignored")).toBeNull();
    expect(fake.requests[1]?.body).toMatchObject(more);
  });

  test.each([true, false])(
    "reports options that Hull drops only when it calls the model, stored or not: %s",
    async (store) => {
      fake.script([{ text: "Hi." }]);
      const more = { temperature: 0.2, user: "u1", reasoning: { effort: "high" as const }, store };
      const asked = { model: "claude-opus-4-6", input: "Hello?", ...more };
      const { headers } = await client.responses.create(asked).asResponse();
      expect(headers.get("x-hull-ignored")).toBe("user, temperature");
    },
  );

  test("has its verbosity and strict tools where the provider has them, and no asynchronous tools", async () => {
    fake.script([{ text: "Hi." }, { text: "Hi." }, { text: "Hi." }]);
    const tool = { type: "function" as const, parameters: {}, strict: true, defer_loading: false };
    const later = { ...tool, name: "later", strict: false, async: true };
    const tools = [
      { ...tool, name: "f" },
      { type: "namespace" as const, name: "n", description: "", tools: [later] },
    ];
    const more = { input: "Hello?", tools, text: { verbosity: "low" as const } };
    const ignored = [];
    for (const model of ["plain", GPT, "claude-opus-4-6"]) {
      const response = await client.responses.create({ model, ...more }).asResponse();
      ignored.push(response.headers.get("x-hull-ignored"));
    }
    expect(ignored).toEqual([
      "tools.async",
      "text.verbosity, tools.async",
      "text.verbosity, tools.async, tools.strict",
    ]);
    const [own, chat] = fake.requests.map(({ body }) => body);
    expect(own).toMatchObject({
      text: { verbosity: "low" },
      tools: [{ name: "f", strict: true }, { name: "n__later" }],
    });
    expect(chat).toMatchObject({ tools: [{ function: { name: "f", strict: true } }, {}] });
  });

  test("has its effort and summary of reasoning where the provider has them", async () => {
    fake.script([{ text: "Hi." }, { text: "Hi." }, { text: "Hi." }]);
    const asked = (model: string, effort: "xhigh" | "high", summary?: "auto") =>
      client.responses
        .create({ model, input: "Hello?", reasoning: { effort, ...(summary ? { summary } : {}) } })
        .asResponse();
    const same = await asked("plain", "xhigh", "auto");
    expect(same.headers.get("x-hull-ignored")).toBeNull();
    expect(fake.requests[0]?.body).toMatchObject({ reasoning: { effort: "xhigh", summary: "auto" } });
    const other = await asked("claude-opus-4-6", "xhigh");
    expect(other.headers.get("x-hull-ignored")).toBe("reasoning");
    expect(fake.requests[1]?.body).toMatchObject({ output_config: { effort: "high" } });
    const known = await asked("claude-opus-4-6", "high");
    expect(known.headers.get("x-hull-ignored")).toBeNull();
  });

  test("with a call without the thinking that the client left out continues without thinking", async () => {
    fake.script([{ text: "29." }, { text: "29." }]);
    const input: OpenAI.Responses.ResponseInput = [
      { role: "user", content: "How warm is Rome?" },
      { type: "function_call", call_id: "c1", name: "weather", arguments: "{}" },
      { type: "function_call_output", call_id: "c1", output: "29" },
    ];
    const body = { model: "claude-opus-4-6", reasoning: { effort: "high" as const } };
    await client.responses.create({ ...body, input });
    await client.responses.create({ ...body, input: input.slice(0, 1) });
    const thinking = fake.requests.map((request) => request.body.thinking);
    expect(thinking).toEqual([undefined, { type: "adaptive" }]);
  });

  test.each([
    [GPT, true],
    [GPT, false],
    ["skill/reports", true],
    ["skill/reports", false],
  ])("of %s has its warnings, whole, streamed and read later: stored %s", async (model, store) => {
    fake.script(Array(2).fill({ text: "Half", stop: "length" }));
    const key = { headers: { "idempotency-key": `warned-${model}-${store}` } };
    const body = { model, input: "Count.", store };
    const asked = () => client.responses.create(body, key).withResponse();
    const { data, response } = await asked();
    for (const answer of [data, await client.responses.stream(body).finalResponse()])
      expect(answer).toMatchObject({ status: "incomplete", warnings: [{ code: "answer_cut" }] });
    const all = [response, (await asked()).response];
    if (store) all.push((await client.responses.retrieve(data.id).withResponse()).response);
    expect(all.map(({ headers }) => headers.get("x-hull-warnings"))).toEqual(all.map(() => "answer_cut"));
  });

  test("with an Idempotency-Key is answered once", async () => {
    fake.script([{ text: "One." }, { text: "Two." }]);
    const body = { model: GPT, input: "Count.", tools: [SHELL] };
    const key = { headers: { "idempotency-key": "count" } };
    const [first, second] = [
      await seven.responses.create(body, key),
      await seven.responses.create(body, key),
    ];
    expect(second).toEqual(first);
    expect(fake.requests).toHaveLength(1);
    const other = seven.responses.create({ ...body, input: "Count on." }, key);
    await expect(other).rejects.toMatchObject({ code: "idempotency_key_reused" });
    await expect(client.responses.cancel(first.id)).rejects.toMatchObject({ status: 400 });
  });
});

describe("the shell", () => {
  test("runs commands in a container; its files are cited, and can be read and reused", async () => {
    fake.script([
      {
        text: "Let me see.",
        ...shell("echo one; echo why >&2", 'echo a,b > "$OUTPUT_DIR/out.csv"; exit 3'),
      },
      { text: "There it is." },
    ]);
    const events = seven.responses.stream({ model: GPT, input: "Do it.", tools: [SHELL] });
    const names = new Set<string>();
    const deltas: object[] = [];
    for await (const event of events) {
      names.add(event.type);
      if (event.type === "response.shell_call_output_content.delta") deltas.push(event.delta);
    }
    const answer = await events.finalResponse();
    expect(kinds(answer)).toEqual(["message", "shell_call", "shell_call_output", "message"]);
    const [, call, output, message] = answer.output;
    expect(call).toMatchObject({
      call_id: "c1",
      action: { commands: ["echo one; echo why >&2", expect.any(String)] },
    });
    expect(output).toMatchObject({
      output: [
        { stdout: "one", stderr: "why", outcome: { type: "exit", exit_code: 0 } },
        { outcome: { type: "exit", exit_code: 3 } },
      ],
    });
    expect(deltas).toEqual([{ stdout: "one" }, { stderr: "why" }]);
    for (const name of [
      "response.shell_call_command.done",
      "response.shell_call_output_content.done",
      "response.output_text.annotation.added",
    ])
      expect(names).toContain(name);
    const { container_id, file_id, filename } = citationOf(message);
    expect(filename).toBe("out.csv");
    expect(await (await client.containers.files.content.retrieve(file_id, { container_id })).text()).toBe(
      "a,b\n",
    );
    fake.script([shell("cat output/out.csv"), { text: "Still." }]);
    const tools = [
      { type: "shell" as const, environment: { type: "container_reference" as const, container_id } },
    ];
    const next = await seven.responses.create({
      model: GPT,
      previous_response_id: answer.id,
      input: "Again.",
      tools,
    });
    expect(JSON.stringify(next.output)).toContain("a,b");
    // Nothing new was left, and the calls before are in the conversation.
    expect(JSON.stringify(next.output)).not.toContain("container_file_citation");
    expect(sent(2)).toContain("echo one");
  });

  test("finds the skills of its container: stored ones in the version that is asked for, and inline ones", async () => {
    const skill = (n: number): string => `---\nname: sums\ndescription: Knows sums.\n---\nVersion ${n}.\n`;
    const upload = async (n: number) => [await toFile(Buffer.from(skill(n)), "sums/SKILL.md")];
    const { id } = await seven.skills.create({ files: await upload(1) });
    await seven.skills.versions.create(id, { files: await upload(2) });
    const inline = await makeZip([
      { name: "wits/SKILL.md", content: "---\nname: wits\ndescription: Has wits.\n---\nBe wise.\n" },
    ]);
    const bundle = {
      type: "inline" as const,
      name: "wits",
      description: "Has wits.",
      source: {
        type: "base64" as const,
        media_type: "application/zip" as const,
        data: Buffer.from(inline).toString("base64"),
      },
    };
    const read = (request: { body: unknown }) => {
      const paths = JSON.stringify(request.body).match(/\/[^ ()"\\]*SKILL\.md/g) ?? [];
      return shell(`cat ${paths.join(" ")}; cat ${dirname(paths[0] ?? "")}/../../GRAIN.md`);
    };
    const found = async (...skills: unknown[]) => {
      fake.script([read, { text: "Read." }]);
      const environment = { type: "container_auto" as const, skills };
      const tools = [{ type: "shell" as const, environment }] as OpenAI7.Responses.Tool[];
      return JSON.stringify((await seven.responses.create({ model: GPT, input: "Read.", tools })).output);
    };
    const reference = { type: "skill_reference" as const, skill_id: id };
    expect(await found(reference)).toContain("Version 1.");
    expect(await found({ ...reference, version: "2" })).toContain("Version 2.");
    expect(await found({ ...reference, version: 2 })).toContain("Version 2.");
    const latest = await found({ ...reference, version: "latest" }, bundle);
    expect(latest).toContain("Version 2.");
    expect(latest).toContain("Be wise.");
    expect(await found({ ...reference, skill_id: "grind" })).toContain("Rye.");
    const evil = await makeZip([{ name: "../SKILL.md", content: skill(1) }]);
    const source = { ...bundle.source, data: Buffer.from(evil).toString("base64") };
    await expect(found({ ...bundle, source })).rejects.toMatchObject({ status: 400 });
  });

  test("stays the client's if it is local", async () => {
    fake.script([shell("ls"), { text: "Two files." }]);
    const environment = {
      type: "local" as const,
      skills: [{ name: "s", description: "Sorts.", path: "/s" }],
    };
    const tools = [{ type: "shell" as const, environment }];
    const first = await seven.responses.create({ model: GPT, input: "Look.", tools });
    expect(sent()).toContain("Sorts. (/s)");
    expect(first.output).toMatchObject([
      { type: "shell_call", action: { commands: ["ls"] }, environment: { type: "local" } },
    ]);
    const result = { stdout: "a b", stderr: "", outcome: { type: "exit" as const, exit_code: 0 } };
    const second = await seven.responses.create({
      model: GPT,
      previous_response_id: first.id,
      input: [{ type: "shell_call_output", call_id: "c1", output: [result] }],
      tools,
    });
    expect(second.output_text).toBe("Two files.");
    expect(sent(1)).toContain("a b");
  });
});

test("a streamed message of a model of this protocol ends with its text, and its calls keep their reasoning", async () => {
  const anthropic = new Anthropic({ apiKey: KEYS.red, baseURL: hull.url, maxRetries: 0 });
  const tools = [{ name: "look", input_schema: { type: "object" as const } }];
  const call = { id: "c1", name: "look", arguments: {} };
  fake.script([
    { text: "I look.", reasoning: "hm", tool_calls: [call] },
    { text: "Seen.", reasoning: "so" },
  ]);
  const asked = { role: "user" as const, content: "Look." };
  const ask = { model: "plain", max_tokens: 100, tools };
  const { content } = await anthropic.messages.stream({ ...ask, messages: [asked] }).finalMessage();
  const result = { type: "tool_result" as const, tool_use_id: "c1", content: "a cat" };
  const messages = [
    asked,
    { role: "assistant" as const, content },
    { role: "user" as const, content: [result] },
  ];
  const last = await anthropic.messages.stream({ ...ask, messages }).finalMessage();
  expect(last.content.map(({ type }) => type)).toEqual(["thinking", "text"]);
  expect(sent(1)).toContain("enc:hm");
});

test("containers have files of their own", async () => {
  const made = await seven.containers.create({
    name: "box",
    expires_after: { anchor: "last_active_at", minutes: 20 },
  });
  expect(made).toMatchObject({
    object: "container",
    name: "box",
    status: "running",
    expires_after: { minutes: 20 },
  });
  expect((await client.containers.list({ limit: 1 })).data[0]?.id).toBe(made.id);
  const other = await seven.containers.create({ name: "Box" });
  const named = async (name: string) => (await client.containers.list({ name, limit: 1 })).data;
  expect((await named("box")).map(({ id }) => id)).toEqual([made.id]);
  expect((await named("")).map(({ name }) => name)).toEqual([""]);
  expect(await named("bo")).toEqual([]);
  await client.containers.delete(other.id);
  const file = await client.containers.files.create(made.id, {
    file: await toFile(Buffer.from("hello"), "in.txt"),
  });
  expect(file).toMatchObject({ object: "container.file", bytes: 5, path: "input/in.txt", source: "user" });
  expect((await client.containers.files.list(made.id)).data.map(({ id }) => id)).toEqual([file.id]);
  const container_id = made.id;
  expect(await client.containers.files.retrieve(file.id, { container_id })).toEqual(file);
  fake.script([shell("cat $INPUT_DIR/in.txt"), { text: "Read." }]);
  const tools = [
    { type: "shell" as const, environment: { type: "container_reference" as const, container_id } },
  ];
  const answer = await seven.responses.create({ model: GPT, input: "Read.", tools });
  expect(JSON.stringify(answer.output)).toContain("hello");
  // Neither the kernel nor this runner's cgroups say so: each process has its limit.
  await client.containers.files.delete(file.id, { container_id });
  await expect(client.containers.files.retrieve(file.id, { container_id })).rejects.toThrow("404");
  await client.containers.delete(made.id);
  await expect(client.containers.retrieve(made.id)).rejects.toBeInstanceOf(OpenAI.NotFoundError);
});

test("attack: another tenant's responses, conversations and containers do not exist", async () => {
  fake.script([{ text: "Done." }]);
  const { id, output } = await client.responses.create({ model: GPT, input: "Work." });
  const said = { type: "message" as const, role: "user" as const, content: "Mine." };
  const conversation = await client.conversations.create({ items: [said] });
  const { id: container_id } = await client.containers.create({ name: "box" });
  const file = await client.containers.files.create(container_id, {
    file: await toFile(Buffer.from("mine"), "in.txt"),
  });
  const tools = [{ type: "shell", environment: { type: "container_reference", container_id } }];
  const asked = { model: GPT, input: "Whose?" };
  for (const refused of [
    () => stranger.responses.retrieve(id),
    () => stranger.responses.cancel(id),
    () => stranger.responses.delete(id),
    () => stranger.responses.inputItems.list(id),
    () => stranger.responses.create({ ...asked, previous_response_id: id }),
    () => stranger.responses.create({ ...asked, conversation: conversation.id }),
    () => stranger.responses.create({ ...asked, tools: tools as OpenAI.Responses.Tool[] }),
    () => stranger.conversations.retrieve(conversation.id),
    () => stranger.conversations.items.list(conversation.id),
    () => stranger.conversations.items.create(conversation.id, { items: [said] }),
    () => stranger.conversations.delete(conversation.id),
    () => stranger.containers.retrieve(container_id),
    () => stranger.containers.files.list(container_id),
    () => stranger.containers.files.content.retrieve(file.id, { container_id }),
    () => stranger.containers.delete(container_id),
  ])
    await expect(refused()).rejects.toBeInstanceOf(OpenAI.NotFoundError);
  expect((await stranger.containers.list()).data).toEqual([]);
  const reference = { type: "item_reference" as const, id: String(output[0]?.id) };
  const unknown = stranger.responses.create({ model: GPT, input: [reference] });
  await expect(unknown).rejects.toMatchObject({ status: 400, param: "input.0.id" });
  expect((await client.responses.retrieve(id)).status).toBe("completed");
  expect(fake.requests).toHaveLength(1);
  // Items that name the container give no access to it.
  const named = { type: "container_reference", container_id };
  const ran = { type: "shell_call", call_id: "c0", action: { commands: [] }, environment: named };
  const answered = { type: "shell_call_output", call_id: "c0", output: [] };
  fake.script([BASH("ls -R"), { text: "Nothing." }]);
  const input = [said, ran, answered, said] as OpenAI.Responses.ResponseInput;
  const own = await stranger.responses.create({ model: "skill/reports", input });
  expect(JSON.stringify(own.output)).not.toContain(container_id);
  expect(JSON.stringify(own.output)).not.toContain("in.txt");
});

test("a skill's files survive the death of the Worker, and the next response has them", async () => {
  fake.script([
    BASH("mkdir out; echo once >> out/log.txt"),
    { text: ["Half ", "way"], hang: true },
    { text: "There it is." },
  ]);
  const model = "skill/reports";
  const before = (await client.containers.list({ limit: 100 })).data.length;
  const { id } = await client.responses.create({ model, input: "Work.", background: true });
  await until(
    async () => fake.requests.length,
    (count) => count === 2,
  );
  await killWorker(hull);
  const answer = await ended(id);
  expect(answer.output_text).toBe("There it is.");
  const { container_id, file_id, filename } = citationOf(answer.output.at(-1));
  expect(filename).toBe("log.txt");
  expect(await (await client.containers.files.content.retrieve(file_id, { container_id })).text()).toBe(
    "once\n",
  );
  fake.script([BASH("cat out/log.txt"), { text: "Read." }]);
  const next = await client.responses.create({ model, previous_response_id: id, input: "Read." });
  expect(JSON.stringify(next.output)).toContain("once");
  // A container whose Worker died before it was listed is listed by its alarm.
  const listed = async () => (await client.containers.list({ limit: 100 })).data.length;
  await until(listed, (count) => count > before);
  expect(await listed()).toBe(before + 1);
});

function citationOf(
  item: OpenAI7.Responses.ResponseOutputItem | OpenAI.Responses.ResponseOutputItem | undefined,
) {
  const [part] = item?.type === "message" ? item.content : [];
  const [citation] = part?.type === "output_text" ? part.annotations : [];
  if (citation?.type !== "container_file_citation") throw new Error("nothing is cited");
  return citation;
}
