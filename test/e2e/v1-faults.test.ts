/**
 * What LiteLLM's skills got wrong, and these routes must not: each test has the number of its fault. The others are in
 * test/worker/v1-bundles.test.ts, v1-runs.test.ts and v1-containers.test.ts.
 */
import Anthropic, { toFile } from "@anthropic-ai/sdk";
import OpenAI from "openai";
import OpenAI7 from "openai-7";
import { describe, expect, test } from "vitest";
import { commonHull } from "../support/common-hull.ts";

const { hull, fake } = await commonHull();

const client = new Anthropic({ apiKey: "any", baseURL: hull.url, maxRetries: 0 });
const CODE = { type: "code_execution_20250825" as const, name: "code_execution" as const };
const ask = { max_tokens: 500, messages: [{ role: "user" as const, content: "Do it." }] };
const sent = (n: number): string => JSON.stringify(fake.requests[n]?.body);

async function storedSkill(name: string, files: Record<string, string> = {}): Promise<string> {
  const skill = `---\nname: ${name}\ndescription: Knows ${name}.\n---\nThe secret of ${name} is 42.\n`;
  const all = Object.entries({ "SKILL.md": skill, ...files });
  const uploads = all.map(([path, text]) => toFile(Buffer.from(text), `${name}/${path}`));
  return (await client.skills.create({ files: await Promise.all(uploads) })).id;
}

