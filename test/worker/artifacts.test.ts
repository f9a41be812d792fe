/** Artifacts that tools make: events report them, the session keeps them, clients read them back. */
import { beforeAll, describe, expect, it } from "vitest";
import { readEvents, type SseEvent } from "../support/sse.ts";
import { Client, mockSkill } from "./served.ts";
import { type Body, client, codeOf, get, post, run, session } from "./session-client.ts";

const CANARY = "sk-ant-canary-0123456789";
const CONTENT = "CONTENT-OF-IT";
const HOOKS = `
export const draw = (given) => ({ __artifact__: true, ...given });
export const edit = (given) => ({ __artifact_update__: true, ...given });
`;
const declared = ["draw", "edit"].map((name) => ({
  name,
  description: name,
  handler: name,
  parameters: { type: "object", properties: {}, additionalProperties: true },
}));

/** Options of a run whose model makes these calls, one turn each. */
const calling = (...calls: [name: "draw" | "edit", args: Body][]): Body => ({
  skills: ["artist"],
  tools: declared,
  mock: [...calls.map(([name, args]) => ({ tool_calls: [{ name, arguments: args }] })), { text: "made" }],
});
const stream = (path: string, options: Body): Promise<SseEvent[]> =>
  client
    .stream(path, {
      method: "POST",
      headers: { "content-type": "application/json", accept: "text/event-stream" },
      body: JSON.stringify({ prompt: "go", options: { provider: "mock", ...options } }),
    })
    .then(readEvents);
const PAGE = { id: "page", type: "html", title: "Page", content: CONTENT, metadata: { a: 1 } };

beforeAll(() =>
  client.publish({ artist: mockSkill("artist") }, { "hooks.js": new TextEncoder().encode(HOOKS) }),
);

