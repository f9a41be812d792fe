/** Skills with tools for files as models of `/v1`, by the vendors' own SDKs: containers, what they hold, what becomes of them. */
import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { FakeRunner, RUNNER_URL } from "./fake-runner.ts";
import { withFaults } from "./faulty-storage.ts";
import { bindings } from "./file-bindings.ts";
import { Client, mockSkill } from "./served.ts";

// The objects of stored responses have these settings too.
Object.assign(bindings, {
  HULL_ENV: "local",
  HULL_LLM: '{"llm":{"mock_routes":true}}',
  HULL_RUNNER_URL: RUNNER_URL,
  HULL_RUNNER_SECRET: "s".repeat(32),
});
const open = new Client({});
const reached = {
  apiKey: "any",
  maxRetries: 0,
  fetch: (input: RequestInfo | URL, init?: RequestInit) => open.fetch(String(input), init),
};
const openai = new OpenAI({ ...reached, baseURL: "http://localhost:3000/v1" });
const anthropic = new Anthropic({ ...reached, baseURL: "http://localhost:3000" });

const model = "skill/writer";
const WEATHER = {
  type: "function" as const,
  name: "weather",
  description: "Tells the weather.",
  parameters: { type: "object", properties: { city: { type: "string" } } },
  strict: false,
};

beforeAll(async () => {
  await open.publish({
    writer: mockSkill("writer", "allowed-tools: Bash Write\n"),
    plain: mockSkill("plain"),
  });
});

async function script(...mocks: object[]): Promise<void> {
  await open.fetch("/llm/mocks", { method: "DELETE" });
  for (const mock of mocks) expect((await open.post("/llm/mocks", mock)).ok).toBe(true);
}
const write = (file_path: string, content: string) => ({
  text: "Wait.",
  tool_calls: [{ name: "Write", arguments: { file_path, content } }],
});
const containers = async (): Promise<number> => (await openai.containers.list({ limit: 100 })).data.length;

type Output = readonly OpenAI.Responses.ResponseOutputItem[];
/** What each text of a response cites: its files, by the text. */
function cited(output: Output) {
  return output
    .flatMap((item) => (item.type === "message" ? item.content : []))
    .flatMap((part) =>
      part.type === "output_text"
        ? part.annotations.map((one) => {
            if (one.type !== "container_file_citation") throw new TypeError(one.type);
            return { text: part.text, file: one.filename, container: one.container_id, id: one.file_id };
          })
        : [],
    );
}
/** The bytes of what a response cites, by name. */
async function contents(output: Output): Promise<Record<string, string>> {
  const all = cited(output).map(async ({ file, container: container_id, id }) => {
    const bytes = await openai.containers.files.content.retrieve(id, { container_id });
    return [file, await bytes.text()] as const;
  });
  return Object.fromEntries(await Promise.all(all));
}
const places = (output: Output): unknown[] =>
  output.flatMap((item) => (item.type === "shell_call" ? [item.environment] : []));

