/** The console's pages, as they are without a browser. */
import { beforeAll, describe, expect, it, onTestFinished, vi } from "vitest";
import { makeZip } from "../support/zip.ts";
import { Client, mockSkill } from "./served.ts";
import { param, publishTools, skillTool } from "./tool-skills.ts";

const client = new Client();
const HTML = { accept: "text/html" };
const EVENTS = { "content-type": "text/event-stream" };
const EVIL = `<script>alert(1)</script>"'><img src=x onerror=alert(1)>`;
const EVIL_SLUG = "evil-script-alert-1-script-img-src-x-onerror-alert-1";

beforeAll(async () => {
  await client.publish({
    cat: mockSkill("cat"),
    artist: {
      "SKILL.md": mockSkill("artist"),
      "hooks.js": "export const draw = (given) => ({ __artifact__: true, ...given });",
    },
    evil: {
      "SKILL.md": `---\nname: ${JSON.stringify(`evil ${EVIL}`)}\ndescription: ${JSON.stringify(`[x](javascript:alert(1)) ${EVIL}`)}\nmode: static-file\nserve: page.txt\n---\n${EVIL}\n`,
      "page.txt": EVIL,
    },
    upstream:
      "---\nname: upstream\ndescription: Weather\nproxy: https://upstream.example/now\nmethod: GET\n---\n",
    shaped: mockSkill(
      "shaped",
      "input_schema: {type: object, required: [n], properties: {n: {type: integer, default: 3}}}\n",
    ),
  });
});

async function page(path: string, init: RequestInit = {}): Promise<{ response: Response; text: string }> {
  const response = await client.fetch(path, { ...init, headers: HTML });
  return { response, text: await response.text() };
}

/** What a browser would send of a form. */
function sent(fields: Record<string, string>): { method: string; body: FormData } {
  const body = new FormData();
  for (const [name, value] of Object.entries(fields)) body.set(name, value);
  return { method: "POST", body };
}

describe("every page", () => {
  it("has a strict policy, the navigation, and marks where one is", async () => {
    const { response, text } = await page("/");
    expect(response.status).toBe(200);
    const policy = response.headers.get("content-security-policy") ?? "";
    const nonce = /script-src 'nonce-([^']+)'/.exec(policy)?.[1];
    expect(policy).toContain("default-src 'none'");
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).not.toContain("unsafe");
    expect(text).toContain(`nonce="${nonce}"`);
    expect(response.headers.get("referrer-policy")).toBe("no-referrer");
    expect(text).toContain('<a href="/" aria-current="page">Skills</a>');
    expect((await page("/")).response.headers.get("content-security-policy")).not.toBe(policy);
  });

  it("loads its script and stylesheet from addresses that change with them", async () => {
    const { text } = await page("/");
    for (const [, path = ""] of text.matchAll(/(?:src|href)="(\/console\/s[^"]+\?v=[0-9a-f]+)"/g)) {
      const file = await client.fetch(path);
      expect([file.status, file.headers.get("cache-control")]).toEqual([200, "private, max-age=86400"]);
    }
  });

  it("what is not there is a page in the same house, and a problem document for programs", async () => {
    const { response, text } = await page("/console/nowhere");
    expect(response.status).toBe(404);
    expect(text).toContain('<nav aria-label="Console">');
    const problem = await client.fetch("/console/nowhere");
    expect([problem.status, problem.headers.get("content-type")]).toEqual([404, "application/problem+json"]);
  });
});

