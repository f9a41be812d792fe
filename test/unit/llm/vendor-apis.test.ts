/** Which parts of a conversation survive the shapes of the vendors' APIs. */
import { describe, expect, it } from "vitest";
import type * as z from "zod/mini";
import {
  containerBody,
  containerFileBody,
  conversationBody,
  newItemsBody,
} from "../../../src/api/bodies/v1.ts";
import type { Block, Message } from "../../../src/engine/messages.ts";
import { messageOf } from "../../../src/llm/anthropic-api/answer.ts";
import { readConversation } from "../../../src/llm/anthropic-api/conversation.ts";
import { readMessagesRequest } from "../../../src/llm/anthropic-api/request.ts";
import { readShape } from "../../../src/llm/members.ts";
import { completionOf } from "../../../src/llm/openai-api/answer.ts";
import { responseTool } from "../../../src/llm/openai-api/client-tools.ts";
import { readChat } from "../../../src/llm/openai-api/conversation.ts";
import { readChatRequest } from "../../../src/llm/openai-api/request.ts";
import { readItems } from "../../../src/llm/openai-api/response-items.ts";
import { readResponses, responseBody } from "../../../src/llm/openai-api/response-request.ts";
import type { Json, JsonObject } from "../../../src/skill/manifest.ts";

const BLOCKS: Block[] = [
  { type: "reasoning", text: "hm", native: { provider: "openrouter", value: [{ type: "x" }] } },
  { type: "reasoning_summary", text: "so", native: { provider: "openai", value: { id: "rs_1" } } },
  { type: "output_text", text: "Well." },
  { type: "tool_call", id: "c1", name: "weather", arguments: { city: "Rome" }, raw: '{"city":"Rome"}' },
  { type: "opaque", provider: "google", value: { call_id: "c1", extra_content: { signature: "s" } } },
];
const TURN = {
  blocks: BLOCKS,
  stop_reason: "tool_use" as const,
  raw_stop_reason: null,
  usage: { input_tokens: 1, output_tokens: 1, cache_read_tokens: 0, cache_write_tokens: 0 },
  provider: "openrouter",
  model: "m",
};
const plain = (value: unknown): Json => JSON.parse(JSON.stringify(value));
const objectOf = (value: unknown): JsonObject => JSON.parse(JSON.stringify(value));

it.each([
  [["a"], true],
  [[], false],
])("the schema of a message is strict if OpenAI takes it so: required are %j", (required, strict) => {
  const schema = {
    type: "object",
    properties: { a: { type: "string" } },
    required,
    additionalProperties: false,
  };
  const messages = [{ role: "user", content: "x" }];
  const body = {
    model: "m",
    max_tokens: 9,
    messages,
    output_config: { format: { type: "json_schema", schema } },
  };
  expect(readMessagesRequest(objectOf(body), new Headers()).request.schema).toEqual({ schema, strict });
});

describe("content that a provider needs back", () => {
  it("comes back through Anthropic's messages, in its place", () => {
    const { content } = messageOf(TURN, false);
    const { messages } = readConversation([
      { role: "user", content: "Hi." },
      { role: "assistant", content: plain(content) },
    ]);
    expect(messages[1]).toEqual({ role: "assistant", content: BLOCKS });
  });

  it("does not follow the last text of a turn without calls, which some clients take for the answer", () => {
    const blocks: Block[] = [
      ...BLOCKS.slice(0, 3),
      { type: "opaque", provider: "openai", value: { phase: "final_answer" } },
    ];
    const { content } = messageOf({ ...TURN, blocks, stop_reason: "end_turn" }, false);
    expect(content).toMatchObject([
      { type: "thinking" },
      { type: "thinking" },
      { type: "text", text: "Well." },
    ]);
    const alone = messageOf({ ...TURN, blocks: blocks.slice(3), stop_reason: "end_turn" }, false);
    expect(alone.content).toMatchObject([{ type: "redacted_thinking" }]);
  });

  it("comes back through chat completions", () => {
    const [choice] = completionOf(TURN, false, 0).choices;
    const { messages } = readChat([plain(choice?.message)]);
    const [said] = messages;
    const blocks = said?.role === "assistant" ? said.content : [];
    for (const block of BLOCKS) expect(blocks).toContainEqual(block);
    expect(blocks).toHaveLength(BLOCKS.length);
  });

  it("of a refused chat completion comes back as text", () => {
    const said = { role: "assistant", content: null, refusal: "I will not." };
    const { messages } = readChat([{ role: "user", content: "Do." }, said]);
    expect(messages[1]).toEqual({
      role: "assistant",
      content: [{ type: "output_text", text: "I will not." }],
    });
  });

  it("does not reach Anthropic, which refuses the thinking of others", () => {
    const { content } = messageOf(TURN, false);
    const own = { type: "thinking", thinking: "mine", signature: "real" };
    const assistant = { role: "assistant", content: [own, ...[plain(content)].flat()] };
    const body = { model: "m", max_tokens: 5, messages: [{ role: "user", content: "Hi." }, assistant] };
    const { request } = readMessagesRequest(objectOf(body), new Headers());
    const sent = JSON.stringify(request.verbatim?.body);
    expect(sent).toContain('"signature":"real"');
    expect(sent).not.toContain("hull.");
  });
});