describe("a response of a skill with a work folder", () => {
  it.each([{ store: true }, { store: false }, { background: true }])(
    "cites the files that the skill made: %j",
    async (how) => {
      await script(write("deep/report.md", "# One"), write(".hidden", "x"), { text: "It is there." });
      const begun = await openai.responses.create({ model, input: "Report.", ...how });
      const answer = how.background === true ? await ended(begun.id) : begun;
      expect(cited(answer.output)).toMatchObject([{ text: "It is there.", file: "report.md" }]);
      expect(await contents(answer.output)).toEqual({ "report.md": "# One" });
      const container_id = cited(answer.output)[0]?.container;
      const place = { type: "container_reference", container_id };
      expect(places(answer.output)).toEqual([place, place]);
    },
  );

  it("streams its whole answer, and again later", async () => {
    await script(write("report.md", "# Two"), { text: "It is there." });
    const events: OpenAI.Responses.ResponseStreamEvent[] = [];
    for await (const event of await openai.responses.create({ model, input: "Report.", stream: true }))
      events.push(event);
    const added = events.filter(({ type }) => type === "response.output_text.annotation.added");
    expect(added).toMatchObject([{ annotation: { filename: "report.md" } }]);
    const last = events.at(-1);
    if (last?.type !== "response.completed") throw new TypeError("no end");
    expect(await contents(last.response.output)).toEqual({ "report.md": "# Two" });
    expect((await openai.responses.retrieve(last.response.id)).output).toEqual(last.response.output);
    const again: OpenAI.Responses.ResponseStreamEvent[] = [];
    for await (const event of await openai.responses.retrieve(last.response.id, { stream: true }))
      again.push(event);
    expect(again).toEqual(events);
  });

  it.each(["previous_response_id", "conversation", "input"] as const)(
    "continues with the files of the conversation that %s names",
    async (way) => {
      const conversation = (await openai.conversations.create()).id;
      await script(write("a.txt", "1"), { text: "One." }, write("b.txt", "2"), { text: "Two." });
      const input = [{ role: "user" as const, content: "One." }];
      const kept = { model, store: way !== "input", ...(way === "conversation" ? { conversation } : {}) };
      const first = await openai.responses.create({ ...kept, input });
      const before = await containers();
      const said = { role: "user" as const, content: "Two." };
      const second = await openai.responses.create({
        ...kept,
        ...(way === "previous_response_id" ? { previous_response_id: first.id } : {}),
        input:
          way === "input" ? [...input, ...(first.output as OpenAI.Responses.ResponseInput), said] : [said],
      });
      expect(await containers()).toBe(before);
      const [one] = cited(first.output);
      // A file from before is not new.
      expect(cited(second.output)).toMatchObject([{ file: "b.txt", container: one?.container }]);
      const files = await openai.containers.files.list(one?.container ?? "");
      expect(files.data.map(({ path }) => path).sort()).toEqual(["a.txt", "b.txt"]);
    },
  );

  it("cites the files too if it ends with a call of the client's", async () => {
    const call = { name: "weather", arguments: { city: "Rome" } };
    const both = { text: "", tool_calls: [...write("a.txt", "1").tool_calls, call] };
    await script(both, { text: "Warm." });
    const first = await openai.responses.create({ model, input: "Go.", tools: [WEATHER] });
    expect(first.output.map(({ type }) => type)).toEqual([
      "shell_call",
      "shell_call_output",
      "message",
      "function_call",
    ]);
    expect(await contents(first.output)).toEqual({ "a.txt": "1" });
    const called = first.output.at(-1);
    const call_id = called?.type === "function_call" ? called.call_id : "";
    const second = await openai.responses.create({
      model,
      previous_response_id: first.id,
      input: [{ type: "function_call_output", call_id, output: "29" }],
      tools: [WEATHER],
    });
    expect([second.output_text, cited(second.output)]).toEqual(["Warm.", []]);
  });

  it("with a shell has one container for both; a shell of the client's stays the client's", async () => {
    const before = await containers();
    const asked = async (environment: object): Promise<OpenAI.Responses.Response> => {
      await script(write("a.txt", "1"), { text: "Done." });
      const tools: OpenAI.Responses.Tool[] = JSON.parse(JSON.stringify([{ type: "shell", environment }]));
      return openai.responses.create({ model, input: "Go.", tools });
    };
    const hosted = await asked({ type: "container_auto" });
    const [{ container } = { container: "" }] = cited(hosted.output);
    const place = { type: "container_reference", container_id: container };
    expect([hosted.tools, await containers()]).toMatchObject([[{ environment: place }], before + 1]);
    const local = await asked({ type: "local" });
    expect(local.tools).toMatchObject([{ environment: { type: "local" } }]);
    expect(await contents(local.output)).toEqual({ "a.txt": "1" });
    expect(await containers()).toBe(before + 2);
  });

  it("continues in another container if its own was removed", async () => {
    await script(write("a.txt", "1"), { text: "One." }, write("b.txt", "2"), { text: "Two." });
    const first = await openai.responses.create({ model, input: "One." });
    await openai.containers.delete(cited(first.output)[0]?.container ?? "");
    const second = await openai.responses.create({ model, previous_response_id: first.id, input: "Two." });
    expect(await contents(second.output)).toEqual({ "b.txt": "2" });
  });

  it("has no container unless the skill needs one", async () => {
    const before = await containers();
    await script({ text: "Hi." });
    await openai.responses.create({ model: "skill/plain", input: "Hello?" });
    expect(await containers()).toBe(before);
  });
});

