/** Tools that a run's model defines. */
import { evictDurableObject } from "cloudflare:test";
import { beforeAll, describe, expect, it, vi } from "vitest";
import { Client, mockSkill } from "./served.ts";

const client = new Client();
type Body = Record<string, unknown>;
type Sender = Pick<Client, "fetch">;
const JSON_TYPE = { "content-type": "application/json" };
const NUMBERS = { a: { type: "number", description: "A" }, b: { type: "number", description: "B" } };
const ADD = {
  name: "add",
  description: "Adds",
  parameters: JSON.stringify(NUMBERS),
  code: "return args.a + args.b",
};

beforeAll(async () => {
  await client.publish({
    words: {
      "SKILL.md": mockSkill("words"),
      "tools.json": JSON.stringify([{ name: "published", description: "P", script: "scripts/p.js" }]),
      "scripts/p.js": "export default () => 'published'",
    },
  });
});

const post = (path: string, body: unknown, by: Sender = client) =>
  by.fetch(path, {
    method: "POST",
    headers: JSON_TYPE,
    body: JSON.stringify(body),
  });

let count = 0;
async function session(): Promise<string> {
  const id = `dynamic${++count}`;
  expect((await post("/sessions", { id })).status).toBe(201);
  return id;
}

/** Makes one call after the other; returns the answer to each, and the tools of the last request. */
async function turns(id: string | null, calls: [string, object][], options: Body = {}, by: Sender = client) {
  const mock = [
    ...calls.map(([name, args]) => ({ tool_calls: [{ name, arguments: args }] })),
    { text: "end" },
  ];
  const body = { prompt: "go", options: { mock, dynamic_tools: true, ...options } };
  const response = await post(id === null ? "/runs" : `/sessions/${id}/runs`, body, by);
  const result = await response.json<{
    status: unknown;
    mock_calls: { tools: { name: string }[] | null }[];
    transcript: { messages: { role: string; content: unknown }[] };
  }>();
  expect([response.status, result.status]).toEqual([200, "done"]);
  const answers = result.transcript.messages.filter(({ role }) => role === "tool" || role === "tool_result");
  return {
    answers: answers.map(({ content }) => {
      try {
        return JSON.parse(String(content));
      } catch {
        return content;
      }
    }),
    offered: (result.mock_calls.at(-1)?.tools ?? []).map(({ name }) => name),
  };
}

describe("define_tool", () => {
  it("is offered only where the run asks for it", async () => {
    expect((await turns(null, [], {})).offered).toEqual(["define_tool", "remove_tool"]);
    expect((await turns(null, [], { dynamic_tools: false })).offered).toEqual([]);
  });

  it("makes a tool that the next call may use", async () => {
    const { answers, offered } = await turns(null, [
      ["define_tool", ADD],
      ["add", { a: 2, b: "3" }],
      ["add", { a: 2 }],
    ]);
    expect(answers).toEqual([{ defined: "add" }, 5, { error: expect.stringContaining("b") }]);
    expect(offered).toContain("add");
  });

  it.each<[string, object, unknown]>([
    ["an object as parameters", { parameters: NUMBERS }, 5],
    ["a module", { code: "export default ({ a, b }) => a + b" }, 5],
    ["a body that names workDir itself", { code: "var workDir = 1; const { a, b } = args; return a + b" }, 5],
    [
      "workDir and ctx",
      { code: "return [workDir === args.__workDir, workDir === ctx.workDir]" },
      [true, true],
    ],
    ["await", { code: "return await Promise.resolve(args.a)" }, 2],
    [
      "no network, no variables",
      { code: "try { await fetch('https://example.com') } catch { return Object.keys(process.env) }" },
      [],
    ],
  ])("takes %s", async (_, more, expected) => {
    const { answers } = await turns(null, [
      ["define_tool", { ...ADD, ...more }],
      ["add", { a: 2, b: 3 }],
    ]);
    expect(answers).toEqual([{ defined: "add" }, expected]);
  });

  it.each<[string, object, RegExp]>([
    ["parameters that are no JSON", { parameters: "{city:" }, /not valid JSON: line 1/],
    ["invalid parameters", { parameters: '{"city": 5}' }, /city/],
    ["the name load_skill", { name: "load_skill" }, /load_skill already/],
    ["the name define_tool", { name: "define_tool" }, /define_tool already/],
    ["the name of a published tool", { name: "published" }, /published already/],
    ["an invalid name", { name: "Add-Two" }, /1 to 64 of a-z0-9_/],
    ["no description", { description: " " }, /description/],
    [
      "code that is no JavaScript",
      { code: "return (" },
      /cannot be loaded: .*SyntaxError.*scripts\/add\.js:\d+/,
    ],
    ["a module without a handler", { code: "export default 5" }, /no default export/],
    ["code that fails while it loads", { code: "export default () => 1; throw new Error('early')" }, /early/],
    ["code without end", { code: "export default () => 1; while (true);" }, /cannot be loaded/],
  ])("refuses %s, and registers nothing", async (_, more, message) => {
    const { answers, offered } = await turns(null, [["define_tool", { ...ADD, ...more }]], {
      skills: ["words"],
    });
    expect(answers).toEqual([{ error: expect.stringMatching(message) }]);
    expect(offered.sort()).toEqual([
      "define_tool",
      "load_skill",
      "published",
      "read_skill_resource",
      "remove_tool",
    ]);
  });

  it("makes tools that the session keeps, also after its object's death", async () => {
    const id = await session();
    await turns(id, [
      ["define_tool", { ...ADD, code: "globalThis.n = (globalThis.n ?? 0) + 1; return globalThis.n" }],
    ]);
    await evictDurableObject(client.env.SESSIONS.get(client.env.SESSIONS.idFromName(`default/${id}`)));
    const { answers } = await turns(
      id,
      [
        ["add", { a: 1, b: 1 }],
        ["add", { a: 1, b: 1 }],
      ],
      { dynamic_tools: false },
    );
    // A fresh isolate for each call.
    expect(answers).toEqual([1, 1]);
  });
});