it.each(["s1", "srvtoolu_hull_s1"])("calls that Hull carried out are turns of their own: %s", (id) => {
  const result = { type: "bash_code_execution_result", stdout: "7", stderr: "", return_code: 1, content: [] };
  const { messages } = readConversation([
    {
      role: "assistant",
      content: [
        { type: "text", text: "Look." },
        { type: "server_tool_use", id, name: "bash_code_execution", input: { command: "ls" } },
        { type: "bash_code_execution_tool_result", tool_use_id: id, content: result },
        { type: "tool_use", id: "t1", name: "weather", input: {} },
      ],
    },
    { role: "user", content: [{ type: "tool_result", tool_use_id: "t1", content: "29" }] },
  ]);
  const results = messages.flatMap((message: Message) => (message.role === "tool" ? message.results : []));
  expect(messages.map(({ role }) => role)).toEqual(["assistant", "tool", "assistant", "tool"]);
  expect(results).toEqual([
    { call_id: "s1", name: "bash_code_execution", content: "7\nexit code 1", is_error: true },
    { call_id: "t1", name: "weather", content: "29", is_error: false },
  ]);
});

it("images of function results follow in a user message", () => {
  const call = (call_id: string) => ({ type: "function_call", call_id, name: "look", arguments: "{}" });
  const image = { type: "input_image", image_url: "data:image/png;base64,AA==" };
  const seen = (call_id: string) => ({
    type: "function_call_output",
    call_id,
    output: [{ type: "input_text", text: `saw ${call_id}` }, image],
  });
  const asked = { type: "message", role: "user", content: "And?" };
  const { messages } = readItems([call("a"), call("b"), seen("a"), seen("b"), asked], String);
  expect(messages.map(({ role }) => role)).toEqual(["assistant", "tool", "user", "user"]);
  expect(messages[1]).toMatchObject({ results: [{ content: "saw a" }, { content: "saw b" }] });
  expect(messages[2]).toMatchObject({ content: [{ type: "image" }, { type: "image" }] });
});

it("results of functions follow their calls, whatever comes between, each once", () => {
  const call = (call_id: string) => ({ type: "function_call", call_id, name: "look", arguments: "{}" });
  const result = (call_id: string, output: string) => ({ type: "function_call_output", call_id, output });
  const asked = { type: "message", role: "user", content: "Look." };
  // The AI SDK sends its whole input again for each step of a conversation that the server stores.
  const items = [asked, call("a"), asked, result("a", "cat"), call("b"), asked, result("a", "cat")];
  const { messages } = readItems([...items, result("b", "dog"), result("b", "hen"), asked], String);
  const shown = messages.map((message) => (message.role === "tool" ? message.results : message.role));
  expect(shown).toMatchObject([
    "user",
    "assistant",
    [{ call_id: "a", content: "cat" }],
    "user",
    "assistant",
    [{ call_id: "b", content: "dog\n\nhen" }],
    "user",
    "user",
  ]);
});