describe("requests that come at once with one key", () => {
  const asked = {
    model,
    input: "Go.",
    tools: [{ type: "shell" as const, environment: { type: "container_auto" as const } }],
  };
  it.each([false, true])("share one response and its one container, also streamed: %j", async (stream) => {
    const before = await containers();
    await script(write("a.txt", "1"), { text: "Done." });
    const key = { headers: { "idempotency-key": `at-once-${stream}` } };
    const output = async () => {
      if (!stream) return (await openai.responses.create(asked, key)).output;
      for await (const event of await openai.responses.create({ ...asked, stream }, key))
        if (event.type === "response.completed") return event.response.output;
      return expect.fail("no end");
    };
    const outputs = await Promise.all([output(), output(), output(), output()]);
    expect(new Set(outputs.map((one) => JSON.stringify(one))).size).toBe(1);
    expect(await contents(outputs[0] ?? [])).toEqual({ "a.txt": "1" });
    await expect.poll(containers).toBe(before + 1);
  });

  it("leave no container if they ask for something else", async () => {
    const before = await containers();
    await script({ text: "Done." });
    const key = { headers: { "idempotency-key": "in-dispute" } };
    const inputs = ["Go.", "Stay.", "Turn."];
    const ends = await Promise.allSettled(
      inputs.map((input) => openai.responses.create({ ...asked, input }, key)),
    );
    expect(ends.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected", "rejected"]);
    await expect.poll(containers).toBe(before + 1);
  });
});

it("a request with a missing file leaves no container", async () => {
  const before = await containers();
  const file_id = `file_01${"a".repeat(22)}`;
  const environment = { type: "container_auto" as const, file_ids: [file_id] };
  const tools = [{ type: "shell" as const, environment }];
  await expect(openai.responses.create({ model, input: "Go.", tools })).rejects.toThrow(/file/);
  const content = [{ type: "container_upload" as const, file_id }];
  const messages = [{ role: "user" as const, content }];
  const betas = ["files-api-2025-04-14"];
  await expect(anthropic.beta.messages.create({ model, max_tokens: 9, messages, betas })).rejects.toThrow(
    /file/,
  );
  expect(await containers()).toBe(before);
});

it("files of one name all arrive in a container, each once; one that has no place there is refused", async () => {
  const stored = async (name: string, content: string): Promise<string> => {
    const path = `/files?filename=${encodeURIComponent(name)}`;
    const answer = await open.fetch(path, { method: "POST", body: content });
    return (await answer.json<{ id: string }>()).id;
  };
  const ids = [
    await stored("data.csv", "1"),
    await stored("data.csv", "2"),
    await stored("data.csv", "two"),
    await stored("..", "3"),
    await stored("e\u0301.txt", "4"),
    await stored("data.csv", "2"),
    await stored("m.pyc", "5"),
  ];
  const { id } = await openai.containers.create({ name: "c", file_ids: ids });
  const inputs = async () =>
    (await openai.containers.files.list(id)).data.map(({ path, bytes }) => [path, bytes]).sort();
  const all = [
    ["input/_", 1],
    ["input/data-2.csv", 1],
    ["input/data-3.csv", 3],
    ["input/data.csv", 1],
    ["input/m.pyc_", 1],
    ["input/\u00e9.txt", 1],
  ];
  expect(await inputs()).toEqual(all);
  const send = (file_id: string) =>
    anthropic.beta.messages.create({
      model: "skill/plain",
      max_tokens: 9,
      container: id,
      messages: [{ role: "user", content: [{ type: "container_upload", file_id }] }],
    });
  await send(ids[1] ?? "");
  expect(await inputs()).toEqual(all);
  const long = `${"x".repeat(251)}.txt`;
  for (const content of ["5", "66"]) await send(await stored(long, content));
  expect(await inputs()).toEqual(
    expect.arrayContaining([
      [`input/${long}`, 1],
      [`input/${"x".repeat(249)}-2.txt`, 2],
    ]),
  );
  // A name that an earlier version of Hull took.
  const old = await stored("old", "7");
  const { objects } = await bindings.FILES.list();
  const { key = "" } = objects.find((object) => object.key.includes(old)) ?? {};
  const customMetadata = { ...(await bindings.FILES.head(key))?.customMetadata, filename: "a%C2%85b" };
  await bindings.FILES.put(key, "7", { customMetadata });
  await expect(send(old)).rejects.toThrow(/work folder/);
});

it("a file that tools have changed in a container stays changed when the client sends its block again", async () => {
  const answer = await open.fetch("/files?filename=data.csv", { method: "POST", body: "1" });
  const { id: file_id } = await answer.json<{ id: string }>();
  const { id } = await openai.containers.create({ name: "c" });
  const send = () =>
    anthropic.beta.messages.create({
      model,
      max_tokens: 9,
      container: id,
      messages: [{ role: "user", content: [{ type: "container_upload", file_id }] }],
    });
  await script(write("input/data.csv", "changed"), { text: "Done." }, { text: "Again." });
  await send();
  await send();
  const { data } = await openai.containers.files.list(id);
  expect(data.map(({ path, bytes }) => [path, bytes])).toEqual([["input/data.csv", 7]]);
});

const ended = async (id: string): Promise<OpenAI.Responses.Response> => {
  for (;;) {
    const answer = await openai.responses.retrieve(id);
    if (answer.status !== "queued" && answer.status !== "in_progress") return answer;
  }
};

describe("a container that is deleted while the skill works in it", () => {
  beforeEach(() => {
    const runner = new FakeRunner();
    vi.stubGlobal("fetch", async (...asked: Parameters<typeof fetch>) => {
      const [newest] = (await openai.containers.list({ limit: 1 })).data;
      await openai.containers.delete(newest?.id ?? "").catch(() => null);
      return runner.fetch(...asked);
    });
  });
  afterEach(() => {
    vi.unstubAllGlobals();
  });

  const messages = [{ role: "user" as const, content: "Go." }];
  const asked = { model: "skill/writer" };
  it.each<[string, () => Promise<unknown>]>([
    ["a message", () => anthropic.messages.create({ ...asked, max_tokens: 100, messages })],
    ["a streamed message", () => anthropic.messages.stream({ ...asked, max_tokens: 100, messages }).done()],
    ["a chat completion", () => openai.chat.completions.create({ ...asked, messages })],
    ["a response", () => openai.responses.create({ ...asked, input: "Go." })],
    [
      "a response that is not stored",
      () => openai.responses.create({ ...asked, input: "Go.", store: false }),
    ],
  ])("is named as missing: %s", async (_, ask) => {
    await script({ tool_calls: [{ name: "Bash", arguments: { command: "true" } }] }, { text: "Done." });
    await expect(ask()).rejects.toThrow(/There is no container \\?"container_01/);
  });
});

it("the skill has fifty rounds of tools, as at its own route", async () => {
  const writes = Array.from({ length: 12 }, (_, n) => write(`${n}.txt`, String(n)));
  await script(...writes, { text: "Done." });
  const messages = [{ role: "user" as const, content: "Go." }];
  const answer = await openai.chat.completions.create({ model, messages });
  expect(answer.choices[0]?.message.content).toMatch(/Done\.$/);
  expect(answer).not.toHaveProperty("max_iterations_reached");
});

it("messages and chat completions of the skill list the same files", async () => {
  const turns = [write("deep/report.md", "# One"), { text: "It is there." }];
  await script(...turns);
  const messages = [{ role: "user" as const, content: "Report." }];
  const message = await anthropic.messages.create({ model, max_tokens: 100, messages });
  await script(...turns);
  const chat = await openai.chat.completions.create({ model, messages });
  for (const answer of [message, chat]) {
    const file = { filename: "report.md", size_bytes: 5, file_id: expect.stringMatching(/^file_/) };
    expect(answer).toMatchObject({ generated_files: [file] });
  }
});

const FAULTS: Record<string, Parameters<typeof withFaults>[1]> = {
  "R2 does not answer": { binding: "FILES", method: "get" },
  "R2 breaks off": { binding: "FILES", method: "get", breaksOff: true },
  "D1 does not begin its row": { binding: "DB", method: "prepare", of: "INSERT INTO stored_files" },
  "D1 does not complete its row": {
    binding: "DB",
    method: "prepare",
    of: "UPDATE stored_files SET filename",
  },
};

it.each(Object.entries(FAULTS))("a file of an answer is listed although %s once", async (_, fault) => {
  await script(write("a.md", "# One"), { text: "It is there." });
  const messages = [{ role: "user" as const, content: "Report." }];
  const { answer, faults } = await withFaults(open.env, fault, 1, () =>
    anthropic.messages.create({ model, max_tokens: 100, messages }),
  );
  expect(faults).toBe(1);
  expect(answer).toMatchObject({ generated_files: [{ filename: "a.md", size_bytes: 5 }] });
  const files = Reflect.get(answer, "generated_files").map(({ file_id }: { file_id: string }) => file_id);
  const all = await openai.files.list({ limit: 100 });
  expect(all.data.filter(({ filename }) => filename === "a.md").map(({ id }) => id)).toEqual(files);
  const content = await (await openai.files.content(files[0])).text();
  expect(content).toBe("# One");
  await openai.files.delete(files[0]);
});

it("a file of an answer comes without its bytes if they cannot be read", async () => {
  await script(write("a.md", "# One"), { text: "It is there." });
  const messages = [{ role: "user" as const, content: "Report." }];
  const asked = { model, messages, container: { include_generated_files: true } };
  const reading = { binding: "FILES", method: "get", of: "/file_01" } as const;
  const { answer, faults } = await withFaults(open.env, reading, 2, () =>
    openai.chat.completions.create(asked),
  );
  const name = "a.md";
  expect([faults, answer]).toMatchObject([
    2,
    {
      generated_files: [{ filename: name, size_bytes: 5 }],
      _litellm_generated_files: [{ name, size: 5, content_base64: null }],
    },
  ]);
  for (const { file_id } of Reflect.get(answer, "generated_files")) await openai.files.delete(file_id);
});

describe("an answer without a file that cannot be stored is sent, and says so", () => {
  const asked = { model, max_tokens: 100, messages: [{ role: "user", content: "Report." }] };
  const code = "files_not_stored";
  const full = new Client({
    HULL_ENV: "local",
    HULL_LLM: '{"llm":{"mock_routes":true}}',
    HULL_CONFIG: JSON.stringify({ limits: { max_stored_bytes: 4 } }),
  });
  const missing: [string, RegExp, (path: string, body: object) => Promise<Response>][] = [
    ...Object.entries(FAULTS).map(([name, fault]): (typeof missing)[number] => [
      `${name} any more`,
      /storage did not answer.*: deep\/a\.md\./,
      async (path, body) => (await withFaults(open.env, fault, 100, () => open.post(path, body))).answer,
    ]),
    [
      "the tenant's storage is full",
      /storage is full.*: deep\/a\.md\./,
      (path, body) => full.post(path, body),
    ],
  ];

  it.each(missing)("although %s", async (_, message, post) => {
    const begun = () => script(write("deep/a.md", "# One"), { text: "It is there." });
    await begun();
    const chat = await post("/v1/chat/completions", {
      ...asked,
      container: { include_generated_files: true },
    });
    const completion = await chat.json<{ choices: { message: { content: string } }[] }>();
    expect([chat.status, completion.choices[0]?.message.content]).toEqual([200, "Wait.It is there."]);
    const warnings = [{ code, message: expect.stringMatching(message) }];
    expect(completion).toMatchObject({ generated_files: [], _litellm_generated_files: [], warnings });
    expect(chat.headers.get("x-hull-warnings")).toBe(code);
    await begun();
    const chunks = await (await post("/v1/chat/completions", { ...asked, stream: true })).text();
    const last = chunks.split("\n\n").filter((chunk) => chunk.includes('"generated_files"'));
    expect(last.map((chunk) => JSON.parse(chunk.slice("data: ".length)))).toMatchObject([
      { choices: [{ finish_reason: "stop" }], generated_files: [], warnings },
    ]);
    await begun();
    const said = await post("/v1/messages", asked);
    const { content } = await said.json<{ content: { text?: string; content?: object }[] }>();
    expect([said.status, content.at(-1)?.text]).toEqual([200, "It is there."]);
    expect(said.headers.get("x-hull-warnings")).toBe(code);
    const result = content.find((block) => block.content !== undefined)?.content;
    expect(result).toMatchObject({ content: [], stdout: expect.stringMatching(message) });
    const { data } = await openai.files.list({ limit: 100 });
    expect(data.map(({ filename }) => filename)).not.toContain("a.md");
  });
});
