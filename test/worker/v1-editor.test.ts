/** The text editor of code execution, by Anthropic's own SDK. It needs no runner. */
import Anthropic from "@anthropic-ai/sdk";
import { expect, it } from "vitest";
import { Client } from "./served.ts";

const open = new Client({ HULL_ENV: "local", HULL_LLM: '{"llm":{"mock_routes":true}}' });
const client = new Anthropic({
  apiKey: "any",
  baseURL: "http://localhost:3000",
  maxRetries: 0,
  fetch: (input, init) => open.fetch(String(input), init),
});
const CODE = { type: "code_execution_20250825" as const, name: "code_execution" as const };
const ask = { max_tokens: 500, messages: [{ role: "user" as const, content: "Do it." }] };

async function script(mocks: object[]): Promise<void> {
  await open.fetch("/llm/mocks", { method: "DELETE" });
  for (const mock of mocks) expect((await open.post("/llm/mocks", mock)).ok).toBe(true);
}

it("the text editor of code execution changes files of the container; its results are typed, and go back unchanged", async () => {
  const edit = (args: Record<string, unknown>) => ({
    text: "",
    tool_calls: [{ name: "text_editor_code_execution", arguments: args }],
  });
  const path = "notes/a.txt";
  await script([
    edit({ command: "create", path, file_text: "one\ntwo\nthree\n" }),
    edit({ command: "str_replace", path, old_str: "two\n", new_str: "2\n2b\n" }),
    edit({ command: "view", path, view_range: [2, -1] }),
    edit({ command: "view", path: "notes/none.txt" }),
    edit({ command: "str_replace", path, old_str: "zero", new_str: "0" }),
    edit({ command: "create", path, file_text: 7 }),
    edit({ command: "view", path: "notes" }),
    { text: "Done." },
  ]);
  const body = { ...ask, model: "mock/mock", tools: [CODE] };
  const answer = await client.messages.create(body);
  const contents = answer.content.flatMap((block) =>
    block.type === "text_editor_code_execution_tool_result" ? [block.content] : [],
  );
  const failed = { type: "text_editor_code_execution_tool_result_error" };
  const viewed = { type: "text_editor_code_execution_view_result", file_type: "text" };
  expect(contents).toEqual([
    { type: "text_editor_code_execution_create_result", is_file_update: false },
    {
      type: "text_editor_code_execution_str_replace_result",
      lines: ["-two", "+2", "+2b"],
      old_start: 2,
      old_lines: 1,
      new_start: 2,
      new_lines: 2,
    },
    { ...viewed, content: "2\n2b\nthree", num_lines: 3, start_line: 2, total_lines: 4 },
    { ...failed, error_code: "file_not_found", error_message: "There is no file notes/none.txt." },
    { ...failed, error_code: "invalid_tool_input", error_message: expect.stringContaining("0 times") },
    { ...failed, error_code: "invalid_tool_input", error_message: expect.stringContaining("a string") },
    { ...viewed, content: "notes/a.txt", num_lines: 1, start_line: 1, total_lines: 1 },
  ]);
  expect(answer.usage.server_tool_use).toMatchObject({ code_execution_requests: 0 });
  await script([edit({ command: "view", path }), { text: "Bye." }]);
  const said = { role: "assistant" as const, content: answer.content as Anthropic.ContentBlockParam[] };
  const messages = [...ask.messages, said, { role: "user" as const, content: "And now?" }];
  const container = answer.container?.id ?? null;
  const second = await client.messages.create({ ...body, messages, container });
  expect(second.content[1]).toMatchObject({ content: { content: "one\n2\n2b\nthree" } });
});

it.each(["does not answer", "breaks off"])("a file is read again if R2 %s", async (fault) => {
  const edit = (args: object) => ({
    text: "",
    tool_calls: [{ name: "text_editor_code_execution", arguments: { path: "a.txt", ...args } }],
  });
  await script([edit({ command: "create", file_text: fault }), edit({ command: "view" }), { text: "Done." }]);
  const { FILES } = open.env;
  let faults = 0;
  const get = async (key: string) => {
    if (faults++ > 0) return FILES.get(key);
    const away = new TypeError("Network connection lost.");
    if (fault === "does not answer") throw away;
    return { arrayBuffer: () => Promise.reject(away) };
  };
  open.env.FILES = new Proxy(FILES, {
    get: (target, name) => (name === "get" ? get : Reflect.get(target, name).bind(target)),
  });
  const asked = client.messages.create({ ...ask, model: "mock/mock", tools: [CODE] });
  const { content } = await asked.finally(() => {
    open.env.FILES = FILES;
  });
  expect(faults).toBe(2);
  expect(JSON.stringify(content)).toContain(`"content":"${fault}"`);
});

it("files of one name that come at once into a container stay files of their own", async () => {
  await script(Array.from({ length: 4 }, () => ({ text: "Got it." })));
  const made = await open.post("/v1/containers", { name: "box" });
  const { id } = await made.json<{ id: string }>();
  const send = async (file_id: string) => {
    const content = [
      { type: "text" as const, text: "Look." },
      { type: "container_upload" as const, file_id },
    ];
    const asked = {
      ...ask,
      model: "mock/mock",
      tools: [CODE],
      messages: [{ role: "user" as const, content }],
    };
    return client.messages.create({ ...asked, container: id });
  };
  const texts = ["a,1", "b,2", "c,3", "d,4"];
  const stored = await Promise.all(
    texts.map(async (text) => {
      const file = await open.fetch("/files?filename=data.csv", { method: "POST", body: text });
      return (await file.json<{ id: string }>()).id;
    }),
  );
  await Promise.all(stored.map(send));
  const all = await open.fetch(`/v1/containers/${id}/files`);
  const { data } = await all.json<{ data: { id: string; path: string }[] }>();
  const contents = await Promise.all(
    data.map(async ({ id: file }) => (await open.fetch(`/v1/containers/${id}/files/${file}/content`)).text()),
  );
  expect(contents.sort()).toEqual(texts);
});