it("the free text of a custom tool's call is its input", () => {
  const call = { type: "custom_tool_call", call_id: "c", name: "run", input: "print(1)" };
  const { messages } = readItems([call], String);
  const args = { input: "print(1)" };
  expect(messages).toEqual([
    {
      role: "assistant",
      content: [{ type: "tool_call", id: "c", name: "run", arguments: args, raw: JSON.stringify(args) }],
    },
  ]);
});

it.each([
  [{ type: "container_reference", container_id: "c" }, "[hull: no output]"],
  [{ type: "local" }, ""],
])("only commands that Hull ran say that they have no output: %j", (environment, content) => {
  const call = { type: "shell_call", call_id: "c", action: { commands: ["true"] }, environment };
  const outcome = { type: "exit", exit_code: 0 };
  const result = {
    type: "shell_call_output",
    call_id: "c",
    output: [{ stdout: "", stderr: "", outcome }],
  };
  const { messages } = readItems([call, result], String);
  expect(messages[1]).toMatchObject({ results: [{ call_id: "c", name: "shell", content }] });
});

it("a data URL may have parameters", () => {
  const file_data = "data:text/plain;charset=utf-8;base64,aGk=";
  const { messages } = readChat([{ role: "user", content: [{ type: "file", file: { file_data } }] }]);
  expect(messages[0]).toMatchObject({
    content: [{ type: "document", media_type: "text/plain", data: "aGk=" }],
  });
  const [upper] = readChat([
    { role: "user", content: [{ type: "file", file: { file_data: "data:Application/PDF;base64,aGk=" } }] },
  ]).messages;
  expect(upper).toMatchObject({ content: [{ media_type: "application/pdf" }] });
});

it("a tool that the client's own search has found is named in its result", () => {
  const call = { type: "tool_use", id: "t", name: "ToolSearch", input: {} };
  const content = [{ type: "tool_reference", tool_name: "Cron" }];
  const { messages, foreign } = readConversation([
    { role: "user", content: "Search." },
    { role: "assistant", content: [call] },
    { role: "user", content: [{ type: "tool_result", tool_use_id: "t", content }] },
  ]);
  expect(foreign).toEqual([]);
  expect(messages[2]).toMatchObject({ results: [{ content: "You can call the tool Cron now." }] });
});

it("tools that system messages add and remove count for every vendor", () => {
  const tool = (name: string) => ({ name, input_schema: { type: "object" } });
  const change = (type: string, tool: object) => ({ type, tool });
  const named = (name: string) => ({ type: "tool_reference", name });
  const defined = (definition: object) => ({ type: "tool_definition", definition });
  const ask = (...content: object[]) => {
    const messages = [{ role: "user", content: "Go." }, { role: "system", content }, { role: "system" }];
    const tools = [tool("kept"), tool("gone"), tool("back")];
    const body = objectOf({ model: "m", max_tokens: 5, messages, tools });
    return { body, ...readMessagesRequest(body, new Headers()) };
  };
  const asked = ask(
    { type: "text", text: "Changed." },
    change("tool_removal", named("gone")),
    change("tool_removal", named("back")),
    change("tool_addition", named("back")),
    change("tool_addition", defined(tool("added"))),
  );
  expect(asked.request.tools.map(({ name }) => name)).toEqual(["kept", "back", "added"]);
  expect([asked.foreign, asked.request.system]).toEqual([[], "Changed."]);
  // Anthropic gets them unchanged.
  expect(asked.request.verbatim?.body).toEqual(asked.body);
  const search = { type: "web_search_20250305", name: "web_search" };
  expect(ask(change("tool_addition", defined(search))).unaccounted).toMatchObject([
    { path: "messages.1.content.0.tool.definition" },
  ]);
  expect(ask(change("tool_addition", { type: "mcp_toolset_reference" })).foreign).toEqual([
    { path: "messages.1.content.0", type: "tool_addition" },
  ]);
});

it.each([true, false])("a chat completion takes store: %s, for providers of its protocol", (store) => {
  const body = { model: "m", messages: [{ role: "user", content: "x" }] };
  expect(readChatRequest({ ...body, store }).extra).toEqual({ store });
});

it("an item without a type, or with the type null, is a message", () => {
  const asked = { role: "user", content: "And?" };
  const { messages } = readItems([asked, { ...asked, type: null }], String);
  expect(messages.map(({ role }) => role)).toEqual(["user", "user"]);
});

