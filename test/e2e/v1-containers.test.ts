/** Skills and code execution below `/v1`: the clients are the vendors' own SDKs, unmodified. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Anthropic, { toFile } from "@anthropic-ai/sdk";
import OpenAI from "openai";
import { describe, expect, onTestFinished, test } from "vitest";
import { commonHull } from "../support/common-hull.ts";
import { canMount } from "../support/namespaces.ts";
import { gone } from "../support/runner.ts";
import { sharedHull } from "../support/shared.ts";
import { storedSkill } from "../support/stored-skill.ts";

const { hull, fake } = await commonHull({
  "rhymes/SKILL.md":
    "---\nname: rhymes\ndescription: Answers in rhymes.\nprovider: openai\nmodel: gpt-4o\n---\nAnswer in rhymes, always.\n",
});

const ADMIN = "hull-admin-canary-0123456789";
const keyed = await sharedHull({
  args: ["--direct"],
  project: { "hull.toml": 'pass_through = ["anthropic"]\n[limits]\ncode_timeout_ms = 3000\nanswer_ms = 1\n' },
  env: {
    HULL_ADMIN_KEY: ADMIN,
    ANTHROPIC_API_KEY: "sk-ant-passed-key",
    ANTHROPIC_BASE_URL: fake.url,
    OPENAI_API_KEY: "sk-openai-e2e-key",
    OPENAI_BASE_URL: `${fake.url}/v1`,
  },
});

const mounts = canMount();
const client = new Anthropic({ apiKey: "any", baseURL: hull.url, maxRetries: 0 });
const CODE = { type: "code_execution_20250825" as const, name: "code_execution" as const };
const PYTHON = { type: "code_execution_20250522" as const, name: "code_execution" as const };
const WEATHER: Anthropic.Tool = {
  name: "weather",
  description: "Tells the weather.",
  input_schema: { type: "object", properties: { city: { type: "string" } } },
};
const ask = { max_tokens: 500, messages: [{ role: "user" as const, content: "Do it." }] };
const bash = (command: string, id = "c1") => ({
  tool_calls: [{ id, name: "bash_code_execution", arguments: { command } }],
});
const kinds = ({ content }: { content: { type: string }[] }): string[] => content.map(({ type }) => type);
const sent = (n: number): string => JSON.stringify(fake.requests[n]?.body);

describe.each(["gpt-4o", "claude-opus-4-6"])("code execution with %s", (model) => {
  test("14: runs in a container, and returns its files; the streamed message is the same", async () => {
    const turns = [
      { text: "Let me see.", ...bash('echo "hello $((6*7))"; echo a,b > "$OUTPUT_DIR/out.csv"') },
      { text: "It is 42." },
    ];
    fake.script([...turns, ...turns]);
    const body = { ...ask, model, tools: [CODE] };
    const whole = await client.messages.create(body);
    expect(kinds(whole)).toEqual(["text", "server_tool_use", "bash_code_execution_tool_result", "text"]);
    expect(whole.content[1]).toMatchObject({ id: "srvtoolu_hull_c1", caller: { type: "direct" } });
    expect(whole.content[2]).toMatchObject({
      tool_use_id: "srvtoolu_hull_c1",
      content: {
        type: "bash_code_execution_result",
        stdout: "hello 42",
        return_code: 0,
        content: [{ type: "bash_code_execution_output", file_id: expect.stringMatching(/^file_/) }],
      },
    });
    expect(whole.stop_reason).toBe("end_turn");
    expect(whole.container).toMatchObject({ id: expect.stringMatching(/^container_01/) });
    expect(whole.usage.server_tool_use).toMatchObject({ code_execution_requests: 1 });
    const id = /file_[0-9a-f]{32}/.exec(JSON.stringify(whole.content))?.[0] ?? "";
    expect(await (await client.files.download(id)).text()).toBe("a,b\n");
    const streamed = await client.messages.stream(body).finalMessage();
    expect(kinds(streamed)).toEqual(kinds(whole));
    expect(streamed.stop_reason).toBe("end_turn");
    expect(streamed.container).toMatchObject({ id: expect.stringMatching(/^container_01/) });
  });

  test("names no container if the model did not use one", async () => {
    fake.script([{ text: "42." }, { text: "42." }]);
    const body = { ...ask, model, tools: [CODE] };
    expect((await client.messages.create(body)).container).toBeNull();
    expect((await client.messages.stream(body).finalMessage()).container).toBeNull();
  });

  test("calls of the client's own tools go to the client, and the conversation continues", async () => {
    const both = {
      tool_calls: [
        { id: "c1", name: "bash_code_execution", arguments: { command: "echo seven" } },
        { id: "c2", name: "weather", arguments: { city: "Rome" } },
      ],
    };
    fake.script([both, { text: "Warm." }]);
    const body = { ...ask, model, tools: [CODE, WEATHER] };
    const first = await client.messages.create(body);
    expect(kinds(first)).toEqual(["server_tool_use", "bash_code_execution_tool_result", "tool_use"]);
    expect(first.stop_reason).toBe("tool_use");
    const result = { type: "tool_result" as const, tool_use_id: "c2", content: "29 °C" };
    const history: Anthropic.MessageParam[] = [
      ...ask.messages,
      { role: "assistant", content: first.content as Anthropic.ContentBlockParam[] },
      { role: "user", content: [result] },
    ];
    const container = first.container?.id ?? null;
    const second = await client.messages.create({ ...body, messages: history, container });
    expect(second.content).toMatchObject([{ type: "text", text: "Warm." }]);
    expect(sent(1)).toContain("seven");
    expect(sent(1)).toContain("29 °C");
  });
});

describe("a container", () => {
  test("keeps its files for the next request; python runs in it too", async () => {
    fake.script([bash("echo kept > note.txt"), { text: "Done." }]);
    const first = await client.messages.create({ ...ask, model: "gpt-4o", tools: [CODE] });
    const container = first.container?.id ?? "";
    const code = { code: "print(open('note.txt').read().strip() + '!')" };
    fake.script([{ tool_calls: [{ id: "c1", name: "code_execution", arguments: code }] }, { text: "Done." }]);
    const second = await client.messages.create({ ...ask, model: "gpt-4o", tools: [PYTHON], container });
    expect(second.content[1]).toMatchObject({
      type: "code_execution_tool_result",
      content: { type: "code_execution_result", stdout: "kept!", return_code: 0 },
    });
    expect(second.container?.id).toBe(container);
  });

  test("says how many files an answer leaves out", async () => {
    const command = 'for i in $(seq 102); do echo x > "$OUTPUT_DIR/$i.txt"; done';
    const warnings = [{ code: "files_not_stored", message: expect.stringContaining("lacks 2 others") }];
    fake.script([bash(command), { text: "Done." }]);
    const body = { ...ask, model: "gpt-4o", tools: [CODE] };
    const message = await client.messages.create(body);
    expect(message).toMatchObject({ generated_files: { length: 100 }, warnings });
    expect(JSON.stringify(message.content)).toContain("lacks 2 others");
    fake.script([bash(command), { text: "Done." }]);
    const openai = new OpenAI({ apiKey: "any", baseURL: `${hull.url}/v1`, maxRetries: 0 });
    const tools: OpenAI.ChatCompletionTool[] = JSON.parse('[{"type":"code_execution"}]');
    const { messages } = ask;
    const chat = await openai.chat.completions.create({ model: "gpt-4o", messages, tools });
    expect(chat).toMatchObject({ generated_files: { length: 100 }, warnings });
    const shell = { id: "c1", name: "shell", arguments: { commands: [command] } };
    fake.script([{ tool_calls: [shell] }, { text: "Done." }]);
    const environment = { type: "container_auto" as const };
    const response = await openai.responses.create({
      model: "gpt-4o",
      input: "Do it.",
      tools: [{ type: "shell", environment }],
    });
    expect(response).toMatchObject({ warnings });
    expect(JSON.stringify(response.output).match(/container_file_citation/g)).toHaveLength(100);
  });

  test("a file belongs to the command that made it, though another call ends first", async () => {
    const waits = `import os, time
def handler(args):
    while not os.path.exists("output/made.txt"): time.sleep(0.01)
    open("seen", "w").close()
`;
    const tools = '[{"name": "constructor", "description": "Waits.", "script": "waits.py"}]';
    const skill_id = await storedSkill(client, "beside", { "tools.json": tools, "waits.py": waits });
    const command = 'echo 1 > "$OUTPUT_DIR/made.txt"; until [ -e seen ]; do sleep 0.01; done; sleep 0.5';
    const calls = [{ id: "c0", name: "constructor", arguments: {} }, ...bash(command).tool_calls];
    fake.script([{ tool_calls: calls }, { text: "Done." }]);
    const skills = [{ type: "custom" as const, skill_id, version: "latest" }];
    const body = { ...ask, model: "gpt-4o", tools: [CODE], container: { skills } };
    const { content } = await client.messages.create(body);
    const results = content.flatMap((block) =>
      block.type === "bash_code_execution_tool_result" ? [block] : [],
    );
    expect(results).toMatchObject([
      { tool_use_id: "srvtoolu_hull_c0", content: { content: [] } },
      { tool_use_id: "srvtoolu_hull_c1", content: { content: [{ type: "bash_code_execution_output" }] } },
    ]);
  });

  test.each([
    ["/v1/messages", { max_tokens: 5, tool_choice: { type: "auto", disable_parallel_tool_use: true } }],
    ["/v1/chat/completions", { parallel_tool_calls: false }],
    ["/v1/responses", { parallel_tool_calls: false }],
    ["/v1/responses", { parallel_tool_calls: false, store: false }],
  ])("%s %j: calls of a turn run one after the other if the client wants that", async (path, wish) => {
    const busy = await mkdtemp(join(tmpdir(), "hull-in-order-"));
    onTestFinished(() => rm(busy, { recursive: true }));
    // Waits a moment for another call, which would find the folder.
    const alone = `import os, time
def handler(args):
    try: os.mkdir("${busy}/one")
    except FileExistsError:
        open("${busy}/met", "w").close()
    for _ in range(50):
        if os.path.exists("${busy}/met"): return "together"
        time.sleep(0.01)
    os.rmdir("${busy}/one")
    return "alone"
`;
    const tools = '[{"name": "meet", "description": "Waits.", "script": "meet.py"}]';
    const skill_id = await storedSkill(client, "meeting", { "tools.json": tools, "meet.py": alone });
    fake.script([
      { tool_calls: ["c1", "c2"].map((id) => ({ id, name: "meet", arguments: {} })) },
      { text: "Done." },
    ]);
    const skills = [{ type: "custom", skill_id, version: "latest" }];
    const references = [{ type: "skill_reference", skill_id, version: "latest" }];
    const shell = { type: "shell", environment: { type: "container_auto", skills: references } };
    const { messages } = ask;
    const asked =
      path === "/v1/responses" ? { input: "Meet.", tools: [shell] } : { messages, container: { skills } };
    const answer = await hull.post(path, { model: "gpt-4o", ...asked, ...wish });
    expect(answer.status).toBe(200);
    const results = (fake.requests[1]?.body.messages ?? []).filter(({ role }) => role === "tool");
    expect(results).toMatchObject([{ content: "alone" }, { content: "alone" }]);
  });

  test("has the files that the user sends in", async () => {
    const stored = await hull.call("/files?filename=in.txt", "from the user");
    const { id } = (await stored.json()) as { id: string };
    fake.script([bash("cat $INPUT_DIR/in.txt"), { text: "Done." }]);
    const upload = { type: "container_upload" as const, file_id: id };
    const messages = [
      { role: "user" as const, content: [upload, { type: "text" as const, text: "Read it." }] },
    ];
    const answer = await client.messages.create({ ...ask, messages, model: "gpt-4o", tools: [CODE] });
    expect(JSON.stringify(answer.content)).toContain("from the user");
  });

  test("is 404 if its id is unknown", async () => {
    const unknown = `container_01${"0".repeat(32)}`;
    const refused = client.messages.create({ ...ask, model: "gpt-4o", tools: [CODE], container: unknown });
    await expect(refused).rejects.toBeInstanceOf(Anthropic.NotFoundError);
  });

  test("reports a failed command's exit code, and its stderr apart from its stdout", async () => {
    fake.script([bash("echo oops >&2; echo out; exit 3"), { text: "Done." }, { text: "More." }]);
    const body = { ...ask, model: "gpt-4o", tools: [CODE] };
    const answer = await client.messages.create(body);
    expect(answer.content[1]).toMatchObject({ content: { stdout: "out", stderr: "oops", return_code: 3 } });
    const said = { role: "assistant" as const, content: answer.content };
    const messages = [...ask.messages, said, { role: "user" as const, content: "On." }];
    await client.messages.create({ ...body, messages });
    const read = { role: "tool", tool_call_id: "c1", content: "out\noops\nexit code 3" };
    expect(fake.requests[1]?.body.messages.at(-1)).toMatchObject(read);
    expect(fake.requests[2]?.body.messages).toContainEqual(read);
  });
});

test("a model whose code runs out of time reads nothing of a parameter that its tool does not have", async () => {
  fake.script([bash("echo begun; sleep 617.75"), { text: "Too slow." }]);
  const body = {
    model: "gpt-4o",
    messages: [{ role: "user", content: "Go." }],
    tools: [{ type: "code_execution" }],
  };
  expect((await keyed.post("/v1/chat/completions", body, { "x-api-key": ADMIN })).status).toBe(200);
  const { content } = fake.requests[1]?.body.messages.at(-1) ?? {};
  expect(content).toMatch(/^begun\n.*its time limit\. Hull keeps what it has changed so far\.\]/s);
});

test("10: a command past its time limit reports it; an answer past its time pauses, and continues when the client sends it back", async () => {
  const { key } = (await (
    await keyed.post(
      "/admin/keys",
      { tenant: "three", scopes: ["invoke"], name: "t" },
      { "x-api-key": ADMIN },
    )
  ).json()) as { key: string };
  const limited = new Anthropic({ apiKey: key, baseURL: keyed.url, maxRetries: 0 });
  const command = "echo here > note.txt; setsid sleep 617.25 & sleep 617.25";
  fake.script([bash(command), bash("cat note.txt", "c2"), { text: "Too slow." }]);
  const body = { ...ask, model: "gpt-4o", tools: [CODE] };
  const answer = await limited.messages.create(body);
  expect(answer.content).toMatchObject([
    { type: "server_tool_use" },
    { content: { type: "bash_code_execution_tool_result_error", error_code: "execution_time_exceeded" } },
  ]);
  expect(answer.stop_reason).toBe("pause_turn");
  // Nothing is left of the command, in its process group or out of it.
  await gone("sleep 617.25");
  const said = (n: Anthropic.Message): Anthropic.MessageParam => ({
    role: "assistant",
    content: n.content as Anthropic.ContentBlockParam[],
  });
  const container = answer.container?.id ?? null;
  const messages = [...ask.messages, said(answer)];
  const second = await limited.messages.create({ ...body, container, messages });
  expect(second).toMatchObject({ stop_reason: "pause_turn", content: [{}, { content: { stdout: "here" } }] });
  const third = await limited.messages.create({ ...body, container, messages: [...messages, said(second)] });
  expect(third).toMatchObject({ stop_reason: "end_turn", content: [{ type: "text", text: "Too slow." }] });
});

describe("skills", () => {
  test("stored ones are listed for the model, which loads them; their programs run", async () => {
    const skill_id = await storedSkill(client, "sums", { "scripts/sum.sh": "echo sum $(($1 + $2))\n" });
    fake.script([
      { tool_calls: [{ id: "l1", name: "load_skill", arguments: { name: "sums" } }] },
      (request) => {
        const [, folder] = /Base directory for this skill: (\S+)/.exec(JSON.stringify(request.body)) ?? [];
        const own = folder?.replace(/\\n.*$/, "");
        return bash(
          `bash ${own}/scripts/sum.sh 3 4; bash ${mounts ? "/skills/sums" : own}/scripts/sum.sh 4 5`,
          "b1",
        );
      },
      { text: "Seven." },
    ]);
    const container = { skills: [{ type: "custom" as const, skill_id, version: "latest" }] };
    const answer = await client.messages.create({ ...ask, model: "gpt-4o", tools: [CODE], container });
    expect(sent(0)).toContain("Knows sums.");
    expect(sent(0)).not.toContain("secret of sums");
    expect(sent(1)).toContain("secret of sums is 42");
    expect(JSON.stringify(answer.content)).toContain("sum 7\\nsum 9");
    expect(answer.container?.skills).toMatchObject([
      { type: "custom", skill_id, version: expect.stringMatching(/^skver_/) },
    ]);
    // What was shown as a command goes back as the call that it was.
    fake.script([{ text: "Bye." }]);
    const history: Anthropic.MessageParam[] = [
      ...ask.messages,
      { role: "assistant", content: answer.content as Anthropic.ContentBlockParam[] },
      { role: "user", content: "And now?" },
    ];
    await client.messages.create({ ...ask, messages: history, model: "gpt-4o", tools: [CODE], container });
    expect(sent(3)).toContain('"name":"load_skill"');
  });

  test.each([
    ["litellm:", ""],
    ["litellm_", ""],
    ["litellm:litellm_", ""],
  ])("ones with the prefix %s are put into the system text whole", async (prefix) => {
    const skill_id = await storedSkill(client, "facts");
    fake.script([{ text: "42." }]);
    const container = { skills: [{ type: "custom" as const, skill_id: `${prefix}${skill_id}` }] };
    const system = [{ type: "text" as const, text: "Be brief." }];
    await client.messages.create({ ...ask, model: "gpt-4o", system, container });
    const [first] = fake.requests[0]?.body.messages ?? [];
    expect(first).toEqual({
      role: "system",
      content: "Be brief.\n\n---\n\n# Available Skills\n\n## Skill: facts\n\nThe secret of facts is 42.",
    });
  });

  test("unknown ones are refused before a model is asked", async () => {
    const wish = (skill_id: string, type: "custom" | "anthropic" = "custom") =>
      client.messages.create({
        ...ask,
        model: "gpt-4o",
        container: { skills: [{ type, skill_id, version: "latest" }] },
      });
    await expect(wish("skill_01nobody")).rejects.toThrow(/skill_01nobody/);
    await expect(wish("xlsx", "anthropic")).rejects.toThrow(/xlsx is a skill of Anthropic/);
    expect(fake.requests).toHaveLength(0);
  });

  test("Anthropic's own go to Anthropic as the client sent them", async () => {
    const container = { skills: [{ type: "anthropic" as const, skill_id: "xlsx", version: "latest" }] };
    const body = { ...ask, model: "claude-opus-4-6", tools: [CODE], container };
    await client.messages.create(body);
    expect(fake.requests[0]?.body).toEqual(body);
  });

  test("Anthropic's own work together with stored ones: Anthropic gets its own, Hull runs the others", async () => {
    const skill_id = await storedSkill(client, "maths");
    const own = { type: "anthropic" as const, skill_id: "xlsx", version: "latest" };
    const used = {
      type: "server_tool_use",
      id: "srvtoolu_1",
      name: "bash_code_execution",
      input: { command: "ls" },
    };
    const result = {
      type: "bash_code_execution_tool_result",
      tool_use_id: "srvtoolu_1",
      content: { type: "bash_code_execution_result", stdout: "a", stderr: "", return_code: 0, content: [] },
    };
    const upstream = {
      id: "container_up",
      expires_at: "2027-01-01T00:00:00Z",
      skills: [{ ...own, version: "20251013" }],
    };
    const message = (content: object[], stop_reason: string) => ({
      body: {
        id: "msg_1",
        type: "message",
        role: "assistant",
        model: "claude-opus-4-6",
        content,
        stop_reason,
        usage: { input_tokens: 1, output_tokens: 1 },
        container: upstream,
      },
    });
    const load = { type: "tool_use", id: "toolu_1", name: "load_skill", input: { name: "maths" } };
    fake.script([
      message([{ type: "text", text: "Let me see." }, used, result, load], "tool_use"),
      message([{ type: "text", text: "42." }], "end_turn"),
    ]);
    const answer = await client.messages.create(
      {
        ...ask,
        model: "claude-opus-4-6",
        tools: [CODE],
        metadata: { user_id: "u1" },
        container: { skills: [{ type: "custom", skill_id, version: "latest" }, own] },
      },
      { headers: { "anthropic-beta": "files-api-2025-04-14" } },
    );
    const [first, second] = fake.requests;
    expect(first?.body).toMatchObject({ container: { skills: [own] }, metadata: { user_id: "u1" } });
    expect(first?.body.tools).toContainEqual(CODE);
    expect(sent(0)).toContain("Knows maths.");
    expect(sent(0)).not.toContain(skill_id);
    expect(first?.headers).toMatchObject({
      "anthropic-beta": "files-api-2025-04-14",
      "anthropic-version": "2026-10-21",
    });
    // Every further call sends the same, except for the conversation, and for the container that Anthropic opened.
    expect(second?.body).toMatchObject({
      metadata: { user_id: "u1" },
      container: { id: "container_up", skills: [own] },
    });
    expect(second?.body.tools).toEqual(first?.body.tools);
    expect(sent(1)).toContain('"srvtoolu_1"');
    expect(kinds(answer)).toEqual([
      "text",
      "server_tool_use",
      "bash_code_execution_tool_result",
      "server_tool_use",
      "bash_code_execution_tool_result",
      "text",
    ]);
    expect(answer.container).toMatchObject({
      id: "container_up",
      skills: [
        { type: "custom", skill_id },
        { type: "anthropic", skill_id: "xlsx", version: "20251013" },
      ],
    });
  });

  test("ones that only Anthropic may have go there by their ids, and to no other provider", async () => {
    const wish = (model: string) => {
      const skills = [{ type: "custom" as const, skill_id: "skill_01atAnthropic", version: "latest" }];
      return client.messages.create({ ...ask, model, tools: [CODE], container: { skills } });
    };
    await wish("claude-opus-4-6");
    expect(fake.requests[0]?.body).toMatchObject({
      container: { skills: [{ skill_id: "skill_01atAnthropic" }] },
    });
    await expect(wish("gpt-4o")).rejects.toThrow(/there is no skill .*skill_01atAnthropic/);
  });

  test("a request may name twenty, a client of the beta eight", async () => {
    const many = (n: number, beta: string) => {
      const skills = Array.from({ length: n }, (_, i) => ({
        type: "custom" as const,
        skill_id: `skill_01n${i}`,
        version: "latest",
      }));
      return client.messages.create(
        { ...ask, model: "claude-opus-4-6", container: { skills } },
        { headers: beta === "" ? {} : { "anthropic-beta": beta } },
      );
    };
    await expect(many(21, "")).rejects.toThrow(/21 skills; at most 20/);
    await expect(many(9, "skills-2025-10-02,code-execution-2025-08-25")).rejects.toThrow(
      /9 skills; at most 8/,
    );
    await many(9, "");
  });

  test("stored ones bring the tools of their tools.json, which the client's history names as they were called", async () => {
    const tools = [
      {
        name: "double",
        description: "Doubles a number.",
        script: "scripts/double.js",
        parameters: { n: { type: "number", description: "The number." } },
      },
    ];
    const skill_id = await storedSkill(client, "doubles", {
      "tools.json": JSON.stringify(tools),
      "scripts/double.js": "export default ({ n }) => ({ twice: n * 2 });\n",
    });
    fake.script([
      { tool_calls: [{ id: "d1", name: "double", arguments: { n: 21 } }] },
      { text: "42." },
      { text: "Bye." },
    ]);
    const container = { skills: [{ type: "custom" as const, skill_id, version: "latest" }] };
    const answer = await client.messages.create({ ...ask, model: "gpt-4o", container });
    expect(answer.content).toMatchObject([
      { name: "bash_code_execution", input: { tool: "double", arguments: { n: 21 } } },
      { content: { stdout: expect.stringContaining("42") } },
      { type: "text", text: "42." },
    ]);
    const history: Anthropic.MessageParam[] = [
      ...ask.messages,
      { role: "assistant", content: answer.content as Anthropic.ContentBlockParam[] },
      { role: "user", content: "And now?" },
    ];
    await client.messages.create({ ...ask, messages: history, model: "gpt-4o", container });
    expect(sent(2)).toContain('"name":"double"');
  });

  test("served ones are models", async () => {
    fake.script([{ text: "Cat, hat." }]);
    await client.messages.create({ ...ask, model: "skill/rhymes", system: "Be brief." });
    expect(fake.requests[0]?.body).toMatchObject({ model: "gpt-4o" });
    const [first] = fake.requests[0]?.body.messages ?? [];
    expect(String(first?.content)).toMatch(/^Answer in rhymes, always\.\s+Be brief\.$/);
  });

  test("after ten rounds of tools the model is asked once more", async () => {
    fake.script((request) =>
      request.body.tool_choice === "none" ? { text: "Enough." } : bash("true", `c${fake.requests.length}`),
    );
    const answer = await client.messages.create({ ...ask, model: "gpt-4o", tools: [CODE] });
    expect(fake.requests).toHaveLength(11);
    expect(answer.content.at(-1)).toMatchObject({ type: "text", text: "Enough." });
  });
});

test("if hull.toml passes a provider's requests through, they go to it whole, and stored skills still run here", async () => {
  const web = { type: "web_search_20250305" as const, name: "web_search" as const };
  const body = { ...ask, model: "claude-opus-4-6", tools: [CODE, web], mcp_servers: [] };
  const post = async (url: string, headers: Record<string, string>, more: object = {}) => {
    const sending = { "content-type": "application/json", "anthropic-version": "2026-10-21", ...headers };
    const content = JSON.stringify({ ...body, ...more });
    return fetch(`${url}/v1/messages`, { method: "POST", headers: sending, body: content });
  };
  expect((await post(hull.url, {})).status).toBe(400);
  expect(fake.requests).toHaveLength(0);
  const passed = await post(keyed.url, { "x-api-key": ADMIN });
  expect(passed.status).toBe(200);
  expect(fake.requests[0]?.body).toEqual(body);
  expect(fake.requests[0]?.headers["x-api-key"]).toBe("sk-ant-passed-key");
  expect(JSON.stringify(fake.requests[0])).not.toContain(ADMIN);
  const form = new FormData();
  form.append(
    "files[]",
    new File(["---\nname: own\ndescription: Own.\n---\nHi.\n"], "own/SKILL.md"),
    "own/SKILL.md",
  );
  const stored = await fetch(`${keyed.url}/v1/skills`, {
    method: "POST",
    headers: { "x-api-key": ADMIN },
    body: form,
  });
  const { id } = (await stored.json()) as { id: string };
  const container = { skills: [{ type: "custom", skill_id: id, version: "latest" }] };
  expect((await post(keyed.url, { "x-api-key": ADMIN }, { container })).status).toBe(400);
  const own = await post(
    keyed.url,
    { "x-api-key": ADMIN },
    { container, tools: [CODE], mcp_servers: undefined },
  );
  expect(own.status).toBe(200);
  expect(sent(1)).toContain('"load_skill"');
});

test("attack: another tenant's containers and skills do not exist", async () => {
  const admin = { "x-api-key": ADMIN };
  const key = async (tenant: string): Promise<string> => {
    const made = await keyed.post(
      "/admin/keys",
      { tenant, scopes: ["invoke", "publish"], name: tenant },
      admin,
    );
    return ((await made.json()) as { key: string }).key;
  };
  const [one, two] = [await key("one"), await key("two")].map(
    (apiKey) => new Anthropic({ apiKey, baseURL: keyed.url, maxRetries: 0 }),
  );
  const body = { ...ask, model: "gpt-4o", tools: [CODE] };
  fake.script([bash("echo mine > note.txt"), { text: "Done." }]);
  const first = await one?.messages.create(body);
  const container = first?.container?.id ?? "";
  await expect(two?.messages.create({ ...body, container })).rejects.toBeInstanceOf(Anthropic.NotFoundError);
  const skill = "---\nname: own\ndescription: Mine.\n---\nHi.\n";
  const stored = await one?.skills.create({ files: [await toFile(Buffer.from(skill), "own/SKILL.md")] });
  const skills = [{ type: "custom" as const, skill_id: stored?.id ?? "", version: "latest" }];
  await expect(two?.messages.create({ ...body, container: { skills } })).rejects.toThrow(/there is no skill/);
  fake.script([{ text: "Hi." }]);
  expect(await one?.messages.create({ ...body, container: { id: container, skills } })).toMatchObject({
    container: { id: container },
  });
});
