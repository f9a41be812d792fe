/** The console's pages of sessions and their artifacts, as the Worker sends them. */
import { beforeAll, describe, expect, it } from "vitest";
import { client, EVIL, page, publishSkills, sent } from "./console-client.ts";

beforeAll(publishSkills);

describe("sessions", () => {
  const options = (mock: unknown[]): string => JSON.stringify({ provider: "mock", mock });

  it("one is opened, gets a message, is forked, archived, and deleted only if its id was typed", async () => {
    expect((await page("/console/sessions", sent({ id: "talk" }))).response.headers.get("location")).toBe(
      "/console/sessions/talk",
    );
    const fields = { prompt: `Hi ${EVIL}`, options: options([{ text: `Hello ${EVIL}` }]) };
    const said = await page("/console/sessions/talk/say", sent(fields));
    expect(said.response.status).toBe(303);
    await expect
      .poll(async () => (await page("/console/sessions/talk")).text)
      .toContain("Hello &lt;script&gt;");
    // The object sends the run's row a moment later: it has a deployment of its own here, as in another isolate.
    await expect
      .poll(async () => (await page("/console/sessions/talk")).text)
      .toContain("/console/runs/run_");
    const { text } = await page("/console/sessions/talk");
    expect(text).not.toContain("<script>alert");
    expect(text).not.toContain("<img");
    const fork = await page("/console/sessions/talk/fork", sent({ keep_first: "1" }));
    const forked = fork.response.headers.get("location") ?? "";
    expect((await page(forked)).text).toContain('<a href="/console/sessions/talk">talk</a>');
    await page("/console/sessions/talk/archive", sent({}));
    expect((await page("/console/sessions/talk")).text).toContain("Make it active again");
    expect((await page("/console/sessions/talk/delete", sent({ sure: "tal" }))).response.status).toBe(400);
    await page("/console/sessions/talk/delete", sent({ sure: "talk" }));
    expect((await page("/console/sessions/talk")).response.status).toBe(404);
  });

  it("one with a failed last run says so, and shows what the model called; a run under way takes no options", async () => {
    await client.post("/sessions", { id: "failed" });
    const mock = [{ tool_calls: [{ name: "ask", arguments: { q: EVIL } }], thinking: "Hm." }];
    const ask = { name: "ask", description: "Asks.", parameters: { q: { type: "string" } } };
    const body = { prompt: "Go.", options: { provider: "mock", mock, tools: [ask] } };
    await client.post("/sessions/failed/runs?wait=idle", body);
    const { text } = await page("/console/sessions/failed");
    expect(text).toContain("Calls <strong>ask</strong>");
    expect(text).toContain("Thoughts");
    expect(text).not.toContain("<script>alert");
    const say = (fields: Record<string, string>) => page("/console/sessions/failed/say", sent(fields));
    for (const options of ["{", '{"provider": "mock"}'])
      expect((await say({ prompt: "Also.", options })).response.status).toBe(400);
    expect((await say({ prompt: "Also.", options: "" })).response.status).toBe(303);
    const { run } = await (await client.fetch("/sessions/failed")).json<{ run: { run_id: string } }>();
    await client.post(`/sessions/failed/runs/${run.run_id}/cancel`, {});
    await say({ prompt: "Hi.", options: options([{ error: { category: "auth" } }]) });
    await expect
      .poll(async () => (await page("/console/sessions/failed")).text)
      .toContain("The last run failed: <code>provider_auth_failed</code>");
  });

  it("a form sent again returns to the run that it began, and a run under way gets each message once", async () => {
    await client.post("/sessions", { id: "again" });
    const say = (fields: Record<string, string>) => page("/console/sessions/again/say", sent(fields));
    const ask = { name: "ask", description: "Asks.", parameters: {} };
    const begin = {
      provider: "mock",
      mock: [{ tool_calls: [{ name: "ask", arguments: {} }] }],
      tools: [ask],
    };
    const first = { prompt: "First.", options: JSON.stringify(begin), once: "1" };
    const second = { prompt: "Second.", once: "2" };
    for (const fields of [first, first, second, second])
      expect((await say(fields)).response.status).toBe(303);
    await client.post("/sessions/again/tool-results", { tool_call_id: "mock_call_1", content: "Done." });
    const over = async () => (await (await client.fetch("/sessions/again")).json<{ run: unknown }>()).run;
    await expect.poll(over).toBeNull();
    const listed = await client.fetch("/sessions/again/messages");
    const { data } = await listed.json<{ data: { role: string; content: unknown }[] }>();
    const said = data.flatMap(({ role, content }) => (role === "user" ? [content] : []));
    expect(said).toEqual(["First.", "Second."]);
  });

  it("one that was compacted shows the summary once", async () => {
    await client.post("/sessions", { id: "compacted" });
    const run = { prompt: "Hi.", options: { provider: "mock", mock: [{ text: "Hello." }] } };
    await client.post("/sessions/compacted/runs", run);
    await client.post("/sessions/compacted/compact", { keep_last: 0, summary: "they met" });
    const { text } = await page("/console/sessions/compacted");
    expect(text).toContain("Older messages were compacted.");
    expect(text.split("they met")).toHaveLength(2);
  });

  it("a compaction with nothing to replace reports it", async () => {
    await client.post("/sessions", { id: "short" });
    const { response } = await page("/console/sessions/short/compact", sent({}));
    const shown = (await page(response.headers.get("location") ?? "")).text;
    expect(shown).toContain("Nothing was compacted");
    expect((await page("/console/sessions/short")).text).not.toContain("Nothing was compacted");
  });

  it("a page beyond the last message says so, and links back", async () => {
    const messages = Array.from({ length: 60 }, (_, n) => ({ role: "user", content: `aside ${n + 1}` }));
    const transcript = { _type: "transcript", version: 2, id: "t", messages, events: [], assets: [] };
    await client.post("/sessions", { id: "many", transcript });
    const path = "/console/sessions/many";
    expect((await page(path)).text).toContain("Messages 11 to 60 of 60.");
    const { text } = await page(`${path}?from=60`);
    expect(text).toContain(
      `There is no message 61: the last one is 60. <a href="${path}">Show the last ones</a>`,
    );
    expect(text).not.toMatch(/Messages 61|Nothing was said/);
  });

  it("attack: its events are listed as text, with a filter, a page at a time", async () => {
    await client.post("/sessions", { id: "events" });
    const ask = { name: "ask", description: "Asks.", parameters: { q: { type: "string" } } };
    const mock = [{ tool_calls: [{ name: "ask", arguments: { q: EVIL } }] }];
    const run = { prompt: "Go.", options: { provider: "mock", mock, tools: [ask] } };
    await client.post("/sessions/events/runs?wait=idle", run);
    const path = "/console/sessions/events/events";
    expect((await page("/console/sessions/events")).text).toContain(`href="${path}"`);
    const { text } = await page(path);
    expect(text).toContain(">start</td>");
    expect(text).not.toContain("<script>alert");
    const calls = (await page(`${path}?event=tool_call`)).text;
    expect(calls).toContain("&lt;script&gt;");
    expect(calls).not.toContain(">start</td>");
    const api = "/sessions/events/events/list";
    const all = await (await client.fetch(`${api}?limit=1000`)).json<{ data: { id: string }[] }>();
    const seen: string[] = [];
    for (let cursor: string | null = "0"; cursor !== null; ) {
      const next = await client.fetch(`${api}?limit=2&cursor=${cursor}`);
      const some: { data: { id: string }[]; next_cursor: string | null } = await next.json();
      seen.push(...some.data.map(({ id }) => id));
      cursor = some.next_cursor;
    }
    expect(seen).toEqual(all.data.map(({ id }) => id));
    expect(seen.length).toBeGreaterThan(2);
    expect((await client.fetch("/sessions/nowhere/events/list")).status).toBe(404);
    expect((await page("/console/sessions/nowhere/events")).response.status).toBe(404);
  });

  it("attack: names of files and contents of artifacts are text; an artifact's frame is confined", async () => {
    await client.post("/sessions", { id: "made" });
    const upload = new FormData();
    upload.set("file", new File(["x"], "a <b> & 'c'.txt"));
    await page("/console/sessions/made/files", { method: "POST", body: upload });
    const { text } = await page("/console/sessions/made");
    expect(text).toContain("a &lt;b&gt; &amp;");
    const path = /href="(\/console\/sessions\/made\/files\/[^"]+)"/.exec(text)?.[1] ?? "";
    const file = await client.fetch(path.replaceAll("&#39;", "'"));
    expect(await file.text()).toBe("x");
    expect((await page("/console/sessions/made/artifacts/none")).response.status).toBe(404);
  });
});

