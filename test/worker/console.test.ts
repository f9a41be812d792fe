/** The console's pages, as the Worker sends them: runs, approvals, the other pages, and who may do what. */
import { beforeAll, describe, expect, it, onTestFinished, vi } from "vitest";
import { client, EVIL, HTML, page, publishSkills, sent } from "./console-client.ts";
import { Client, LOCAL } from "./served.ts";

const EVENTS = { "content-type": "text/event-stream" };

beforeAll(publishSkills);

describe("every page", () => {
  it("has a strict policy, the navigation, and marks the current page", async () => {
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

  it.each(["/docs/", "/console/runs/", "/console/%72uns"])(
    "is found at %s as other routes are",
    async (path) => {
      const { response, text } = await page(path);
      expect(response.status).toBe(200);
      expect(text).toMatch(/<a href="\/(docs|console\/runs)" aria-current="page">/);
    },
  );

  it.each([
    ["/console", "GET", 302],
    ["/console/", "HEAD", 302],
    ["/console", "POST", 404],
  ])("%s leads %s to the start page", async (path, method, status) => {
    const { response } = await page(path, { method, redirect: "manual" });
    expect([response.status, response.headers.get("location")]).toEqual([
      status,
      status === 302 ? "/" : null,
    ]);
  });

  it("a missing page has Hull's own layout, and programs get a problem document", async () => {
    const { response, text } = await page("/console/nowhere");
    expect(response.status).toBe(404);
    expect(text).toContain('<nav aria-label="Console">');
    expect(text).toContain('<p><a href="/">Skills</a></p>');
    expect((await page("/console/sessions/nope")).text).toContain(
      '<p><a href="/console/sessions">Sessions</a></p>',
    );
    const problem = await client.fetch("/console/nowhere");
    expect([problem.status, problem.headers.get("content-type")]).toEqual([404, "application/problem+json"]);
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

  it("are listed with filters, and an empty list shows how to fill it", async () => {
    const run = await ran("shown", [{ text: "Yes." }]);
    const { text } = await page("/console/runs?session=shown");
    expect(text).toContain(`/console/runs/${run}`);
    expect(text).toMatch(/id="runs" data-refresh="3000" data-mark="[0-9a-f]+"/);
    expect((await page("/console/runs?name=zebra")).text).toContain("No run matches");
    expect((await page("/console/runs?state=stuck")).text).toContain('<option value="stuck" selected>');
    const wrong = await page("/console/runs?state=zebra");
    expect(wrong.response.status).toBe(400);
    expect(wrong.text).toContain('<a href="/console/runs">Open the page without its filters</a>');
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

  it("one whose answer is not whole says so", async () => {
    const run = await ran("half", [{ text: "Hal", stop_reason: "length" }]);
    const { text } = await page(`/console/runs/${run}`);
    expect(text).toContain("<strong>answer_cut</strong> mock/mock: max_tokens or the context window cut");
    expect(text).toContain(", ended by max_tokens</p>");
  });

  it("attack: a run shows its steps and its answer as text, folded", async () => {
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

  it("an unknown one is not found", async () => {
    expect((await page("/console/runs/run_nowhere")).response.status).toBe(404);
    expect((await page("/console/runs/ex_00000000000000000000000000000000")).response.status).toBe(404);
  });
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

  it("the last one is not counted in the page that its decision leads to, although its run continues", async () => {
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
      mock: [{ text: "Nothing to do." }, { text: "Seen." }, { text: "Looked." }],
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
    await page(`${path}/wake`, sent({}));
    const rows = async (query = ""): Promise<string[]> =>
      Array.from(
        (await page(`${path}${query}`)).text.matchAll(/data-head="Because of">(\w+)</g),
        ([, reason = ""]) => reason,
      );
    await expect.poll(() => rows()).toEqual(["resume", "event"]);
    await expect
      .poll(async () => (await client.fetch(`/daemons/${id}/wakes?limit=1`)).json())
      .toMatchObject({
        data: [{ reason: "resume", iterations: 1, daemon_state: "idle" }],
        next_cursor: expect.any(String),
      });
    const first = await client.fetch(`/daemons/${id}/wakes?limit=1`);
    const { next_cursor } = await first.json<{ next_cursor: string }>();
    expect(await rows(`?cursor=${next_cursor}`)).toEqual(["event"]);
    await page(`${path}/stop`, sent({}));
    expect((await page(path)).text).toContain("Somebody stopped it");
    const { run_id } = await (await client.fetch(`/daemons/${id}`)).json<{ run_id: string }>();
    await expect
      .poll(async () => (await page(`/console/runs/${run_id}`)).text)
      .toContain("It ended because its daemon was stopped while it was idle.");
    await page(`${path}/resume`, sent({}));
    expect((await page(path)).text).not.toContain("Somebody stopped it");
    await client.fetch(`/daemons/${id}`, { method: "DELETE" });
  });

  it("a daemon that Hull resumes by itself shows when, and takes events until somebody stops it", async () => {
    const failing = {
      mock: [{ error: { category: "overloaded" } }],
      llm_retries: 0,
      resume_after_ms: 3_600_000,
    };
    const made = await client.post("/daemons", { task: "Wait.", provider: "mock", ...failing });
    const { id } = await made.json<{ id: string }>();
    const path = `/console/daemons/${id}`;
    await expect.poll(async () => (await page(path)).text).toContain("Hull starts it again by itself");
    expect((await page(path)).text).toContain("<dt>Next attempt</dt>");
    expect((await page(`${path}/send`, sent({ event: "1" }))).response.status).toBe(303);
    await page(`${path}/stop`, sent({}));
    expect((await page(path)).text).toContain("Nothing wakes it until somebody starts it again");
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
    expect((await page("/console/usage?by=skill")).text).toContain(
      '<td><a href="/console/skills/cat">cat</a></td>',
    );
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

describe("a form", () => {
  const own = new Client({ ...LOCAL, HULL_SECRET_KEY: "s".repeat(32) });
  const open = async (path: string, init: RequestInit = {}) => {
    const response = await own.fetch(path, { ...init, headers: HTML });
    return { text: await response.text(), to: response.headers.get("location") };
  };
  const once = async (path: string): Promise<string> =>
    /name="once" value="([0-9a-f-]{36})"/.exec((await open(path)).text)?.[1] ?? expect.fail("no name");

  it("that a browser sends again, as after a reload, does nothing again", async () => {
    const form = { name: "twice", tenant: "twice", scopes: "invoke", once: await once("/console/keys") };
    const shown = async (fields: Record<string, string>) =>
      /<pre id="key"[^>]*>(hull_[^<]+)</.exec((await open("/console/keys", sent(fields))).text)?.[1];
    const key = await shown(form);
    expect([key, await shown(form)]).toEqual([expect.any(String), key]);
    expect(await shown({ ...form, name: "changed" })).not.toBe(key);
    expect((await open("/console/keys")).text.match(/>twice</g)).toHaveLength(3);

    for (const path of ["/console/sessions", "/console/skills/cat/try"]) {
      const fields = { text: "Hi", once: await once(path.replace("/try", "")) };
      const first = await open(path, { ...sent(fields), redirect: "manual" });
      const again = await open(path, { ...sent(fields), redirect: "manual" });
      expect([path, again.to]).toEqual([path, first.to ?? expect.fail("leads nowhere")]);
    }
  });

  it("with a blank text begins nothing", async () => {
    await client.post("/sessions", { id: "blank" });
    for (const [path, field] of [
      ["/console/sessions/blank/say", "prompt"],
      ["/console/models/call", "prompt"],
      ["/console/daemons/dmn_none/send", "event"],
      ["/console/workflows/none/run", "task"],
    ] as const) {
      const { response, text } = await page(path, sent({ [field]: " \r\n", provider: "mock" }));
      expect([response.status, text]).toEqual([400, expect.stringContaining(`The field ${field} is blank.`)]);
    }
    expect((await page("/console/runs?session=blank")).text).toContain("No run matches");
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

  it("attack: is offered only what its key allows, can do no more, and sees only its own tenant", async () => {
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