describe("remove_tool", () => {
  it("removes the definition, and nothing else", async () => {
    const calls: [string, object][] = [
      ["define_tool", ADD],
      ["remove_tool", { name: "add" }],
      ["add", { a: 1, b: 1 }],
      ...["load_skill", "define_tool", "published", "none"].map((name): [string, object] => [
        "remove_tool",
        { name },
      ]),
    ];
    const { answers, offered } = await turns(await session(), calls, { skills: ["words"] });
    expect(answers).toEqual([
      { defined: "add" },
      { removed: "add" },
      expect.stringContaining('"add" is not available'),
      ...Array.from({ length: 4 }, () => ({ error: expect.any(String) })),
    ]);
    expect(offered.sort()).toEqual([
      "define_tool",
      "load_skill",
      "published",
      "read_skill_resource",
      "remove_tool",
    ]);
  });
});

describe("a persistent tool", () => {
  const WEATHER = { ...ADD, name: "fetch__weather_", persistent: "true" };
  const stored = async () => {
    const { data } = await (await client.fetch("/_hull/skills")).json<{ data: { slug: string }[] }>();
    return data.map(({ slug }) => slug);
  };
  /** The skills that clients of `/v1` see. */
  const listed = async () => {
    const { data } = await (await client.fetch("/v1/skills")).json<{
      data: { id: string; name: string }[];
    }>();
    return data.map(({ name }) => name);
  };

  it("is stored as a skill, used in other sessions, and removed with its skill", async () => {
    const first = await session();
    const { answers } = await turns(first, [
      ["define_tool", WEATHER],
      ["fetch__weather_", { a: 1, b: 2 }],
      ["define_tool", { ...ADD, name: "fetch_weather", persistent: true }],
    ]);
    expect(answers).toEqual([
      { defined: "fetch__weather_", skill: "fetch-weather" },
      3,
      { error: expect.stringContaining("fetch-weather") },
    ]);
    expect([await stored(), await listed()]).toEqual([["fetch-weather"], ["fetch-weather"]]);
    // The session stored it in an isolate of its own.
    await client.deployment.catalogs.read("default");
    const other = await turns(
      await session(),
      [
        ["fetch__weather_", { a: 2, b: 2 }],
        ["remove_tool", { name: "fetch__weather_" }],
      ],
      { skills: ["fetch-weather"] },
    );
    expect(other.answers).toEqual([4, { removed: "fetch__weather_" }]);
    expect([await stored(), await listed()]).toEqual([[], []]);
    // The session that made it knows it still.
    const left = await turns(first, [["remove_tool", { name: "fetch__weather_" }]]);
    expect(left).toEqual({
      answers: [{ removed: "fetch__weather_" }],
      offered: ["define_tool", "remove_tool"],
    });
  });

  it("is listed once if its upload was removed and it is defined again", async () => {
    await turns(await session(), [["define_tool", WEATHER]]);
    expect((await client.fetch("/_hull/skills/fetch-weather", { method: "DELETE" })).status).toBe(204);
    expect([await stored(), await listed()]).toEqual([[], ["fetch-weather"]]);
    await client.deployment.catalogs.read("default");
    const again = await session();
    const { answers } = await turns(again, [["define_tool", WEATHER]]);
    expect(answers).toEqual([{ defined: "fetch__weather_", skill: "fetch-weather" }]);
    expect([await stored(), await listed()]).toEqual([["fetch-weather"], ["fetch-weather"]]);
    await turns(again, [["remove_tool", { name: "fetch__weather_" }]]);
    expect([await stored(), await listed()]).toEqual([[], []]);
  });

  it("is made whole by the next call of its kind if the first one died half-way", async () => {
    const { DB } = client.env;
    const prepare = DB.prepare.bind(DB);
    vi.spyOn(DB, "prepare").mockImplementation((statement) => {
      if (statement.includes("INTO stored_skills")) throw new Error("the process died");
      return prepare(statement);
    });
    const id = await session();
    await post(`/sessions/${id}/runs`, {
      prompt: "go",
      options: { mock: [{ tool_calls: [{ name: "define_tool", arguments: WEATHER }] }], dynamic_tools: true },
    });
    vi.restoreAllMocks();
    expect([await stored(), await listed()]).toEqual([["fetch-weather"], []]);
    const { answers } = await turns(await session(), [["define_tool", WEATHER]]);
    expect(answers).toEqual([{ defined: "fetch__weather_", skill: "fetch-weather" }]);
    expect([await stored(), await listed()]).toEqual([["fetch-weather"], ["fetch-weather"]]);
    await client.deployment.catalogs.read("default");
    const gone = await turns(await session(), [["remove_tool", { name: "fetch__weather_" }]], {
      skills: ["fetch-weather"],
    });
    expect(gone.answers).toEqual([{ removed: "fetch__weather_" }]);
    expect([await stored(), await listed()]).toEqual([[], []]);
  });

  it("refuses names that uploads may not have", async () => {
    const { answers } = await turns(await session(), [["define_tool", { ...WEATHER, name: "claude_says" }]]);
    expect(answers).toEqual([{ error: expect.stringContaining("field name") }]);
    expect([await stored(), await listed()]).toEqual([[], []]);
  });

  it("is neither stored nor removed by a caller without the right to publish", async () => {
    const admin = "k".repeat(40);
    const keyed = new Client({ HULL_ADMIN_KEY: admin });
    const withKey = (key: string): Sender => ({
      fetch: (path, init) =>
        keyed.fetch(path, { ...init, headers: { ...JSON_TYPE, authorization: `Bearer ${key}` } }),
    });
    const keyFor = async (...scopes: string[]): Promise<Sender> => {
      const made = await post("/admin/keys", { tenant: "dynamic", scopes, name: "k" }, withKey(admin));
      return withKey((await made.json<{ key: string }>()).key);
    };
    const [user, author] = [await keyFor("invoke"), await keyFor("invoke", "publish")];
    const remove: [string, object] = ["remove_tool", { name: WEATHER.name }];
    const refused = { error: expect.stringContaining("may not publish") };
    const skills = { skills: ["fetch-weather"] };
    const anonymous = new Client({ HULL_PUBLIC: "1" });
    for (const by of [user, anonymous]) {
      expect((await post("/sessions", { id: "other" }, by)).status).toBe(201);
      for (const id of ["other", null]) {
        const asked = await turns(
          id,
          [
            ["define_tool", WEATHER],
            ["define_tool", ADD],
          ],
          {},
          by,
        );
        expect(asked.answers).toEqual([refused, { defined: "add" }]);
      }
    }
    const made = await turns(null, [["define_tool", WEATHER]], {}, author);
    expect(made.answers).toEqual([{ defined: WEATHER.name, skill: "fetch-weather" }]);
    expect((await turns(null, [remove], skills, user)).answers).toEqual([refused]);
    expect((await turns(null, [remove], skills, author)).answers).toEqual([{ removed: WEATHER.name }]);
  });

  it("is not stored if it lasts only for the session", async () => {
    await turns(await session(), [["define_tool", { ...WEATHER, persistent: "yes" }]]);
    expect(await stored()).toEqual([]);
  });
});