describe("faults of the original that these routes must not have", () => {
  const openai = new OpenAI({ apiKey: "any", baseURL: `${hull.url}/v1`, maxRetries: 0 });
  const messages = [{ role: "user" as const, content: "Do it." }];
  const whole = (...ids: string[]) => ({
    container: {
      skills: ids.map((skill_id) => ({ type: "custom" as const, skill_id: `litellm:${skill_id}` })),
    },
  });
  const python = (code: string, id = "c1") => ({
    tool_calls: [{ id, name: "litellm_code_execution", arguments: { code } }],
  });
  const toolResults = (n: number): string =>
    JSON.stringify(fake.requests[n]?.body.messages.filter(({ role }) => role === "tool"));

  test("1: the three spellings of an id run the skill; an unknown one is 400 and named", async () => {
    const skill_id = await storedSkill("spelled");
    for (const prefix of ["litellm:", "litellm_", "litellm:litellm_"]) {
      fake.script([{ tool_calls: [{ id: "s1", name: skill_id, arguments: {} }] }, { text: "42." }]);
      const container = { skills: [{ type: "custom", skill_id: `${prefix}${skill_id}` }] };
      const body = { model: "gpt-4o", messages, container };
      await openai.chat.completions.create(body);
      expect(toolResults(1)).toContain("The secret of spelled is 42.");
      fake.script([]);
      const unknown = { model: "gpt-4o", messages, ...whole("skill_01none") };
      await expect(openai.chat.completions.create(unknown)).rejects.toThrow(/400.*skill_01none/);
    }
  });

  test("2: tools have the shape of the provider that they are sent to", async () => {
    const skill_id = await storedSkill("shaped", { "a.py": "" });
    for (const model of ["gpt-4o", "claude-opus-4-6"]) {
      fake.script([{ text: "Done." }]);
      const body = { model, messages, ...whole(skill_id) };
      await openai.chat.completions.create(body);
    }
    const [chat, anthropic] = fake.requests.map(({ body }) => body.tools as Record<string, unknown>[]);
    expect(chat?.every(({ type, function: own }) => type === "function" && own !== undefined)).toBe(true);
    expect(
      anthropic?.every(({ type, input_schema }) => type === undefined && input_schema !== undefined),
    ).toBe(true);
  });

  test("6: skills of Anthropic's own stay in the request, also of chat completions", async () => {
    const own = { type: "anthropic", skill_id: "pptx", version: "latest" };
    fake.script([{ text: "Done." }]);
    const body = { model: "claude-opus-4-6", messages, container: { skills: [own] } };
    await openai.chat.completions.create(body);
    expect(fake.requests[0]?.body).toMatchObject({ container: { skills: [own] }, tools: [CODE] });
    expect(fake.requests[0]?.headers["anthropic-beta"]).toContain("skills-2025-10-02");
    const other = openai.chat.completions.create({ ...body, model: "gpt-4o" });
    await expect(other).rejects.toThrow(/400.*pptx is a skill of Anthropic/);
  });

  test("7: every further call sends the same as the first one, except for the conversation", async () => {
    const skill_id = await storedSkill("same", { "a.py": "" });
    fake.script([python("print(1)"), python("print(2)", "c2"), { text: '{"a": 1}' }]);
    const schema = { type: "object", properties: { a: { type: "integer" } } };
    const body = {
      model: "gpt-4o",
      messages,
      temperature: 0.3,
      user: "somebody",
      response_format: { type: "json_schema" as const, json_schema: { name: "answer", schema } },
      ...whole(skill_id),
    };
    await openai.chat.completions.create(body);
    const [first, , third] = fake.requests.map(({ body: { messages: _, ...rest } }) => rest);
    expect(first).toMatchObject({
      temperature: 0.3,
      user: "somebody",
      response_format: { type: "json_schema" },
    });
    expect(third).toEqual(first);
    expect(fake.requests[2]?.body.messages[0]).toEqual(fake.requests[0]?.body.messages[0]);
  });

  test("8: a skill is added to a system text that is a list of blocks", async () => {
    const skill_id = await storedSkill("listed");
    const blocks = [{ type: "text" as const, text: "Be brief." }];
    fake.script([{ text: "Done." }, { text: "Done." }]);
    const container = { skills: [{ type: "custom" as const, skill_id: `litellm:${skill_id}` }] };
    await client.messages.create({ ...ask, model: "gpt-4o", system: blocks, container });
    const body = {
      model: "gpt-4o",
      messages: [{ role: "system" as const, content: blocks }, ...messages],
      container,
    };
    await openai.chat.completions.create(body);
    const [one, list] = fake.requests.map(({ body: { messages: told } }) => told[0]?.content);
    expect(one).toMatch(/^Be brief\.\n\n---\n\n# Available Skills\n\n## Skill: listed\n/);
    const skill = {
      type: "text",
      text: expect.stringMatching(/^---\n\n# Available Skills\n\n## Skill: listed\n/),
    };
    expect(list).toEqual([...blocks, skill]);
  });

  test("9: two skills with files of the same name each keep theirs", async () => {
    const [one, two] = [
      await storedSkill("left", { "data.txt": "left data" }),
      await storedSkill("right", { "data.txt": "right data" }),
    ];
    const read = (skill: string, id: string) => ({
      tool_calls: [{ id, name: "read_skill_resource", arguments: { skill, path: "data.txt" } }],
    });
    fake.script([read("left", "r1"), read("right", "r2"), { text: "Done." }]);
    const skills = [one, two].map((skill_id) => ({ type: "custom" as const, skill_id, version: "latest" }));
    await client.messages.create({ ...ask, model: "gpt-4o", tools: [CODE], container: { skills } });
    expect(toolResults(2)).toContain("left data");
    expect(toolResults(2)).toContain("right data");
  });

  test("11, 12: files of any type come back; state is kept from call to call and request to request", async () => {
    const skill_id = await storedSkill("kept", { "a.py": "" });
    fake.script([
      python(
        "import sys; open('n','w').write('7'); open('t.parquet','w').write('p'); open('plain','w').write('x'); print('written'); print('late', file=sys.stderr)",
      ),
      python("print(int(open('n').read()) + 1)", "c2"),
      { text: "Done." },
    ]);
    const body = { model: "gpt-4o", messages, ...whole(skill_id) };
    const answer = JSON.parse(JSON.stringify(await openai.chat.completions.create(body)));
    expect(toolResults(2)).toContain("8");
    const names = (answer.generated_files as { filename: string }[]).map(({ filename }) => filename);
    expect(names.sort()).toEqual(["n", "plain", "t.parquet"]);
    expect(toolResults(1)).toContain("written\\nFiles that are given to the user:\\n- kept/n (1 byte)");
    expect(toolResults(1)).toContain("- kept/t.parquet (1 byte)\\nlate");
    fake.script([python("print(open('n').read() * 3)"), { text: "Done." }]);
    const further = { ...body, container: { ...body.container, id: answer.container.id } };
    await openai.chat.completions.create(further);
    expect(toolResults(4)).toContain("777");
  });

  test("code with one skill begins in a copy of it, which it may change; the copy is not given to the user", async () => {
    const skill_id = await storedSkill("copied", { "core/tool.py": "x = 6\n", "data.txt": "seven" });
    fake.script([
      python("from core.tool import x; print(x, open('data.txt').read()); open('data.txt', 'a').write('!')"),
      python("print(open('data.txt').read())", "c2"),
      { text: "Done." },
    ]);
    const body = { model: "gpt-4o", messages, ...whole(skill_id) };
    const answer = JSON.parse(JSON.stringify(await openai.chat.completions.create(body)));
    expect(toolResults(1)).toContain("6 seven");
    expect(toolResults(2)).toContain("seven!");
    expect(answer.generated_files).toMatchObject([{ filename: "data.txt" }]);
    fake.script([python("print(1)"), { text: "Done." }]);
    const stream = await openai.chat.completions.create({ ...body, stream: true }).asResponse();
    expect(await stream.text()).toMatch(/^: litellm_code_execution$/m);
    const whole_skill = body.container;
    fake.script([python("open('a.txt', 'w').write('a')"), { text: "Done." }]);
    const said = await client.messages.create({ ...ask, model: "gpt-4o", container: whole_skill });
    expect(said).toMatchObject({
      generated_files: [{ filename: "a.txt", size_bytes: 1 }],
      _litellm_generated_files: [{ name: "a.txt", content_base64: "YQ==" }],
    });
  });

  test("12: Python's names are there in the next call, and in the next request", async () => {
    const code = (text: string, id: string) => ({
      tool_calls: [{ id, name: "code_execution", arguments: { code: text } }],
    });
    fake.script([
      code("import math\nx = 6\ndef twice(n):\n    return 2 * n", "p1"),
      code("print(twice(x), math.floor(x + 0.5))", "p2"),
      { text: "Done." },
    ]);
    const later = { type: "code_execution_20260120" as const, name: "code_execution" as const };
    const first = await client.messages.create({ ...ask, model: "gpt-4o", tools: [later] });
    expect(first.content[3]).toMatchObject({ content: { stdout: "12 6" } });
    fake.script([code("print(x + 1)", "p3"), { text: "Done." }]);
    const early = { type: "code_execution_20250522" as const, name: "code_execution" as const };
    const container = first.container?.id ?? null;
    const second = await client.messages.create({ ...ask, model: "gpt-4o", tools: [early], container });
    expect(second.content[1]).toMatchObject({ content: { stdout: "7", return_code: 0 } });
  });

  test("a container's memory limit holds for the commands in it", async () => {
    const seven = new OpenAI7({ apiKey: "any", baseURL: `${hull.url}/v1`, maxRetries: 0 });
    const small = await seven.containers.create({ name: "small", memory_limit: "1g" });
    expect(small.memory_limit).toBe("1g");
    const call = { id: "m1", name: "bash_code_execution", arguments: { command: "ulimit -d" } };
    fake.script([{ tool_calls: [call] }, { text: "Done." }]);
    const answer = await client.messages.create({
      ...ask,
      model: "gpt-4o",
      tools: [CODE],
      container: small.id,
    });
    expect(answer.content[1]).toMatchObject({ content: { stdout: "1048576" } });
  });

  test("13: a request contains a skill's name and description only, until the model loads it", async () => {
    const skill_id = await storedSkill("quiet");
    fake.script([
      { tool_calls: [{ id: "l1", name: "load_skill", arguments: { name: "quiet" } }] },
      { text: "42." },
    ]);
    const skills = [{ type: "custom" as const, skill_id, version: "latest" }];
    await client.messages.create({ ...ask, model: "gpt-4o", container: { skills } });
    expect(sent(0)).toContain("Knows quiet.");
    expect(sent(0)).not.toContain("secret of quiet");
    expect(sent(1)).toContain("The secret of quiet is 42.");
  });

  test("the example of LiteLLM's documentation becomes the request that it shows", async () => {
    const body =
      "# Data Analysis Skill\n\nThis skill helps with data analysis tasks...\n\n## Usage\nWhen the user asks about data analysis...";
    const text = `---\nname: data-analysis\ndescription: Analyses data.\n---\n\n${body}\n`;
    const files = [await toFile(Buffer.from(text), "data-analysis/SKILL.md")];
    const { id } = await client.skills.create({ files, display_name: "Data Analysis Skill" });
    fake.script([{ text: "Done." }]);
    const asked = [{ role: "user" as const, content: "Help me analyze data" }];
    const request = { model: "gpt-4o", messages: asked, ...whole(id) };
    await openai.chat.completions.create(request);
    const { model, messages: told, tools, ...further } = fake.requests[0]?.body ?? expect.fail("none");
    expect({ model, messages: told, tools }).toEqual({
      model: "gpt-4o",
      messages: [
        {
          role: "system",
          content: `---\n\n# Available Skills\n\n## Skill: Data Analysis Skill\n\n${body}`,
        },
        ...asked,
      ],
      tools: [
        {
          type: "function",
          function: {
            name: id,
            description: body.slice(body.indexOf("This skill")),
            parameters: { type: "object", properties: {}, required: [] },
          },
        },
      ],
    });
    expect(Object.keys(further).sort()).toEqual(["max_completion_tokens", "stream", "stream_options"]);
  });

  test("after ten rounds a chat completion says that they were used up", async () => {
    fake.script((request) =>
      request.body.tool_choice === "none" ? { text: "Enough." } : python("1", `c${fake.requests.length}`),
    );
    const skill_id = await storedSkill("endless", { "a.py": "" });
    const body = { model: "gpt-4o", messages, ...whole(skill_id) };
    const answer = await openai.chat.completions.create(body);
    expect(answer).toMatchObject({
      max_iterations_reached: true,
      choices: [{ message: { content: "Enough." } }],
    });
    expect(fake.requests).toHaveLength(11);
  });

  test("packages of requirements.txt are installed; if that fails, the output says so and the code still runs", async () => {
    const wheelless = await storedSkill("lacking", {
      "a.py": "",
      "requirements.txt": "--no-index\nno-such-package-of-hull==1.0\n",
    });
    fake.script([python("print('still ran')"), { text: "Done." }]);
    const body = { model: "gpt-4o", messages, ...whole(wheelless) };
    await openai.chat.completions.create(body);
    expect(toolResults(1)).toMatch(/packages of lacking could not be installed.*no-such-package-of-hull/s);
    expect(toolResults(1)).toContain("still ran");
  });

  test("a description is the body's beginning; parameters come from the metadata", async () => {
    const parameters = JSON.stringify({
      type: "object",
      properties: { q: { type: "string" } },
      required: ["q"],
    });
    const text = (metadata: string, body: string) =>
      `---\nname: long\ndescription: Long.\n${metadata}---\n# Long\n\n${body}\n`;
    const made = async (content: string) =>
      (await client.skills.create({ files: [await toFile(Buffer.from(content), "long/SKILL.md")] })).id;
    const long = await made(text(`metadata:\n  parameters: '${parameters}'\n`, "x".repeat(2000)));
    const short = await made(text("metadata:\n  parameters: ''\n", "This skill helps."));
    const toolOf = async (id: string) => {
      fake.script([{ text: "Done." }]);
      const body = { model: "gpt-4o", messages, ...whole(id) };
      await openai.chat.completions.create(body);
      const tools = fake.requests.at(-1)?.body.tools as { function: Record<string, unknown> }[];
      return tools[0]?.function;
    };
    expect(await toolOf(long)).toMatchObject({
      description: `${"x".repeat(1021)}...`,
      parameters: JSON.parse(parameters),
    });
    expect(await toolOf(short)).toMatchObject({
      name: short,
      description: "This skill helps.",
      parameters: { type: "object", properties: {}, required: [] },
    });
  });
});
