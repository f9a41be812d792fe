/** Skills and code execution in `/v1/chat/completions`: the clients are the vendors' own SDKs, unmodified. */
import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";
import { describe, expect, test } from "vitest";
import { commonHull } from "../support/common-hull.ts";
import { storedSkill } from "../support/stored-skill.ts";

const { hull, fake } = await commonHull({
  "odes/.claude-plugin/plugin.json": '{"name": "odes"}',
  "odes/WORDS.md": "O\n",
  "odes/skills/first/rhyme.py": "",
  "odes/skills/first/SKILL.md":
    "---\nname: odes-of-praise\ndescription: Praises.\n---\nUse [the words](../../WORDS.md).\n",
  "sonnets/SKILL.md":
    "---\nname: sonnets\ndescription: Answers in sonnets.\nprovider: openai\nmodel: gpt-4o\n---\nAnswer in sonnets, always.\n",
});
const client = new Anthropic({ apiKey: "any", baseURL: hull.url, maxRetries: 0 });
const bash = (command: string, id = "c1") => ({
  tool_calls: [{ id, name: "bash_code_execution", arguments: { command } }],
});

describe("chat completions", () => {
  const openai = new OpenAI({ apiKey: "any", baseURL: `${hull.url}/v1`, maxRetries: 0 });
  const messages = [{ role: "user" as const, content: "Do it." }];
  const python = (code: string) => ({
    tool_calls: [{ id: "c1", name: "litellm_code_execution", arguments: { code } }],
  });

  test("with a whole skill: its text, a tool of its own, Python with its modules, generated files", async () => {
    const skill_id = await storedSkill(client, "plots", {
      "plotting.py": "def name():\n    return 'ball'\n",
    });
    const code =
      "import plotting; open(plotting.name() + '.gif', 'wb').write(b'GIF'); open('data', 'w').write('x')";
    fake.script([python(code), { text: "Done." }]);
    const body = {
      model: "claude-opus-4-6",
      messages,
      temperature: 0.5,
      container: { skills: [{ type: "custom", skill_id: `litellm:${skill_id}` }] },
    };
    const answer = await openai.chat.completions.create(body);
    expect(fake.requests[0]?.body).toMatchObject({ temperature: 0.5 });
    const sent = (fake.requests[0]?.body.tools ?? []) as { name: string; input_schema: object }[];
    expect(sent.map(({ name }) => name)).toEqual(
      expect.arrayContaining([skill_id, "litellm_code_execution"]),
    );
    expect(sent.every(({ input_schema }) => input_schema !== undefined)).toBe(true);
    expect(fake.requests[0]?.body).not.toHaveProperty("container");
    expect(fake.requests[1]?.body).toMatchObject({ temperature: 0.5 });
    expect(answer).toMatchObject({
      choices: [{ finish_reason: "stop", message: { content: "Done." } }],
      container: { id: expect.stringMatching(/^container_01/) },
      _litellm_generated_files: expect.arrayContaining([
        expect.objectContaining({ name: "ball.gif", size: 3, content_base64: "R0lG" }),
        expect.objectContaining({ name: "data", size: 1 }),
      ]),
    });
    const name = "litellm_code_execution";
    const tools = [{ type: "function" as const, function: { name, description: "Mine.", parameters: {} } }];
    fake.script([python(code)]);
    const own = await openai.chat.completions.create({ ...body, tools }).withResponse();
    expect(own.response.headers.get("x-hull-warnings")).toBe("option_ignored");
    expect(own.response.headers.get("x-hull-ignored")).toBeNull();
    expect(own.data.choices[0]).toMatchObject({ finish_reason: "tool_calls" });
    const named = (fake.requests.at(-1)?.body.tools ?? []).filter((tool) =>
      JSON.stringify(tool).includes(name),
    );
    expect(named).toMatchObject([{ description: "Mine." }]);
  });

  test("with a whole skill of a plugin; the skill's own files are not generated files", async () => {
    fake.script([python("open('ode', 'w').write('O!')"), { text: "Done." }]);
    const answer = await openai.chat.completions.create({
      model: "claude-opus-4-6",
      messages,
      container: {
        skills: [{ type: "custom", skill_id: "odes-of-praise" }],
        injection: "full",
      },
    } as OpenAI.ChatCompletionCreateParamsNonStreaming);
    expect(answer).toMatchObject({ generated_files: [{ filename: "ode" }] });
  });

  test("tell the model which files the user gets, and how many files the answer lacks", async () => {
    fake.script([python("[open(f'{n:03}', 'w').write('x') for n in range(102)]"), { text: "Done." }]);
    const container = { skills: [{ type: "custom", skill_id: "odes-of-praise" }], injection: "full" };
    const body = { model: "claude-opus-4-6", messages, container };
    const { data, response } = await openai.chat.completions.create(body).withResponse();
    const told = JSON.stringify(fake.requests[1]?.body.messages);
    expect(told).toContain("/099 (1 byte)\\nThe user does not get 2 further files.");
    expect(data).toMatchObject({ generated_files: Array(100).fill({ filename: expect.any(String) }) });
    expect(response.headers.get("x-hull-warnings")).toBe("files_not_stored");
  });

  test("stream the texts of all rounds, and end with container and files", async () => {
    const turns = [{ text: "Wait. ", ...bash("echo 1 > out.parquet") }, { text: "Done." }];
    fake.script([...turns, ...turns]);
    const tools: OpenAI.ChatCompletionTool[] = JSON.parse('[{"type":"code_execution"}]');
    const whole = await openai.chat.completions.create({ model: "gpt-4o", messages, tools });
    const chunks = await openai.chat.completions.create({ model: "gpt-4o", messages, tools, stream: true });
    let text = "";
    let last: object = {};
    for await (const chunk of chunks) {
      text += chunk.choices[0]?.delta.content ?? "";
      last = chunk;
    }
    expect(whole.choices[0]?.message.content).toBe("Wait. Done.");
    expect(text).toBe("Wait. Done.");
    expect(last).toMatchObject({
      container: { id: expect.stringMatching(/^container_01/) },
      generated_files: [{ filename: "out.parquet", file_id: expect.stringMatching(/^file_/) }],
    });
  });

  test.each([false, true])(
    "have no remarks of earlier rounds if they are JSON: streamed %s",
    async (stream) => {
      const turns = [{ text: "Wait. ", ...bash("echo 1") }, { text: '{"n":1}' }];
      fake.script(turns);
      const tools: OpenAI.ChatCompletionTool[] = JSON.parse('[{"type":"code_execution"}]');
      const json_schema = { name: "n", strict: true, schema: { type: "object" } };
      const response_format = { type: "json_schema" as const, json_schema };
      const body = { model: "gpt-4o", messages, tools, response_format };
      const { choices } = await (stream
        ? openai.chat.completions.stream(body).finalChatCompletion()
        : openai.chat.completions.create(body));
      expect(choices[0]?.message.content).toBe('{"n":1}');
    },
  );

  test.each([
    ["auto", null],
    ["none", null],
    ["required", "tool_choice"],
  ] as const)(
    "offer one tool of each name, the client's before Hull's; tool_choice %s",
    async (tool_choice, ignored) => {
      fake.script([bash("date"), { text: "Done." }]);
      const tools: OpenAI.ChatCompletionTool[] = JSON.parse(
        '[{"type":"code_execution"},{"type":"function","function":{"name":"bash_code_execution","description":"mine","parameters":{"type":"object"}}}]',
      );
      const asked = openai.chat.completions.create({ model: "gpt-4o", messages, tools, tool_choice });
      const { data, response } = await asked.withResponse();
      expect(data.choices[0]).toMatchObject({ finish_reason: "tool_calls" });
      expect(response.headers.get("x-hull-ignored")).toBe(ignored);
      expect(fake.requests[0]?.body).toMatchObject({
        tools: [{ function: { name: "bash_code_execution", description: "mine" } }],
        ...(ignored === null ? { tool_choice } : {}),
      });
    },
  );

  test("name options that Hull drops only when it calls the model", async () => {
    fake.script([{ text: "Done." }, { text: "Done." }]);
    const tools = JSON.parse('[{"type":"code_execution"}]');
    const model = "claude-opus-4-6";
    const sampling = { temperature: 0.2, user: "u1" };
    const asked = openai.chat.completions.create({
      model,
      messages,
      tools,
      ...sampling,
      reasoning_effort: "high",
    });
    expect((await asked.asResponse()).headers.get("x-hull-ignored")).toBe("user, temperature");
    const sent = await fetch(`${hull.url}/v1/messages`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({
        model,
        max_tokens: 2000,
        messages,
        tools: [{ type: "code_execution_20250825", name: "code_execution" }],
        temperature: 0.2,
        thinking: { type: "enabled", budget_tokens: 1024 },
      }),
    });
    expect([sent.status, sent.headers.get("x-hull-ignored")]).toEqual([200, "temperature"]);
  });

  test("show the client only its own calls if one turn calls tools of both Hull and the client; the follow-up has both", async () => {
    const both = {
      text: "Both.",
      tool_calls: [
        { id: "c1", name: "bash_code_execution", arguments: { command: "echo seven > n; cat n" } },
        { id: "c2", name: "weather", arguments: { city: "Rome" } },
      ],
    };
    fake.script([bash("echo before", "c0"), both, { text: "Warm." }]);
    const tools: OpenAI.ChatCompletionTool[] = JSON.parse(
      '[{"type":"code_execution"},{"type":"function","function":{"name":"weather","strict":true,"parameters":{"type":"object","properties":{"city":{"type":"string"}}}}}]',
    );
    const asked = openai.chat.completions.create({ model: "gpt-4o", messages, tools });
    const { data: first, response } = await asked.withResponse();
    expect(response.headers.get("x-hull-ignored")).toBe("tools.strict");
    const [choice] = first.choices;
    expect(choice).toMatchObject({
      finish_reason: "tool_calls",
      message: { tool_calls: [{ function: { name: "weather", arguments: '{"city":"Rome"}' } }] },
    });
    const [call] = choice?.message.tool_calls ?? [];
    const history: OpenAI.ChatCompletionMessageParam[] = [
      ...messages,
      ...(choice === undefined ? [] : [choice.message]),
      { role: "tool", tool_call_id: call?.id ?? "", content: "29 °C" },
    ];
    const second = await openai.chat.completions.create({ model: "gpt-4o", messages: history, tools });
    expect(second.choices[0]?.message.content).toBe("Warm.");
    expect(fake.requests[2]?.body.messages).toMatchObject([
      { role: "user" },
      { role: "assistant", tool_calls: [{ id: "c0" }] },
      { role: "tool", tool_call_id: "c0", content: expect.stringContaining("before") },
      { role: "assistant", content: "Both.", tool_calls: [{ id: "c1" }, { id: "c2" }] },
      { role: "tool", tool_call_id: "c1", content: expect.stringContaining("seven") },
      { role: "tool", tool_call_id: "c2", content: "29 °C" },
    ]);
    const container = (answer: object): unknown => JSON.parse(JSON.stringify(answer)).container.id;
    expect(container(second)).toBe(container(first));
  });

  test("fail if they call tools of both and the container cannot keep the exchange", async () => {
    const blocked = {
      tool_calls: [
        { id: "c1", name: "bash_code_execution", arguments: { command: "mkdir .hull; touch .hull/turns" } },
        { id: "c2", name: "weather", arguments: { city: "Rome" } },
      ],
    };
    fake.script([blocked]);
    const tools: OpenAI.ChatCompletionTool[] = JSON.parse(
      '[{"type":"code_execution"},{"type":"function","function":{"name":"weather","parameters":{"type":"object","properties":{}}}}]',
    );
    const asked = openai.chat.completions.create({ model: "gpt-4o", messages, tools });
    await expect(asked).rejects.toThrow(/is inside \.hull\/turns, which is a file/);
  });

  test("run a served skill that is named as a model", async () => {
    fake.script([{ text: "Cat, hat." }]);
    const answer = await openai.chat.completions.create({ model: "skill/sonnets", messages });
    expect(answer.choices[0]?.message.content).toBe("Cat, hat.");
    expect(JSON.stringify(fake.requests[0]?.body)).toContain("Answer in sonnets, always.");
    const unknown = openai.chat.completions.create({ model: "skill/none", messages });
    await expect(unknown).rejects.toBeInstanceOf(OpenAI.NotFoundError);
  });
});