/** The path of the page of an artifact that a tool drew. @param session a new one */
async function drawn(session: string, given: object): Promise<string> {
  await client.post("/sessions", { id: session });
  const tool = {
    name: "draw",
    description: "Draws.",
    handler: "draw",
    parameters: { type: "object", properties: {}, additionalProperties: true },
  };
  const mock = [{ tool_calls: [{ name: "draw", arguments: given }] }, { text: "Made." }];
  const options = { provider: "mock", skills: ["artist"], tools: [tool], mock };
  await client.post(`/sessions/${session}/runs`, { prompt: "Draw.", options });
  return `/console/sessions/${session}/artifacts/page`;
}

it("attack: an artifact is text on its page, and in a frame that reaches nothing", async () => {
  const content = "<script>parent.document.title = 'reached'</script>";
  const path = await drawn("drawn", { id: "page", type: "html", title: `Page ${EVIL}`, content });
  expect((await page("/console/sessions/drawn")).text).toContain(`href="${path}"`);
  const { text } = await page(path);
  expect(text).toContain('<iframe sandbox="allow-scripts"');
  expect(text).toContain("&lt;script&gt;parent.document");
  expect(text).not.toContain("<script>parent");
  expect(text).not.toContain("<img");
  const view = await client.fetch(`${path}/view`);
  expect(await view.text()).toBe(content);
  const policy = view.headers.get("content-security-policy") ?? "";
  expect(policy).toContain("sandbox allow-scripts; default-src 'none'");
  expect(policy).not.toContain("allow-same-origin");
  const file = await client.fetch(`${path}/file`);
  expect(file.headers.get("content-disposition")).toContain("attachment");
});

it("attack: an artifact of React is data in a page of the same policy, which loads nothing", async () => {
  const content =
    "// </script><!-- <script>parent.document.title = 'reached'</script>\nexport default () => <p />;";
  const path = await drawn("rendered", { id: "page", type: "react", title: EVIL, content });
  const { text } = await page(path);
  expect(text).toContain(`<iframe sandbox="allow-scripts" src="${path}/view?version=1"`);
  expect(text).toContain("&lt;script&gt;parent.document");
  const view = await client.fetch(`${path}/view`);
  const html = await view.text();
  expect(view.headers.get("content-type")).toBe("text/html; charset=utf-8");
  expect(view.headers.get("content-security-policy")).toBe(
    "sandbox allow-scripts; default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; font-src data:; form-action 'none'; base-uri 'none'; frame-ancestors 'self'",
  );
  const [, json = ""] = /<script type="application\/json" id="source">(.*)<\/script>\n/.exec(html) ?? [];
  expect(json).not.toContain("<");
  expect(JSON.parse(json)).toBe(content);
  expect(html.match(/<\/script/g)).toHaveLength(2);
  expect(html).not.toMatch(/<!--|<script src|<link|<img/);
});