it.each([
  [{ max_tokens: 5 }, "model"],
  [{ model: "m", messages: [{ role: "user", content: "Hi." }] }, "max_tokens"],
  [
    { model: "m", max_tokens: 5, messages: [{ role: "user", content: [{ text: "x" }] }] },
    "messages.0.content.0",
  ],
  [{ model: "m", max_tokens: 5, messages: "x" }, "messages"],
  [{ model: "m", max_tokens: 5, messages: [{ role: "user", content: "x" }], stream: "true" }, "stream"],
])("an invalid request is refused with the path of the fault: %j", (body, path) => {
  expect(() => readMessagesRequest(body, new Headers())).toThrow(
    new RegExp(`^${path.replaceAll(".", "\\.")}: `),
  );
});

it.each([
  [{ max_tokens: -1 }, "max_tokens"],
  [{ max_tokens: 5, max_completion_tokens: 0 }, "max_completion_tokens"],
  [{ stream: "true" }, "stream"],
  [{ Store: true }, "Store"],
  [{ service_tier: "priority" }, "service_tier"],
])("a member of a chat completion is refused under the name that the client used: %j", (member, name) => {
  const body = { model: "m", messages: [{ role: "user", content: "x" }], ...member };
  expect(() => readChatRequest(body)).toThrow(new RegExp(`^${name}: `));
});

it.each<[JsonObject, string]>([
  [{ prompt: { id: "p" } }, "prompt: prompts are not stored here; send instructions and input"],
  [
    { context_management: [{ type: "compaction", compact_threshold: 9000 }] },
    "context_management: a response compacts nothing; send the conversation to POST /v1/responses/compact",
  ],
])("what Hull cannot do for a response is refused with an alternative: %j", (member, words) => {
  expect(() => readResponses({ model: "m", ...member })).toThrow(words);
});

it.each<[z.ZodMiniType, Json, string]>([
  [containerBody, {}, "name"],
  [containerBody, { name: "a", expires_after: { anchor: "now", minutes: 1 } }, "expires_after.anchor"],
  [
    containerBody,
    { name: "a", expires_after: { anchor: "last_active_at", minutes: 0.5 } },
    "expires_after.minutes",
  ],
  [containerBody, { name: "a", skills: [{ type: "moon" }] }, "skills.0.type"],
  [
    containerBody,
    { name: "a", network_policy: { type: "allowlist", allowed_domains: ["-"] } },
    "network_policy.allowed_domains.0",
  ],
  [containerFileBody, { file_id: null }, "file_id"],
  [conversationBody, { items: ["x"] }, "items.0"],
  [conversationBody, { metadata: { a: "x".repeat(513) } }, "metadata.a"],
  [newItemsBody, { items: [] }, "items"],
  [responseBody, { model: "m", conversation: { id: 3 } }, "conversation.id"],
  [responseBody, { model: "m", conversation: 3 }, "conversation"],
  [responseBody, { model: "m", text: { format: { type: "json_schema" } } }, "text.format"],
  [responseBody, { model: "m", stream: 1 }, "stream"],
  [responseBody, { model: "m", store: "false" }, "store"],
  [responseBody, { model: "m", background: "true" }, "background"],
  [responseTool, { type: "shell" }, "environment.type"],
])("the first fault of a body has its path and a message of its own", (shape, body, path) => {
  expect(() => readShape(shape, body)).toThrow(
    new RegExp(`^${path.replaceAll(".", "\\.")}: (?!Invalid input)`),
  );
});

it.each([
  [{ speed: "fast" }, "price"],
  [{ mcp_servers: [] }, "runs itself"],
  [{ tools: [{ type: "web_search_20250305" }] }, "runs itself"],
])("extra charges and runs of a provider are named, with the reason: %j", (more, why) => {
  const body = { model: "m", max_tokens: 5, messages: [{ role: "user", content: "x" }], ...more };
  const [name] = Object.keys(more);
  const { unaccounted } = readMessagesRequest(body, new Headers());
  expect(unaccounted.map(({ path }) => path.split(".")[0])).toEqual([name]);
  expect(unaccounted[0]?.reason).toContain(why);
});