describe("skills", () => {
  it("are listed, searched and filtered", async () => {
    expect((await page("/")).text).toContain('<a href="/console/skills/cat"><bdi>cat</bdi></a>');
    const found = (await page("/?q=shaped")).text;
    expect(found).toContain("/console/skills/shaped");
    expect(found).not.toContain("/console/skills/cat");
    expect((await page("/?q=zebra")).text).toContain("No skill matches");
    expect((await page("/?mode=static-file")).text).not.toContain("/console/skills/cat");
  });

  it("attack: what a skill says of itself is text", async () => {
    for (const path of ["/", `/console/skills/${EVIL_SLUG}`]) {
      const { text } = await page(path);
      expect(text).toContain("&lt;script&gt;alert(1)&lt;/script&gt;");
      expect(text).not.toContain("<script>alert");
      expect(text).not.toContain("<img");
      expect(text).not.toMatch(/href="javascript/i);
    }
  });

  it("one has its form by what it takes, and says how to call it", async () => {
    const { text } = await page("/console/skills/shaped");
    expect(text).toContain("&quot;n&quot;: 3");
    expect(text).toContain("curl -X POST http://localhost:3000/skills/shaped");
    expect((await page("/console/skills/cat")).text).toContain('<textarea id="text" name="text" dir="auto">');
  });

  it("trying one without the script leads to the page of its run", async () => {
    const { response } = await page("/console/skills/cat/try", sent({ text: "hi" }));
    expect(response.status).toBe(303);
    expect(response.headers.get("location")).toMatch(/^\/console\/runs\/ex_[0-9a-f]{32}$/);
    const digits = await page("/console/skills/shaped/try", sent({ json: '{"n": 12345678901234567890}' }));
    await expect
      .poll(async () => (await page(digits.response.headers.get("location") ?? "")).text)
      .toMatch(/<pre tabindex="0" id="answer" dir="auto">[^<]*12345678901234567890/);
    const refused = await page("/console/skills/shaped/try", sent({ json: '{"n": "x"}' }));
    expect(refused.response.status).toBe(422);
    expect(refused.text).toMatch(/<li><code>\/n<\/code>: Instance type/);
    expect(refused.text).toContain('<a href="/console/skills/shaped">open the page again</a>');
    const broken = await page("/console/skills/shaped/try", sent({ json: "{n}" }));
    expect([broken.response.status, broken.text]).toEqual([
      400,
      expect.stringContaining("The field json takes JSON"),
    ]);
  });

  it("a form's address leads to the page that holds the form", async () => {
    for (const [action, above] of [
      ["/console/skills/cat/try", "/console/skills/cat"],
      ["/console/approvals/s/a", "/console/approvals"],
      ["/console/usage/budget", "/console/usage"],
    ]) {
      const { response } = await page(action ?? "");
      expect([response.status, response.headers.get("location")]).toEqual([303, above]);
    }
  });

  it("a proxy is tried with the query that its upstream takes", async () => {
    expect((await page("/console/skills/upstream")).text).toContain('<label for="query">Query</label>');
    const asked: string[] = [];
    vi.stubGlobal("fetch", async (input: RequestInfo | URL, init?: RequestInit) => {
      asked.push(new Request(input, init).url);
      return new Response("sunny", { headers: { "content-type": "text/plain" } });
    });
    onTestFinished(() => void vi.unstubAllGlobals());
    const { text } = await page("/console/skills/upstream/try", sent({ query: "q=São Paulo&d=2&d=3&raw=" }));
    expect(text).toContain("sunny");
    expect(asked).toEqual(["https://upstream.example/now?q=S%C3%A3o+Paulo&d=2&d=3&raw="]);
  });

  it("what a static file answers is shown as text", async () => {
    const { response, text } = await page(`/console/skills/${EVIL_SLUG}/try`, sent({}));
    expect(response.status).toBe(200);
    expect(text).toContain("&lt;script&gt;");
    expect(text).not.toContain("<script>alert");
  });
});

describe("runs", () => {
  /** A run in a session, ended. */
  async function ran(id: string, mock: unknown[], tools: unknown[] = []): Promise<string> {
    await client.post("/sessions", { id });
    const options = { provider: "mock", mock, tools };
    const answer = await client.post(`/sessions/${id}/runs?wait=idle`, { prompt: `Hi ${EVIL}`, options });
    const { run_id } = await answer.json<{ run_id: string }>();
    await expect.poll(async () => (await client.fetch(`/runs/${run_id}`)).status).toBe(200);
    return run_id;
  }

  it("are listed with filters, and say what would fill an empty list", async () => {
    const run = await ran("shown", [{ text: "Yes." }]);
    const { text } = await page("/console/runs?session=shown");
    expect(text).toContain(`/console/runs/${run}`);
    expect(text).toMatch(/id="runs" data-refresh="3000" data-mark="[0-9a-f]+"/);
    expect((await page("/console/runs?name=zebra")).text).toContain("No run matches");
  });

  it("one says why it ended", async () => {
    await client.post("/sessions", { id: "ended" });
    const options = { provider: "mock", mock: [{ text: "No." }], require_successful_tools: ["ask"] };
    const answer = await client.post("/sessions/ended/runs", { prompt: "Hi.", options });
    const { run_id } = await answer.json<{ run_id: string }>();
    await expect
      .poll(async () => (await page(`/console/runs/${run_id}`)).text)
      .toContain("It ended without a successful call of a tool that it requires.");
  });

  it("attack: one shows its steps and its answer as text, folded", async () => {
    const ask = { name: "ask", description: "Asks.", parameters: { q: { type: "string" } } };
    const run = await ran("evil", [{ tool_calls: [{ name: "ask", arguments: { q: EVIL } }] }], [ask]);
    const { text } = await page(`/console/runs/${run}`);
    expect(text).toContain("It waits for its client to answer a tool call.");
    expect(text).toContain("tool <strong>ask</strong>");
    expect(text).not.toContain("<script>alert");
    expect(text).not.toContain("<img");
    expect(text).toContain(`data-events="/console/runs/${run}/events"`);
    expect((await page("/console/runs?session=evil")).text).toContain(`/console/runs/${run}/cancel`);
    const { response } = await page(`/console/runs/${run}/cancel`, sent({}));
    expect(response.headers.get("location")).toBe(`/console/runs/${run}`);
    await expect
      .poll(async () => (await page(`/console/runs/${run}`)).text)
      .toContain("It ended because somebody cancelled it.");
    const ended = (await page(`/console/runs/${run}`)).text;
    expect([ended.includes("not done"), ended.includes(">running</span></span>")]).toEqual([true, false]);
    await expect
      .poll(async () => (await page("/console/runs?session=evil")).text)
      .not.toContain(`/console/runs/${run}/cancel`);
  });

  it("one that was tried is followed from its first event, or from the last that was seen", async () => {
    const { response } = await page("/console/skills/cat/try", sent({ text: "hi" }));
    const path = response.headers.get("location") ?? "";
    const all = await (await client.fetch(`${path}/events`)).text();
    expect(all).toContain("event: start");
    expect(all).toContain("event: done");
    const rest = await (await client.fetch(`${path}/events?after=1`)).text();
    expect(rest).not.toContain("event: start");
    const { text } = await page(path);
    expect(text).toContain("<h2>Answer</h2>");
    expect(text).toContain("model <strong>mock</strong>");
    expect(text).toContain(`href="${path}/answer"`);
    const file = await client.fetch(`${path}/answer`);
    expect(file.headers.get("content-disposition")).toMatch(/^attachment; filename/);
    const said = await file.text();
    expect(said.length).toBeGreaterThan(0);
    const evals = await client.fetch(`${path}/eval`);
    expect(await evals.json()).toMatchObject({
      skill_name: "cat",
      evals: [{ id: 1, prompt: "hi", expected_output: expect.stringContaining(said.slice(0, 10)) }],
    });
  });

  it("one in a session is downloaded as an eval case, with its prompt and its answer", async () => {
    const run = await ran("cases", [{ text: "Yes." }]);
    expect((await page(`/console/runs/${run}`)).text).toContain(`href="/console/runs/${run}/eval"`);
    const answer = await client.fetch(`/console/runs/${run}/eval`);
    expect(answer.headers.get("content-disposition")).toContain(`${run}.evals.json`);
    const [one] = (await answer.json<{ evals: object[] }>()).evals;
    expect(one).toMatchObject({ prompt: `Hi ${EVIL}`, expected_output: "Yes." });
  });

  it("of another tenant, or none, is not found", async () => {
    expect((await page("/console/runs/run_nowhere")).response.status).toBe(404);
    expect((await page("/console/runs/ex_00000000000000000000000000000000")).response.status).toBe(404);
  });
});

describe("sessions", () => {
  const options = (mock: unknown[]): string => JSON.stringify({ provider: "mock", mock });

  it("one is opened, spoken to, forked, archived, and deleted only where its id was typed", async () => {
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

  it("one whose last run failed says so, and shows what the model called", async () => {
    await client.post("/sessions", { id: "failed" });
    const mock = [{ tool_calls: [{ name: "ask", arguments: { q: EVIL } }], thinking: "Hm." }];
    const ask = { name: "ask", description: "Asks.", parameters: { q: { type: "string" } } };
    const body = { prompt: "Go.", options: { provider: "mock", mock, tools: [ask] } };
    await client.post("/sessions/failed/runs?wait=idle", body);
    const { text } = await page("/console/sessions/failed");
    expect(text).toContain("Calls <strong>ask</strong>");
    expect(text).toContain("Thoughts");
    expect(text).not.toContain("<script>alert");
    const { run } = await (await client.fetch("/sessions/failed")).json<{ run: { run_id: string } }>();
    await client.post(`/sessions/failed/runs/${run.run_id}/cancel`, {});
    await page(
      "/console/sessions/failed/say",
      sent({ prompt: "Hi.", options: options([{ error: { category: "auth" } }]) }),
    );
    await expect
      .poll(async () => (await page("/console/sessions/failed")).text)
      .toContain("The last run failed: <code>provider_auth_failed</code>");
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

  it("attack: names of files and what artifacts hold are text; an artifact's frame is confined", async () => {
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

it("attack: an artifact is text on its page, and in a frame that reaches nothing", async () => {
  const content = "<script>parent.document.title = 'reached'</script>";
  const given = { id: "page", type: "html", title: `Page ${EVIL}`, content };
  await client.post("/sessions", { id: "drawn" });
  const tool = {
    name: "draw",
    description: "Draws.",
    handler: "draw",
    parameters: { type: "object", properties: {}, additionalProperties: true },
  };
  const mock = [{ tool_calls: [{ name: "draw", arguments: given }] }, { text: "Made." }];
  const options = { provider: "mock", skills: ["artist"], tools: [tool], mock };
  await client.post("/sessions/drawn/runs", { prompt: "Draw.", options });
  const path = "/console/sessions/drawn/artifacts/page";
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

describe("approvals", () => {
  const mock = [{ tool_calls: [{ name: "ask", arguments: { q: EVIL } }] }, { text: "Done." }];
  const MOCK = { provider: "mock", mock };
  /** A run that waits for one. */
  async function asks(id: string, model: object = MOCK): Promise<void> {
    await client.post("/sessions", { id });
    const ask = { name: "ask", description: "Asks.", parameters: { q: { type: "string" } } };
    const policy = { require_approval: ["ask"] };
    const body = { prompt: "Ask.", options: { ...model, tools: [ask], approval_policy: policy } };
    await client.post(`/sessions/${id}/runs?wait=idle`, body);
    await expect
      .poll(async () => (await page("/console/approvals")).text)
      .toContain(`/console/approvals/${id}/`);
  }
  /** Action and digest of the first form for a session. */
  function formOf(text: string, id: string): { action: string; arguments_digest: string } {
    const [, action = ""] = new RegExp(`action="(/console/approvals/${id}/[^"]+)"`).exec(text) ?? [];
    const [, arguments_digest = ""] =
      /name="arguments_digest" value="([^"]+)"/.exec(text.slice(text.indexOf(action))) ?? [];
    return { action, arguments_digest };
  }

  it("one that waits is counted, shown with its arguments as text, and granted for these alone", async () => {
    await asks("waits");
    const { text } = await page("/console/approvals");
    expect(text).toContain('<span id="waiting"> (1)</span>');
    expect(text).not.toContain("<script>alert");
    const { action, arguments_digest } = formOf(text, "waits");
    const others = sent({ decision: "approve", scope: "once", arguments_digest: "0".repeat(64) });
    expect((await page(action, others)).response.status).toBe(409);
    const granted = await page(action, sent({ decision: "approve", scope: "once", arguments_digest }));
    expect(granted.response.headers.get("location")).toBe("/console/approvals");
    const again = await page(action, sent({ decision: "approve", scope: "once", arguments_digest }));
    expect(again.response.status).toBe(409);
    await expect.poll(async () => (await page("/console/approvals")).text).toContain("Nothing waits.");
  });

  it("the last one is not counted in the page that its decision leads to, though its run goes on", async () => {
    // The model asks, and then says nothing until its run is removed.
    const content = `<tool_call>${JSON.stringify({ name: "ask", arguments: { q: "x" } })}</tool_call>`;
    const chunk = { id: "c", model: "m", choices: [{ index: 0, delta: { content }, finish_reason: "stop" }] };
    const answers = [`data: ${JSON.stringify(chunk)}\n\ndata: [DONE]\n\n`];
    vi.stubGlobal("fetch", async (input: RequestInfo | URL, init?: RequestInit) => {
      const { signal } = new Request(input, init);
      const answer = answers.shift();
      while (answer === undefined) {
        signal.throwIfAborted();
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
      return new Response(answer, { headers: EVENTS });
    });
    onTestFinished(async () => {
      await client.fetch("/sessions/counted", { method: "DELETE" });
    });
    await asks("counted", { provider: "local", model: "m" });
    const { action, arguments_digest } = formOf((await page("/console/approvals")).text, "counted");
    const { response } = await page(action, sent({ decision: "deny", arguments_digest, reason: "no" }));
    const { text } = await page(response.headers.get("location") ?? "");
    expect(text).toContain("Nothing waits.");
    expect(text).toContain('<span id="waiting"></span>');
    const { data } = await (await client.fetch("/runs?session=counted")).json<{ data: object[] }>();
    expect(data).toMatchObject([{ state: "running" }]);
  });

  it("one is denied with a reason", async () => {
    await asks("denied");
    const { action, arguments_digest } = formOf((await page("/console/approvals")).text, "denied");
    await page(action, sent({ decision: "deny", arguments_digest, reason: "not today" }));
    const runs = await (await client.fetch("/runs?session=denied")).json<{ data: { id: string }[] }>();
    await expect
      .poll(async () => (await page(`/console/runs/${runs.data[0]?.id}`)).text)
      .toContain("not today");
  });
});

describe("the other pages", () => {
  it("a daemon shows why it sleeps; an event is sent, it is stopped and started again", async () => {
    expect((await page("/console/daemons")).text).toContain("No daemon yet");
    const made = await client.post("/daemons", {
      name: `watcher ${EVIL}`,
      task: "Wait.",
      provider: "mock",
      mock: [{ text: "Nothing to do." }, { text: "Seen." }],
    });
    const { id } = await made.json<{ id: string }>();
    const path = `/console/daemons/${id}`;
    expect([made.status, id]).toEqual([201, expect.any(String)]);
    await expect.poll(async () => (await page("/console/daemons")).text).toContain("watcher &lt;script&gt;");
    await expect.poll(async () => (await page(path)).text).toContain("It sleeps until an event");
    expect((await page(path)).text).not.toContain("<script>alert");
    expect((await page(`${path}/send`, sent({ event: '{"mail": 1}' }))).response.status).toBe(303);
    await expect.poll(async () => (await page(path)).text).toMatch(/<dd>event, /);
    await expect.poll(async () => (await page(path)).text).toContain("Cost of 14 days");
    await page(`${path}/stop`, sent({}));
    expect((await page(path)).text).toContain("Somebody stopped it");
    await page(`${path}/resume`, sent({}));
    expect((await page(path)).text).not.toContain("Somebody stopped it");
    await client.fetch(`/daemons/${id}`, { method: "DELETE" });
  });

  it("the reference lists every operation with a curl line, and is searched", async () => {
    const { text } = await page("/docs");
    expect(text).toContain("<code>POST /sessions/{id}/runs</code>");
    expect(text).toContain("curl -X POST &#39;http://localhost:3000/sessions/{id}/runs&#39;");
    expect(text).toContain("/skills/cat");
    const found = (await page("/docs?q=approvals+post")).text;
    expect(found).toContain("/sessions/{id}/approvals/{approval}");
    expect(found).not.toContain("/budgets");
    expect((await page("/docs?q=zebra")).text).toContain("No operation matches");
  });

  it("usage is summed; a budget is set", async () => {
    expect((await page("/console/usage")).text).toContain("Tokens in");
    expect((await page("/console/usage?by=skill")).text).toContain("<td>cat</td>");
    const budget = { scope: "skill:cat", window: "day", max_cost_usd: "2.5" };
    expect((await page("/console/usage/budget", sent(budget))).response.status).toBe(303);
    expect((await page("/console/usage")).text).toMatch(
      /skill:cat<\/td><td data-head="Window">day<\/td>.*\$2\.50/,
    );
    expect((await page("/console/usage")).text).toContain("No run in 30 days.");
    const tokens = { scope: "session:s", window: "hour", max_cost_usd: "", max_output_tokens: "1" };
    expect((await page("/console/usage/budget", sent(tokens))).response.status).toBe(303);
    expect((await page("/console/usage")).text).toContain("1 token out");
    for (const wrong of ["", "much"]) {
      const { response } = await page("/console/usage/budget", sent({ ...tokens, max_output_tokens: wrong }));
      expect(response.status).toBe(400);
    }
    await page("/console/usage/budget/remove", sent({ scope: "session:s" }));
    expect((await page("/console/usage")).text).not.toContain("session:s<");
    await client.fetch("/budgets/skill:cat", {
      method: "PUT",
      body: JSON.stringify({ window: "day", max_output_tokens: 1 }),
    });
    const refused = await client.fetch("/skills/cat", { method: "POST", body: "hi" });
    expect(refused.status).toBe(402);
    await expect
      .poll(async () => (await page("/console/usage")).text)
      .toContain("<code>budget_exceeded</code>");
    expect((await page("/console/runs?code=budget_exceeded")).text).toContain("/console/runs/ex_");
    expect((await page("/console/runs?code=internal")).text).toContain("No run matches");
    await client.fetch("/budgets/skill:cat", { method: "DELETE" });
  });

  it("models name the variable that a provider lacks; a check and a call are made", async () => {
    expect((await page("/console/models")).text).toContain("<code>OPENAI_API_KEY</code>");
    const shown = (await page("/console/models?model=gpt-4o")).text;
    expect(shown).toContain("<dt>Price of a million tokens</dt><dd>$2.50 in, $10.00 out");
    expect(shown).toMatch(/<code>vision<\/code><\/td><td[^>]*>yes</);
    expect((await page("/console/models/mock/check", sent({}))).text).toContain("It can be used.");
    const call = { provider: "mock", prompt: "Say hello." };
    expect((await page("/console/models/call", sent(call))).text).toContain("Answer of mock");
  });

  it("a key is made, shown once, and revoked", async () => {
    const made = (await page("/console/keys", sent({ name: "CI", tenant: "acme", scopes: "invoke" }))).text;
    const key = /<pre id="key"[^>]*>(hull_[^<]+)</.exec(made)?.[1] ?? "";
    expect(key).toMatch(/^hull_/);
    const { text } = await page("/console/keys");
    expect(text).not.toContain(key);
    expect(text).toContain("CI");
    const revoke = /action="(\/console\/keys\/key_[0-9a-f]+\/revoke)"/.exec(text)?.[1] ?? "";
    await page(revoke, sent({}));
    expect((await page("/console/keys")).text).toContain("No key yet");
  });
});

it("attack: a page of another origin can send no form", async () => {
  const headers = { origin: "https://evil.example", accept: "text/html" };
  const { method, body } = sent({ text: "hi" });
  const refused = await client.fetch("/console/skills/cat/try", { method, body, headers });
  expect(refused.status).toBe(403);
});

describe("a browser that signed in", () => {
  const ADMIN = "admin-key-of-the-console-0123456789";
  const keyed = new Client({ HULL_ADMIN_KEY: ADMIN });
  const own = { accept: "text/html", "sec-fetch-site": "same-origin" };

  /** The cookie for a key. */
  async function cookieFor(key: string): Promise<string> {
    const body = new URLSearchParams({ key, next: "/" });
    const answer = await keyed.fetch("/console/sign-in", { method: "POST", body, headers: own });
    expect(answer.status).toBe(303);
    return (answer.headers.get("set-cookie") ?? "").split(";")[0] ?? "";
  }
  async function keyOf(...scopes: string[]): Promise<string> {
    const headers = { authorization: `Bearer ${ADMIN}`, "content-type": "application/json" };
    const body = JSON.stringify({ tenant: "acme", scopes });
    return (
      await (await keyed.fetch("/admin/keys", { method: "POST", headers, body })).json<{ key: string }>()
    ).key;
  }
  const show = async (path: string, cookie: string, init: RequestInit = {}) => {
    const response = await keyed.fetch(path, { ...init, headers: { ...own, cookie } });
    return {
      status: response.status,
      text: await response.text(),
      location: response.headers.get("location"),
    };
  };

  it("attack: sends forms by the token of its cookie alone", async () => {
    expect((await keyed.fetch("/", { headers: own })).status).toBe(401);
    const cookie = await cookieFor(ADMIN);
    const { text } = await show("/console/sessions", cookie);
    const token = /name="token" value="([^"]+)"/.exec(text)?.[1] ?? "";
    expect(text).toContain("Sign out");
    for (const wrong of ["", "x".repeat(token.length)]) {
      expect(await show("/console/sessions", cookie, sent({ id: "s1", token: wrong }))).toMatchObject({
        status: 403,
      });
    }
    expect(await show("/console/sessions/s1", cookie)).toMatchObject({ status: 404 });
    expect(await show("/console/sessions", cookie, sent({ id: "s1", token }))).toMatchObject({
      status: 303,
      location: "/console/sessions/s1",
    });
    const other = await cookieFor(await keyOf("invoke"));
    expect(await show("/console/sessions", other, sent({ id: "s2", token }))).toMatchObject({ status: 403 });
  });

  it("attack: is offered, and may do, what its key allows, and sees its own tenant alone", async () => {
    await keyed.fetch("/sessions", {
      method: "POST",
      body: JSON.stringify({ id: "operators" }),
      headers: { authorization: `Bearer ${ADMIN}`, "content-type": "application/json" },
    });
    const cookie = await cookieFor(await keyOf("invoke"));
    const { text } = await show("/console/sessions", cookie);
    expect(text).toContain("-X POST http://localhost:3000/sessions");
    expect(text).toContain("Tenant acme");
    expect(text).not.toContain("operators");
    expect(text).not.toContain('href="/console/keys"');
    expect(await show("/console/sessions/operators", cookie)).toMatchObject({ status: 404 });
    expect(await show("/console/keys", cookie)).toMatchObject({ status: 403 });
    const token = /name="token" value="([^"]+)"/.exec(text)?.[1] ?? "";
    const key = sent({ token, tenant: "acme", scopes: "admin" });
    expect(await show("/console/keys", cookie, key)).toMatchObject({ status: 403 });
    const budget = sent({ token, scope: "tenant", window: "day", max_cost_usd: "1" });
    expect(await show("/console/usage/budget", cookie, budget)).toMatchObject({ status: 403 });
  });
});

it("an answer that is no text is a file that the page holds", async () => {
  const bytes = new Uint8Array([0, 255, 1, 254]);
  const skill = "---\nname: bin\ndescription: Bytes\nmode: static-file\nserve: a.bin\n---\n";
  const bin = new Client();
  await bin.publish({ bin: skill }, { "a.bin": bytes });
  const answer = await bin.fetch("/console/skills/bin/try", { ...sent({}), headers: HTML });
  expect(await answer.text()).toContain(`href="data:application/octet-stream;base64,AP8B/g=="`);
});

it("a finding of the build is shown with its level", async () => {
  const warned = new Client();
  await warned.publish({ warned: mockSkill("warned", "timeout_mss: 5\n") });
  const answer = await warned.fetch("/console/skills/warned", { headers: HTML });
  expect(await answer.text()).toMatch(/<li><code>SKILL\.md:6<\/code> warning: [^<]*timeout_mss/);
});

it("an earlier version of an uploaded skill is served again", async () => {
  const upload = async (body: string) =>
    client.fetch("/_hull/skills/owl", {
      method: "PUT",
      body: await makeZip([
        { name: "SKILL.md", content: mockSkill("owl").replace("Answer.", body), deflate: true },
      ]),
      headers: { "content-type": "application/zip" },
    });
  for (const body of ["First.", "Second."]) expect((await upload(body)).ok).toBe(true);
  const { text } = await page("/console/skills/owl");
  const [action = "", digest] = /\/console\/skills\/owl\/versions\/([0-9a-f]{64})/.exec(text) ?? [];
  expect((await page(action, sent({}))).response.status).toBe(303);
  const served = await (await client.fetch("/skills/owl/card")).json();
  expect(served).toMatchObject({ version: digest });
  expect((await page("/console/skills/cat")).text).not.toContain("Serve it again");
});

it("a skill's tools are configured; a secret is never shown again, and a default stays one", async () => {
  const CANARY = "canary-5d1c88f0-secret";
  const configured = new Client({ HULL_ENV: "local", HULL_SECRET_KEY: "k".repeat(32) });
  const config = [
    param("model", { type: "text", default: "small" }),
    param("maxCost", { type: "number", min: 0, max: 50, default: 1 }),
    param("region", { type: "select", options: ["eu", "us_east"], default: "eu" }),
    param("verbose", { type: "boolean" }),
    param("token", { type: "secret" }),
  ];
  await publishTools(configured, { site: [skillTool("build", { config })] });
  const path = "/console/skills/site";
  const text = async () => (await configured.fetch(path, { headers: HTML })).text();
  const save = (fields: Record<string, string>) =>
    configured.fetch(`${path}/config`, { ...sent({ tool: "build", ...fields }), headers: HTML });
  const before = await text();
  expect(before).toContain('name="value model" class="text" placeholder="small">\n</textarea>');
  expect(before).toContain('name="value maxCost" value="" placeholder="1"');
  expect(before).toContain('<option value="" selected>default: eu</option>');
  expect(before).toContain('<option value="us_east">us_east</option>');
  expect(before).toContain('<option value="true">true</option>');
  expect(before).toContain("secret, not set");
  const types = {
    "type model": "text",
    "type maxCost": "json",
    "type region": "text",
    "type verbose": "json",
  };
  // Browsers send the line breaks of a text as CR LF.
  const values = {
    "value model": "7\r\n8",
    "value maxCost": "2.5",
    "value region": "",
    "value verbose": "true",
  };
  expect((await save({ ...types, ...values, "secret token": CANARY })).status).toBe(303);
  const shown = await text();
  expect(shown).toContain('placeholder="">\n7\n8</textarea>');
  expect(shown).toContain('name="value maxCost" value="2.5"');
  expect(shown).toContain('<option value="" selected>default: eu</option>');
  expect(shown).toContain('<option value="true" selected>true</option>');
  expect(shown).toContain("secret, set");
  expect(shown).not.toContain(CANARY);
  expect((await save({ ...types, "value maxCost": "51" })).status).toBe(422);
  await save({ ...types, "value model": "" });
  expect(await text()).toContain('placeholder="small">\n</textarea>');
});