describe("in a session", () => {
  it("one event with all of it before the result; the model reads a line without content", async () => {
    const path = await session();
    const events = await stream(`${path}/runs`, calling(["draw", PAGE]));
    const names = events
      .map(({ event }) => event)
      .filter((name) => /^(tool_call|artifact|tool_result)$/.test(name));
    expect(names).toEqual(["tool_call", "artifact", "tool_result"]);
    const call_id = events.find(({ event }) => event === "tool_call")?.data.call_id;
    expect(events.find(({ event }) => event === "artifact")?.data).toEqual({ ...PAGE, version: 1, call_id });
    const done = events.at(-1)?.data ?? {};
    expect(done).toMatchObject({
      ok: true,
      artifacts: [{ id: "page", type: "html", title: "Page", version: 1 }],
    });
    const { data } = await get<{ data: unknown[] }>(`${path}/messages`);
    expect(JSON.stringify(data)).toContain('Artifact \\"Page\\" was made (id page, version 1).');
    const results = data.filter((message) => JSON.stringify(message).includes("was made"));
    expect(JSON.stringify(results)).not.toContain(CONTENT);
  });

  it("versions are kept, listed and read back; metadata is merged", async () => {
    const path = await session();
    await run(path, "go", calling(["draw", PAGE], ["draw", { type: "code", title: "Code", content: "x" }]));
    await run(path, "go on", calling(["edit", { id: "page", metadata: { b: 2 } }]));
    const { data } = await get<{ data: Body[] }>(`${path}/artifacts`);
    expect(
      data.map(({ title, type, language, version, versions }) => [title, type, language, version, versions]),
    ).toEqual([
      ["Page", "html", undefined, 2, 2],
      ["Code", "code", "text", 1, 1],
    ]);
    expect(JSON.stringify(data)).not.toContain(CONTENT);
    const last = await get(`${path}/artifacts/page`);
    expect(last).toMatchObject({
      ...PAGE,
      version: 2,
      metadata: { a: 1, b: 2 },
      versions: [{ version: 1 }, { version: 2 }],
    });
    expect(await get(`${path}/artifacts/page?version=1`)).toMatchObject({ version: 1, metadata: { a: 1 } });
    const first = await get<{ data: Body[]; next_cursor: string }>(`${path}/artifacts?limit=1`);
    const second = await get<{ data: Body[] }>(`${path}/artifacts?limit=1&cursor=${first.next_cursor}`);
    expect([...first.data, ...second.data]).toEqual(data);
    expect(second).toMatchObject({ next_cursor: null });
  });

  it("calls of one turn that update one artifact each make a version of their own, and none is lost", async () => {
    const path = await session();
    const edits = ["b", "c", "d", "e"].map((key) => ({
      name: "edit",
      arguments: { id: "page", metadata: { [key]: 1 } },
    }));
    await run(path, "go", calling(["draw", PAGE]));
    // Calls that read are made at once.
    const tools = declared.map((tool) => ({ ...tool, annotations: { kind: "read" } }));
    const mock = [{ tool_calls: edits }, { text: "edited" }];
    await run(path, "go on", { skills: ["artist"], tools, mock });
    expect(await get(`${path}/artifacts/page`)).toMatchObject({
      version: 5,
      metadata: { a: 1, b: 1, c: 1, d: 1, e: 1 },
      versions: [{ version: 1 }, { version: 2 }, { version: 3 }, { version: 4 }, { version: 5 }],
    });
  });

  it("an update of a missing artifact, and an invalid id, are errors to the model", async () => {
    const path = await session();
    const events = await stream(`${path}/runs`, calling(["edit", { id: "none" }], ["draw", { id: "a/b" }]));
    const results = events.filter(({ event }) => event === "tool_result");
    expect(results.map(({ data }) => [data.ok, data.code])).toEqual([
      [false, "tool_error"],
      [false, "tool_error"],
    ]);
    expect(events.some(({ event }) => event === "artifact")).toBe(false);
    const { data } = await get<{ data: { role: string; content: string }[] }>(`${path}/messages`);
    const told = data.find(({ role }) => role === "tool")?.content ?? "";
    expect(JSON.parse(told)).toEqual({ error: 'There is no artifact "none" to update.' });
    expect(await get(`${path}/artifacts`)).toEqual({ data: [], next_cursor: null });
  });

  it("a long artifact comes back whole", async () => {
    const path = await session();
    const content = "0123456789".repeat(90_000);
    await run(path, "go", calling(["draw", { ...PAGE, content }]));
    await run(path, "go", calling(["edit", { id: "page", title: "Long" }]));
    expect(await get(`${path}/artifacts/page`)).toMatchObject({ content, title: "Long", version: 2 });
  });

  it.each<[string, Body, string, string, string]>([
    ["HTML is never served as a page", PAGE, "text/html; charset=utf-8", "page.html", CONTENT],
    ["code", { ...PAGE, type: "code" }, "text/plain; charset=utf-8", "page.txt", CONTENT],
    [
      "a file name of its own",
      { ...PAGE, type: "document", fileName: "a b.md" },
      "text/plain; charset=utf-8",
      "a b.md",
      CONTENT,
    ],
    ["JSON", { ...PAGE, type: "custom", content: { a: 1 } }, "application/json", "page.json", '{"a":1}'],
    [
      "an image",
      { ...PAGE, type: "image", content: `data:image/png;base64,${btoa("png!")}` },
      "image/png",
      "page.png",
      "png!",
    ],
  ])("downloads: %s", async (_, artifact, type, name, body) => {
    const path = await session();
    await run(path, "go", calling(["draw", artifact]));
    const response = await client.fetch(`${path}/artifacts/page?download=1`);
    expect(response.headers.get("content-type")).toBe(type);
    expect(response.headers.get("content-disposition")).toContain("attachment");
    expect(response.headers.get("content-disposition")).toContain(name);
    expect(response.headers.get("content-security-policy")).toBe("sandbox");
    expect(await response.text()).toBe(body);
  });

  it.each([
    ["/artifacts/none", 404, "not_found"],
    ["/artifacts/page?version=7", 404, "not_found"],
    ["/artifacts/page?version=x", 400, "bad_request"],
    ["/artifacts?cursor=x", 400, "bad_request"],
    ["/artifacts?limit=0", 400, "bad_request"],
  ])("%s", async (further, status, code) => {
    const path = await session();
    await run(path, "go", calling(["draw", PAGE]));
    expect(await codeOf(await client.fetch(path + further))).toEqual([status, code]);
  });

  it("go with the session", async () => {
    const path = await session();
    await run(path, "go", calling(["draw", PAGE]));
    await client.fetch(path, { method: "DELETE" });
    expect(await codeOf(await client.fetch(`${path}/artifacts/page`))).toEqual([404, "not_found"]);
    await post("/sessions", { id: path.replace("/sessions/", "") });
    expect(await get(`${path}/artifacts`)).toEqual({ data: [], next_cursor: null });
  });

  it("secrets of the deployment are cut out of answers", async () => {
    const keyed = new Client({ HULL_ENV: "local", ANTHROPIC_API_KEY: CANARY });
    const path = await session();
    await run(path, "go", calling(["draw", { ...PAGE, content: `key ${CANARY}` }]));
    for (const further of ["", "?download=1"]) {
      const text = await (await keyed.fetch(`${path}/artifacts/page${further}`)).text();
      expect(text).toContain("key [redacted]");
      expect(text).not.toContain(CANARY);
    }
  });
});

it("an anonymous run has them in its events and its result, each in its final state", async () => {
  const options = calling(["draw", PAGE], ["edit", { id: "page", content: "new" }]);
  const events = await stream("/runs", options);
  const versions = events.filter(({ event }) => event === "artifact").map(({ data }) => data.version);
  expect(versions).toEqual([1, 2]);
  const artifact = { ...PAGE, content: "new", version: 2 };
  expect(events.at(-1)?.data.artifacts).toEqual([artifact]);
  const whole = await post("/runs", { prompt: "go", options: { provider: "mock", ...options } });
  expect((await whole.json<Body>()).artifacts).toEqual([artifact]);
});
