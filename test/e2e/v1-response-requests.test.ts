/** What requests of `/v1/responses` carry, and what is refused; the client is OpenAI's own SDK, unmodified. */
import OpenAI, { toFile } from "openai";
import { describe, expect, test } from "vitest";
import { commonHull, UNSET } from "../support/common-hull.ts";
import { until } from "../support/runner.ts";

const { hull, fake } = await commonHull({
  "limericks/SKILL.md":
    "---\nname: limericks\ndescription: Answers in limericks.\nprovider: openai\nmodel: gpt-4o\n---\nAnswer in limericks.\n",
});
const client = new OpenAI({ apiKey: "any", baseURL: `${hull.url}/v1`, maxRetries: 0 });
const GPT = "gpt-4o";
const SHELL = { type: "shell" as const, environment: { type: "container_auto" as const } };
const shellWith = (skill_id: string) => ({
  type: "shell",
  environment: { type: "container_auto", skills: [{ type: "skill_reference", skill_id }] },
});
const bringsShell = { type: "additional_tools", tools: [{ type: "function", name: "shell" }] };
const sent = (): string => JSON.stringify(fake.requests[0]?.body);

describe("a request", () => {
  test("carries images, stored files, a schema and its system texts", async () => {
    const note = await client.files.create({
      file: await toFile(Buffer.from("%PDF-1.4 x"), "a.pdf", { type: "application/pdf" }),
      purpose: "user_data",
    });
    fake.script([{ text: '{"a":1}' }]);
    const schema = {
      type: "object",
      properties: { a: { type: "integer" } },
      required: ["a"],
      additionalProperties: false,
    };
    await client.responses.create({
      model: GPT,
      input: [
        { role: "developer", content: "Answer as JSON." },
        {
          role: "user",
          content: [
            { type: "input_text", text: "What is it?" },
            { type: "input_image", image_url: "data:image/png;base64,iVBORw0KGgo=", detail: "low" },
            { type: "input_file", file_id: note.id },
          ],
        },
      ],
      text: { format: { type: "json_schema", name: "answer", schema, strict: true } },
    });
    const body = sent();
    for (const part of [
      "Answer as JSON.",
      "iVBORw0KGgo=",
      Buffer.from("%PDF-1.4 x").toString("base64"),
      "additionalProperties",
    ])
      expect(body).toContain(part);
  });

  test("continues a response whose file was deleted since; the model reads that it is gone", async () => {
    const note = await client.files.create({
      file: await toFile(Buffer.from("%PDF-1.4 x"), "a.pdf", { type: "application/pdf" }),
      purpose: "user_data",
    });
    const input = [{ role: "user" as const, content: [{ type: "input_file" as const, file_id: note.id }] }];
    fake.script([{ text: "A file." }, { text: "Gone." }]);
    const first = await client.responses.create({ model: GPT, input });
    await client.files.delete(note.id);
    const next = { model: GPT, input: "And now?", previous_response_id: first.id };
    expect((await client.responses.create(next)).output_text).toBe("Gone.");
    expect(JSON.stringify(fake.requests[1]?.body)).toContain(`The file ${note.id} was deleted.`);
    expect((await client.responses.inputTokens.count(next)).input_tokens).toBeGreaterThan(0);
    // The request's own input must name a file that exists.
    await expect(client.responses.create({ model: GPT, input })).rejects.toBeInstanceOf(OpenAI.NotFoundError);
  });

  test("names items of stored responses by id alone, as the AI SDK does", async () => {
    const tools = [{ type: "function" as const, name: "look", parameters: {}, strict: false }];
    fake.script([
      { tool_calls: [{ id: "c1", name: "look", arguments: { at: 1 } }] },
      { tool_calls: [{ id: "c2", name: "look", arguments: { at: 2 } }] },
      { text: "Done." },
    ]);
    const input: OpenAI.Responses.ResponseInputItem[] = [{ role: "user", content: "Look twice." }];
    const ask = () => client.responses.create({ model: GPT, input, tools });
    for (const call_id of ["c1", "c2"]) {
      const { output } = await ask();
      for (const { id = "" } of output) input.push({ type: "item_reference", id });
      input.push({ type: "function_call_output", call_id, output: `saw ${call_id}` });
    }
    expect((await ask()).output_text).toBe("Done.");
    expect(fake.requests[2]?.body.messages.map(({ role, content }) => [role, content])).toMatchObject([
      ["user", "Look twice."],
      ["assistant", null],
      ["tool", "saw c1"],
      ["assistant", null],
      ["tool", "saw c2"],
    ]);
    const [, named] = input;
    if (named?.type !== "item_reference") throw new Error("no reference");
    const first = `resp_${named.id.slice(3, 35)}`;
    // An item that its response does not have, and items of a response that was removed.
    const other = { ...named, id: `${named.id.slice(0, -4)}0009` };
    await expect(client.responses.create({ model: GPT, input: [other] })).rejects.toMatchObject({
      status: 400,
      param: "input.0.id",
    });
    await client.responses.delete(first);
    await expect(ask()).rejects.toMatchObject({ status: 400, param: "input.1.id" });
    const many = Array.from({ length: 401 }, (_, n) => {
      return { ...named, id: `msg_${String(n).padStart(32, "0")}0000` };
    });
    await expect(client.responses.create({ model: GPT, input: many })).rejects.toMatchObject({
      status: 400,
      param: "input",
    });
  });

  test("names no more than a conversation may have", async () => {
    fake.script([{ text: "x".repeat(1024 * 1024) }]);
    const { output } = await client.responses.create({ model: GPT, input: "Hello?" });
    const named = { type: "item_reference" as const, id: String(output[0]?.id) };
    const all = client.responses.create({ model: GPT, input: Array(33).fill(named) });
    await expect(all).rejects.toMatchObject({ status: 400, param: "input" });
  });

  test.each([true, false])("has the warnings in its head that are known before: stored %s", async (store) => {
    fake.script([{ text: "Hi." }]);
    const body = { model: "mystery", input: "Hello?", stream: true as const, store };
    const { data, response } = await client.responses.create(body).withResponse();
    expect(response.headers.get("x-hull-warnings")).toBe("provider_not_inferred");
    const ends: object[] = [];
    for await (const event of data) if (event.type === "response.completed") ends.push(event.response);
    expect(ends).toMatchObject([{ warnings: [{ code: "provider_not_inferred" }] }]);
  });

  describe.each([GPT, "claude-opus-4-6"])("as Codex sends it, to %s", (model) => {
    const tool = (name: string) => ({ type: "function" as const, name, parameters: {}, strict: false });
    const search = {
      type: "tool_search" as const,
      execution: "client" as const,
      description: "Finds tools.",
    };
    const grammar = { type: "grammar" as const, syntax: "lark" as const, definition: 'start: "***"' };
    const agents = { type: "namespace", name: "agents", description: "Agents.", tools: [tool("close")] };
    const exec = { type: "custom" as const, name: "exec", description: "Runs JavaScript." };
    const more = {
      type: "additional_tools",
      role: "developer",
      tools: [{ type: "namespace", name: "functions", description: "", tools: [exec] }],
    };
    const found = { type: "namespace", name: "mcp__hull", description: "Hull.", tools: [tool("hello")] };
    const body = {
      model,
      store: false as const,
      include: ["reasoning.encrypted_content" as const],
      parallel_tool_calls: false,
      prompt_cache_key: "k",
      client_metadata: { thread_id: "t" },
      tools: [tool("look"), { type: "custom", name: "patch", format: grammar }, agents, search],
    } as object as Omit<OpenAI.Responses.ResponseCreateParamsNonStreaming, "stream">;
    const asked = [more, { type: "message", role: "user", content: "Go." }] as object[];
    const ask = async (input: object[], stream: boolean) => {
      const whole = { ...body, input: input as OpenAI.Responses.ResponseInput };
      return stream ? client.responses.stream(whole).finalResponse() : client.responses.create(whole);
    };
    const calls = [
      { id: "c1", name: "patch", arguments: { input: "***" } },
      { id: "c2", name: "agents__close", arguments: { target: 1 } },
      { id: "c3", name: "tool_search", arguments: { query: "hull" } },
      { id: "c4", name: "functions__exec", arguments: { input: "text(1)" } },
      { id: "c5", name: "look", arguments: {} },
    ];

    test.each([false, true])("its tools are called as it knows them: streamed %s", async (stream) => {
      fake.script([
        { tool_calls: calls },
        { tool_calls: [{ id: "c6", name: "mcp__hull__hello", arguments: {} }] },
      ]);
      const { output } = await ask(asked, stream);
      expect(output).toMatchObject([
        { type: "custom_tool_call", call_id: "c1", name: "patch", input: "***" },
        {
          type: "function_call",
          call_id: "c2",
          namespace: "agents",
          name: "close",
          arguments: '{"target":1}',
        },
        { type: "tool_search_call", call_id: "c3", execution: "client", arguments: { query: "hull" } },
        { type: "custom_tool_call", call_id: "c4", namespace: "functions", name: "exec", input: "text(1)" },
        { type: "function_call", call_id: "c5", name: "look", arguments: "{}" },
      ]);
      const image = { type: "input_image", image_url: "data:image/png;base64,iVBORw0KGgo=" };
      const results = [
        { type: "custom_tool_call_output", call_id: "c1", output: "patched" },
        { type: "function_call_output", call_id: "c2", output: "closed" },
        {
          type: "tool_search_output",
          call_id: "c3",
          execution: "client",
          status: "completed",
          tools: [found],
        },
        {
          type: "custom_tool_call_output",
          call_id: "c4",
          output: [{ type: "input_text", text: "1" }, image],
        },
        { type: "function_call_output", call_id: "c5", output: "seen" },
      ];
      const next = await ask([...asked, ...output, ...results], stream);
      expect(next.output).toMatchObject([{ type: "function_call", namespace: "mcp__hull", name: "hello" }]);
      const [first, second] = fake.requests.map(({ body: { tools = [] } }) =>
        tools.map((one) => Object(one).name ?? Object(one).function.name),
      );
      expect(first).toEqual(["look", "patch", "agents__close", "tool_search", "functions__exec"]);
      expect(second).toEqual([...(first ?? []), "mcp__hull__hello"]);
      expect(sent()).toContain('start: \\"***\\"');
      const continued = JSON.stringify(fake.requests[1]?.body.messages);
      for (const part of [
        "patched",
        "closed",
        "mcp__hull__hello",
        "agents__close",
        "text(1)",
        "iVBORw0KGgo=",
      ])
        expect(continued).toContain(part);
    });

    test("tools whose names are too long together for providers have shorter ones there", async () => {
      const name = "n".repeat(40);
      const names = ["a", "b"].map((end) => "t".repeat(40) + end);
      const tools = [{ type: "namespace", name, tools: names.map(tool) }];
      fake.script([{ text: "Yes." }]);
      await ask([{ type: "additional_tools", tools }, ...asked], false);
      const [first] = fake.requests.map(({ body: { tools = [] } }) =>
        tools.map((one): string => Object(one).name ?? Object(one).function.name),
      );
      const short = first?.filter((one) => one.startsWith(name)) ?? [];
      expect(short.map((one) => /^[a-zA-Z0-9_-]{64}$/.test(one))).toEqual([true, true]);
      fake.script([{ tool_calls: short.map((one, n) => ({ id: `c${n}`, name: one, arguments: {} })) }]);
      const { output } = await ask([{ type: "additional_tools", tools }, ...asked], false);
      expect(output).toMatchObject(names.map((one) => ({ namespace: name, name: one })));
    });

    test("a stored response that it continues has the tools that items brought", async () => {
      const turn = (id: string) => ({
        tool_calls: [{ id, name: "functions__exec", arguments: { input: id } }],
      });
      fake.script([turn("c1"), turn("c2")]);
      const input = asked as OpenAI.Responses.ResponseInput;
      const { id } = await client.responses.create({ ...body, input, store: true });
      const output = { type: "custom_tool_call_output" as const, call_id: "c1", output: "1" };
      const next = await client.responses.create({ ...body, input: [output], previous_response_id: id });
      expect(next.output).toMatchObject([
        { type: "custom_tool_call", call_id: "c2", namespace: "functions", name: "exec", input: "c2" },
      ]);
    });
  });

  test.each([
    [GPT, false],
    [GPT, true],
    ["claude-opus-4-6", false],
    ["claude-opus-4-6", true],
  ])(
    "has patches and commands for the client in OpenAI's own items: %s, streamed %s",
    async (model, stream) => {
      const tools = [{ type: "apply_patch" as const }, { type: "local_shell" as const }];
      const patch = { type: "update_file", path: "a.txt", diff: "@@\n-a\n+b" };
      const command = { command: ["ls", "-l"], working_directory: "/w" };
      const calls = [
        { id: "c1", name: "apply_patch", arguments: patch },
        { id: "c2", name: "local_shell", arguments: { ...command, type: "other" } },
        { id: "c3", name: "apply_patch", arguments: { type: "delete_file", path: "b.txt" } },
      ];
      fake.script([{ tool_calls: calls }, { text: "Done." }]);
      const ask = async (input: object[]) => {
        const body = { model, tools, store: false, input: input as OpenAI.Responses.ResponseInput };
        return stream ? client.responses.stream(body).finalResponse() : client.responses.create(body);
      };
      const asked = [{ role: "user", content: "Go." }];
      const { output } = await ask(asked);
      const exec = { type: "exec", ...command, env: {} };
      expect(output).toMatchObject([
        { type: "apply_patch_call", call_id: "c1", status: "completed", operation: patch },
        { type: "local_shell_call", call_id: "c2", status: "completed", action: exec },
        { type: "apply_patch_call", call_id: "c3", operation: { type: "delete_file", path: "b.txt" } },
      ]);
      // OpenAI's own API shows what a command does not say as null.
      Object.assign(Object(output[1]).action, { timeout_ms: null, user: null });
      const results = [
        { type: "apply_patch_call_output", call_id: "c1", status: "completed" },
        // OpenAI's shape calls the call's id so.
        { type: "local_shell_call_output", id: "c2", output: "total 0" },
        { type: "apply_patch_call_output", call_id: "c3", status: "failed", output: "no such file" },
      ];
      expect(await ask([...asked, ...output, ...results])).toMatchObject({ output_text: "Done." });
      const [first, second] = fake.requests.map(({ body }) => body);
      const names = first?.tools?.map((one) => Object(one).name ?? Object(one).function.name);
      expect(names).toEqual(["apply_patch", "local_shell"]);
      const told = JSON.stringify(second?.messages);
      for (const part of ["update_file", "working_directory", "completed", "total 0", "no such file"])
        expect(told).toContain(part);
      expect(told).not.toContain("timeout_ms");
      expect(told.match(/"is_error":true/g) ?? []).toHaveLength(model === GPT ? 0 : 1);
    },
  );

  test.each([
    [{ tools: [{ type: "tool_search" }] }, "tools.0.execution"],
    [{ tools: [{ type: "namespace", name: "n", tools: [{ type: "mcp" }] }] }, "tools.0.tools.0.type"],
    [
      {
        tools: [
          { type: "custom", name: "n__a" },
          { type: "namespace", name: "n", tools: [{ type: "custom", name: "a" }] },
        ],
      },
      "tools.1.tools.0.name",
    ],
    [{ input: [{ type: "custom_tool_call", call_id: "c", name: "a", input: "x" }] }, "input.0.call_id"],
    [{ input: [{ type: "custom_tool_call_output", call_id: "c", output: "x" }] }, "input.0.call_id"],
    [
      {
        input: [
          { type: "additional_tools", tools: [{ type: "mcp" }] },
          { role: "user", content: "x" },
        ],
      },
      "input.0.tools.0.type",
    ],
    [{ tools: [{ type: "web_search" }] }, "tools.0.type"],
    [{ input: [{ type: "computer_call" }] }, "input.0"],
    [{ input: [{ role: "user", content: [{ type: "input_audio_x" }] }] }, "input.0.content.0"],
    [{ prompt: { id: "p" } }, "prompt"],
    [{ service_tier: "flex" }, "service_tier"],
    [{ background: true, background_options: { completion_window: "2h" } }, "background_options"],
    [{ background: true, store: false }, "store"],
    [{ metadata: { ["k".repeat(65)]: "v" } }, `metadata.${"k".repeat(65)}`],
    [{ tool_choice: { type: "mcp" } }, "tool_choice"],
    [{ text: { format: { type: "xml" } } }, "text.format"],
    [{ tools: [{ type: "shell", environment: { type: "moon" } }] }, "tools.0.environment.type"],
    [
      {
        tools: [
          {
            ...SHELL,
            environment: {
              type: "container_auto",
              network_policy: { type: "allowlist", allowed_domains: ["example.com"] },
            },
          },
        ],
      },
      "tools.0.environment.network_policy.allowed_domains",
    ],
    [{ tools: [SHELL, { type: "function", name: "shell", parameters: {} }] }, "tools.1.name"],
    [{ tools: [SHELL], input: [bringsShell, { role: "user", content: "x" }] }, "input.0.tools.0.name"],
    [
      {
        tools: [{ type: "shell", environment: { type: "local" } }],
        input: [{ role: "user", content: "x" }, bringsShell],
      },
      "input.1.tools.0.name",
    ],
    [{ tools: [shellWith("skill_none")] }, "tools.0.environment.skills.0.skill_id"],
    // Its provider has no key.
    [
      { model: `${UNSET.provider}/any`, tools: [shellWith("skill_none")] },
      "tools.0.environment.skills.0.skill_id",
    ],
  ])("is refused with the path of what Hull cannot pass on: %j", async (more, param) => {
    const body = {
      model: GPT,
      input: "Hello?",
      ...more,
    } as OpenAI.Responses.ResponseCreateParamsNonStreaming;
    await expect(client.responses.create(body)).rejects.toMatchObject({ status: 400, param });
    expect(fake.requests).toHaveLength(0);
  });

  test.each([false, true])(
    "has the JSON that Claude gives by Hull's tool as its text: streamed %s",
    async (stream) => {
      fake.script([{ tool_calls: [{ name: "json_response", arguments: { n: 1 } }] }]);
      const schema = { type: "object", properties: { n: { type: "integer" } } };
      const format = { type: "json_schema" as const, name: "n", schema };
      const body = { model: "claude-opus-4-6", input: "A number?", text: { format } };
      const { output } = await (stream
        ? client.responses.stream(body).finalResponse()
        : client.responses.create(body));
      expect(output).toMatchObject([{ type: "message", content: [{ text: '{"n":1}' }] }]);
    },
  );

  test.each([
    [{ text: "Half", stop: "content_filter" }, "incomplete", "content_filter", "incomplete"],
    [{ text: "Half", stop: "length" }, "incomplete", "max_output_tokens", "incomplete"],
    [{ refusal: "I will not." }, "completed", undefined, "completed"],
  ])("with a cut answer says so, and so does its item: %j", async (turn, status, reason, item) => {
    fake.script([turn, turn]);
    const body = { model: GPT, input: "Hello?" };
    const whole = await client.responses.create(body);
    const events: OpenAI.Responses.ResponseStreamEvent[] = [];
    for await (const event of await client.responses.create({ ...body, stream: true })) events.push(event);
    for (const [response, done] of [
      [whole, whole.output.at(-1)],
      [
        events.flatMap((event) => ("response" in event ? [event.response] : [])).at(-1),
        events.flatMap((event) => (event.type === "response.output_item.done" ? [event.item] : [])).at(-1),
      ],
    ] as const) {
      expect([response?.status, response?.incomplete_details?.reason]).toEqual([status, reason]);
      expect(done).toMatchObject({ status: item });
    }
  });

  test.each([true, false])(
    "is made again if its answer breaks off before the client has received any of it (store: %s)",
    async (store) => {
      fake.script([{ text: ["Ha", "lf"], cut: true }, { text: "Whole." }]);
      const whole = await client.responses.create({ model: GPT, input: "Hi", store });
      expect([whole.status, whole.output_text]).toEqual(["completed", "Whole."]);
      expect(fake.requests).toHaveLength(2);
    },
  );

  test("has an incomplete item if its answer breaks off", async () => {
    fake.script([{ text: ["Ha", "lf"], cut: true }]);
    const types: string[] = [];
    for await (const event of await client.responses.create({ model: GPT, input: "Hi", stream: true }))
      types.push(event.type === "response.output_item.done" ? String(Object(event.item).status) : event.type);
    expect(types.slice(-2)).toEqual(["incomplete", "response.failed"]);
  });

  test("with a failing provider has the error's own status, and is kept as failed", async () => {
    fake.script([{ status: 400, body: { error: { message: "no such thing" } } }]);
    const refused = client.responses.create({ model: GPT, input: "Hello?", stream: true });
    await expect(refused).rejects.toMatchObject({ status: 400 });
    fake.script([{ status: 400, body: { error: { message: "no such thing" } } }]);
    const { id } = await client.responses.create({ model: GPT, input: "Hello?", background: true });
    const failed = await until(
      () => client.responses.retrieve(id),
      ({ status }) => status !== "queued" && status !== "in_progress",
    );
    expect(failed).toMatchObject({
      status: "failed",
      error: { message: expect.stringContaining("no such thing") },
    });
    const after = client.responses.create({ model: GPT, input: "And?", previous_response_id: id });
    await expect(after).rejects.toMatchObject({ status: 400, param: "previous_response_id" });
  });

  test.each([true, false])(
    "streams while the provider speaks (store: %s), and ends where it breaks off",
    async (store) => {
      const gate = Promise.withResolvers<void>();
      fake.script([
        { text: ["One, ", "two"], paced: async (n) => (n === 1 ? gate.promise : null), cut: true },
      ]);
      const body = { model: GPT, input: "Count.", stream: true as const, store };
      const events: OpenAI.Responses.ResponseStreamEvent[] = [];
      for await (const event of await client.responses.create(body)) {
        events.push(event);
        if (event.type === "response.output_text.delta") gate.resolve();
      }
      const [created] = events;
      if (created?.type !== "response.created") throw new Error("no beginning");
      expect(events.some((event) => event.type === "response.output_text.delta")).toBe(true);
      expect(events.at(-1)).toMatchObject({ type: "response.failed", response: { status: "failed" } });
      if (store) expect((await client.responses.retrieve(created.response.id)).status).toBe("failed");
    },
  );

  test("for a served skill as a model", async () => {
    fake.script([{ text: "Roses are red." }]);
    const answer = await client.responses.create({ model: "skill/limericks", input: "Hello?" });
    expect(answer.output_text).toBe("Roses are red.");
    expect(sent()).toContain("Answer in limericks.");
  });
});
