import { evictDurableObject, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { beforeAll, describe, expect, it, vi } from "vitest";
import type { ExecutionCall } from "../../src/session/unlisted/rpc.ts";
import { Client, mockSkill } from "./served.ts";
import { expectRemoved, expireKept, killInParts } from "./upload-in-parts.ts";

const client = new Client();

beforeAll(async () => {
  await client.publish({
    cat: mockSkill("cat"),
    dog: mockSkill("dog"),
    runs: mockSkill("runs"),
    json: mockSkill("json", "output: json\n"),
    keyed: "---\nname: keyed\ndescription: Needs a key\nmode: llm\nprovider: openai\n---\nAnswer.\n",
  });
});

let keys = 0;
const freshKey = (): string => {
  keys += 1;
  return `key-${keys}`;
};

const call = (
  key: string | null,
  init: { body?: string; path?: string; headers?: Record<string, string> } = {},
) =>
  client.fetch(init.path ?? "/skills/cat", {
    method: "POST",
    body: init.body ?? "one two",
    headers: { ...(key === null ? {} : { "idempotency-key": key }), ...init.headers },
  });

const idOf = (response: Response): string => response.headers.get("x-hull-execution-id") ?? "";
const codeOf = async (response: Response): Promise<[number, string]> => {
  const { code } = await response.json<{ code: string }>();
  return [response.status, code];
};
const stubOf = (id: string) => client.env.SESSIONS.get(client.env.SESSIONS.idFromName(id));

/** How many objects of an execution the tenant's file index would remove. */
const keptFor = (id: string): Promise<number> =>
  runInDurableObject(
    client.env.FILE_INDEX.get(client.env.FILE_INDEX.idFromName("default")),
    (_, { storage }) => {
      const query = "SELECT key FROM kept WHERE key LIKE ?";
      return storage.sql.exec(query, `executions/${id}/%`).toArray().length;
    },
  );

/** The document of an execution, when it has ended. */
async function ended(id: string): Promise<Record<string, unknown>> {
  for (;;) {
    const document = await (await client.fetch(`/executions/${id}`)).json<Record<string, unknown>>();
    if (document.status !== "running") return document;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

describe("Idempotency-Key", () => {
  it("S83: the same call twice, at once or later, is one run with one answer", async () => {
    const key = freshKey();
    const [a, b] = await Promise.all([call(key), call(key)]);
    expect([a.status, b.status]).toEqual([200, 200]);
    const text = await a.text();
    expect(text).toContain("one two");
    expect(await b.text()).toBe(text);
    expect(idOf(a)).toMatch(/^ex_[0-9a-f]{32}$/);
    expect(idOf(b)).toBe(idOf(a));
    const later = await call(key);
    expect(later.headers.get("x-hull-replayed")).toBe("1");
    expect(await later.text()).toBe(text);
    expect(later.headers.get("x-hull-usage")).toBe(a.headers.get("x-hull-usage"));
    expect(later.headers.get("x-hull-finish-reason")).toBe("stop");
  });

  it("another input is refused; another key or skill starts another run", async () => {
    const key = freshKey();
    const first = await call(key);
    const others = [
      { body: "other" },
      { path: "/skills/cat?x=1" },
      { headers: { "content-type": "text/markdown" } },
    ];
    for (const other of others)
      expect(await codeOf(await call(key, other))).toEqual([422, "idempotency_key_reused"]);
    expect(idOf(await call(key, { path: "/skills/dog", body: "other" }))).not.toBe(idOf(first));
  });

  it.each<[path: string, body?: object]>([
    ["/skills/cat"],
    ["/skills/cat?session_id=bots"],
    ["/v1/chat/completions", { model: "skill/cat", messages: [{ role: "user", content: "x" }] }],
  ])("%s: the same call for another bot is another call", async (path, body) => {
    await client.post("/sessions", { id: "bots" });
    const key = freshKey();
    const json = { "content-type": "application/json" };
    const ask = (bot: object) =>
      call(key, { path, headers: { ...bot, ...json }, body: JSON.stringify(body ?? { input: "x" }) });
    expect((await ask({})).status).toBe(200);
    expect(await (await ask({ "x-hull-bot": "another" })).text()).toContain('"idempotency_key_reused"');
    expect((await ask({})).headers.get("x-hull-replayed")).toBe("1");
  });

  it("a skill with the name of an operation is a skill", async () => {
    const response = await call(freshKey(), { path: "/skills/runs" });
    expect([response.status, await response.text()]).toEqual([200, expect.stringContaining("one two")]);
    const document = await ended(idOf(response));
    expect(document).toMatchObject({ skill: "runs", status: "done" });
    expect(document).not.toHaveProperty("run_id");
  });

  it("a skill and an operation of the same name have keys of their own", async () => {
    const key = freshKey();
    expect((await call(key, { path: "/skills/runs" })).status).toBe(200);
    const json = { "content-type": "application/json" };
    const body = JSON.stringify({ prompt: "hi", options: { provider: "mock" } });
    const run = await call(key, { path: "/runs", body, headers: json });
    expect([run.status, run.headers.get("x-hull-replayed")]).toEqual([200, null]);
  });

  it.each(["", "x".repeat(256), "\u00e9"])("%j is no key", async (key) => {
    expect(await codeOf(await call(key))).toEqual([400, "bad_request"]);
  });

  it("a failure before the run is not kept", async () => {
    const key = freshKey();
    expect(await codeOf(await call(key, { body: " " }))).toEqual([422, "input_required"]);
    expect((await call(key)).status).toBe(200);
    const other = freshKey();
    for (const path of ["/skills/keyed", "/skills/keyed?stream=1", "/skills/keyed"]) {
      expect(await codeOf(await call(other, { path }))).toEqual([503, "provider_not_configured"]);
    }
  });

  it.each(["/skills/moved", "/pets/moved"])(
    "S83: a repetition of %s gets its answer, whatever its outcome",
    async (path) => {
      const route = path.startsWith("/skills") ? "" : `route: ${path}\n`;
      const all = {
        cat: mockSkill("cat"),
        dog: mockSkill("dog"),
        json: mockSkill("json", "output: json\n"),
        keyed: "---\nname: keyed\ndescription: Needs a key\nmode: llm\nprovider: openai\n---\nAnswer.\n",
      };
      await client.publish({ ...all, moved: mockSkill("moved", route) });
      const key = freshKey();
      const first = await call(key, { path });
      expect(first.status).toBe(200);
      const [text, served] = [await first.text(), first.headers.get("x-hull-skill")];
      const shaped = "input_schema: {type: object, required: [n]}\n";
      for (const now of [
        { moved: mockSkill("moved", `${route}${shaped}`) },
        { moved: mockSkill("moved", `${route}method: PUT\n`) },
        { moved: mockSkill("moved", "route: /elsewhere\n") },
        {},
      ]) {
        await client.publish({ ...all, ...now });
        const again = await call(key, { path });
        expect([again.status, again.headers.get("x-hull-replayed"), await again.text()]).toEqual([
          200,
          "1",
          text,
        ]);
        expect(again.headers.get("x-hull-skill")).toBe(served);
        expect(textOf(await (await call(key, { path: `${path}?stream=1` })).text())).toBe(text);
        const other = await call(key, { path, body: "other" });
        expect(await codeOf(other)).toEqual([422, "idempotency_key_reused"]);
        expect(
          (await client.fetch(path, { headers: { "idempotency-key": key } })).headers.get("x-hull-replayed"),
        ).toBe(null);
        expect((await call(freshKey(), { path })).status).not.toBe(200);
      }
      await client.publish(all);
    },
  );

  it("answers as events too, from the same run", async () => {
    const key = freshKey();
    const plain = await call(key);
    const text = await plain.text();
    const events = await (await call(key, { path: "/skills/cat?stream=1" })).text();
    expect(textOf(events)).toBe(text);
    const numbers = [...events.matchAll(/^id: (ex_[0-9a-f]{32}):(\d+)$/gm)];
    expect(numbers.map((m) => m[1])).toEqual(numbers.map(() => idOf(plain)));
    expect(numbers.map((m) => Number(m[2]))).toEqual(numbers.map((_, i) => i + 1));
    expect([...events.matchAll(/^event: (.*)$/gm)].map((m) => m[1])).toEqual([
      "start",
      ...Array<string>(numbers.length - 3).fill("delta"),
      "round",
      "done",
    ]);
  });
});

const textOf = (events: string): string =>
  [...events.matchAll(/^event: delta\ndata: (.*)$/gm)].map((m) => JSON.parse(m[1] ?? "{}").text).join("");

describe("Prefer: respond-async", () => {
  const prefer = { prefer: "respond-async" };

  it("S83: 202 at once, the result later", async () => {
    const response = await call(null, { headers: prefer });
    expect(response.status).toBe(202);
    expect(response.headers.get("preference-applied")).toBe("respond-async");
    const { id } = await response.json<{ id: string; status: string }>();
    expect(response.headers.get("location")).toBe(`/executions/${id}`);
    const document = await ended(id);
    expect(document).toMatchObject({ id, skill: "cat", status: "done" });
    expect(document.result).toMatchObject({
      status: 200,
      content_type: "text/plain; charset=utf-8",
      text: expect.stringContaining("one two"),
    });
    const result = await client.fetch(`/executions/${id}/result`);
    expect(await result.text()).toContain("one two");
  });

  it.each([
    ["respond-async; wait=10", 202],
    ["handling=lenient, Respond-Async", 202],
    ["no-respond-async", 200],
    ['return="minimal, respond-async"', 200],
  ])("%s: %i, whatever is called", async (preferred, status) => {
    const headers = { "content-type": "application/json", prefer: preferred };
    const body = JSON.stringify({ prompt: "hi", options: { provider: "mock" } });
    const session = await client.post("/sessions", {});
    const { id } = await session.json<{ id: string }>();
    const graph = { nodes: { a: { prompt: "hi", model_policy: { provider: "mock" } } } };
    const answers = await Promise.all([
      call(null, { headers: { prefer: preferred } }),
      ...["/runs", "/llm/call", `/sessions/${id}/runs`].map((path) => call(null, { path, body, headers })),
      call(null, { path: "/workflows/execute", body: JSON.stringify({ task: "hi", graph }), headers }),
    ]);
    const told = answers.map((answer) => [answer.status, answer.headers.get("preference-applied")]);
    expect(told).toEqual(answers.map(() => [status, status === 202 ? "respond-async" : null]));
  });

  it.each([
    ["/runs", { max_iterations: "many" }],
    ["/runs", { no_such_option: 1 }],
    ["/runs", { thinking: 1.5 }],
    ["/llm/call", { max_tokens: "many" }],
    ["/llm/call", { thinking: "much" }],
    ["/llm/completion", { no_such_option: {} }],
    ["/llm/structured", { thinking: "much" }],
    ["/llm/structured", { repair: "yes" }],
  ])("%s: options %j are refused at once, as without this preference", async (path, options) => {
    const json = { "content-type": "application/json" };
    const asked = path === "/llm/completion" ? { prefix: "hi" } : { prompt: "hi" };
    const schema = path === "/llm/structured" ? { schema: {} } : {};
    const body = JSON.stringify({ ...asked, ...schema, options: { provider: "mock", ...options } });
    const answers = [];
    for (const headers of [json, { ...json, ...prefer }]) {
      const response = await call(null, { path, body, headers });
      const { code, errors } = await response.json<{ code: string; errors: unknown }>();
      answers.push([response.status, code, errors]);
    }
    expect(answers[1]).toEqual(answers[0]);
    expect(answers[1]).toEqual([422, "input_invalid", [expect.anything()]]);
  });

  it("json results are json; errors are problems", async () => {
    const json = await call(null, { path: "/skills/json", headers: prefer });
    expect(await ended(idOf(json))).toMatchObject({ result: { json: { words: 2 } } });
    const failing = await call(null, { path: "/skills/keyed", headers: prefer });
    expect(failing.status).toBe(202);
    expect(await ended(idOf(failing))).toMatchObject({
      status: "error",
      error: { status: 503, code: "provider_not_configured" },
    });
    const result = await client.fetch(`/executions/${idOf(failing)}/result`);
    expect(result.headers.get("x-hull-execution-id")).toBe(idOf(failing));
    expect(result.headers.get("cache-control")).toBe("no-store");
    expect(await codeOf(result)).toEqual([503, "provider_not_configured"]);
  });

  it("a fault in the input is reported immediately", async () => {
    expect(await codeOf(await call(null, { body: "", headers: prefer }))).toEqual([422, "input_required"]);
  });
});

describe("/executions/:id", () => {
  it("S79: events are replayed after the last one that the client has", async () => {
    const id = idOf(await call(freshKey()));
    const all = await (await client.fetch(`/executions/${id}/events`)).text();
    const rest = await client.fetch(`/executions/${id}/events`, { headers: { "last-event-id": `${id}:2` } });
    expect(await rest.text()).toBe(all.split("\n\n").slice(2).join("\n\n"));
    expect(await (await client.fetch(`/executions/${id}/events?after=2`)).text()).toBe(
      all.split("\n\n").slice(2).join("\n\n"),
    );
    for (const bad of ["x", "ex_0:1", `${id}:`, `${id}:-1`]) {
      const response = await client.fetch(`/executions/${id}/events`, { headers: { "last-event-id": bad } });
      expect(await codeOf(response)).toEqual([400, "bad_request"]);
    }
  });

  it("DELETE removes an ended run; the key then starts a new one", async () => {
    const key = freshKey();
    const id = idOf(await call(key));
    expect((await client.fetch(`/executions/${id}`, { method: "DELETE" })).status).toBe(204);
    for (const path of ["", "/events", "/result"]) {
      expect(await codeOf(await client.fetch(`/executions/${id}${path}`))).toEqual([
        404,
        "execution_not_found",
      ]);
    }
    const again = await call(key);
    expect([again.status, again.headers.has("x-hull-replayed")]).toEqual([200, false]);
  });

  it("an input in parts leaves nothing if its Worker dies, and stays if its run has begun", async () => {
    const key = freshKey();
    const large = "word ".repeat(2_000_000);
    const begun = killInParts(client);
    expect((await call(key, { body: large })).status).toBe(500);
    await expectRemoved(client, "default", begun);
    const again = await call(key, { body: large });
    await vi.waitFor(async () => expect(await keptFor(idOf(again))).toBe(0), 20_000);
    await expectRemoved(client, "default", begun);
    const { objects } = await client.env.FILES.list({ prefix: `executions/${idOf(again)}/input-` });
    expect(objects.map(({ size }) => size)).toEqual([large.length]);
  });

  it.each([
    ["does not begin leaves nothing", false],
    ["begins without an answer keeps it for a later request", true],
  ])("an input in R2 whose run %s", async (_, begins) => {
    const { SESSIONS } = client.env;
    const names = new Set<string>();
    client.env.SESSIONS = Object.create(SESSIONS, {
      idFromName: {
        value(name: string) {
          names.add(name);
          return SESSIONS.idFromName(name);
        },
      },
      get: {
        value: (id: DurableObjectId) => ({
          async begin(given: ExecutionCall) {
            if (begins) await SESSIONS.get(id).begin(given);
            throw new TypeError("Network connection lost.");
          },
          begun: async () => null,
        }),
      },
    });
    const key = freshKey();
    const large = "word ".repeat(2_000_000);
    const lost = await call(key, { body: large }).finally(() => {
      client.env.SESSIONS = SESSIONS;
    });
    expect(lost.status).toBe(503);
    const [id = ""] = names;
    const sizes = async () => {
      const { objects } = await client.env.FILES.list({ prefix: `executions/${id}/` });
      return objects.map(({ size }) => size);
    };
    expect(await sizes()).toEqual([large.length]);
    if (begins) await vi.waitFor(async () => expect(await keptFor(id)).toBe(0), 20_000);
    expect(await keptFor(id)).toBe(begins ? 0 : 1);
    await expireKept(client, "default");
    expect(await sizes()).toEqual(begins ? [large.length] : []);
    const again = await call(key, { body: large });
    expect([idOf(again), again.status, again.headers.has("x-hull-replayed")]).toEqual([id, 200, begins]);
    expect(await again.text()).toContain("word word");
    await vi.waitFor(
      async () => expect([await keptFor(id), await sizes()]).toEqual([0, [large.length]]),
      20_000,
    );
  });

  it("attack: a run that begins again while the one before it is removed keeps what it stored", async () => {
    const key = freshKey();
    const large = "word ".repeat(2_000_000);
    const id = idOf(await call(key, { body: large }));
    // The removal is slow: all of its requests to R2 wait.
    const bucket = Object.getPrototypeOf(client.env.FILES);
    const [asked, goOn] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const slow = (method: "list" | "delete") => {
      const real = bucket[method];
      return vi.spyOn(bucket, method).mockImplementation(async function (this: unknown, ...given: unknown[]) {
        asked.resolve();
        await goOn.promise;
        return Reflect.apply(real, this, given);
      });
    };
    const held = [slow("list"), slow("delete")];
    const removed = client.fetch(`/executions/${id}`, { method: "DELETE" });
    await asked.promise;
    const again = await call(key, { body: large });
    expect([again.status, again.headers.has("x-hull-replayed")]).toEqual([200, false]);
    goOn.resolve();
    expect((await removed).status).toBe(204);
    for (const spy of held) spy.mockRestore();
    // Its input is too large for the object itself.
    const sizes = async () => {
      const { objects } = await client.env.FILES.list({ prefix: `executions/${id}/` });
      return objects.map(({ size }) => size);
    };
    await expect.poll(sizes).toEqual([large.length]);
  });

  it("attack: a run that was cancelled and removed leaves nothing in the one that begins again", async () => {
    for (let i = 0; i < 10; i++) {
      const key = freshKey();
      const later = { headers: { prefer: "respond-async" } };
      const id = idOf(await call(key, later));
      await client.fetch(`/executions/${id}`, { method: "DELETE" });
      await client.fetch(`/executions/${id}`, { method: "DELETE" });
      expect((await call(key, { ...later, body: "other words" })).status).toBe(202);
      expect(await ended(id)).toMatchObject({ status: "done" });
      const result = await (await client.fetch(`/executions/${id}/result`)).text();
      expect(result).toContain("other words");
      const events = await (await client.fetch(`/executions/${id}/events`)).text();
      expect(events.match(/^event: (?:start|done)$/gm)).toEqual(["event: start", "event: done"]);
    }
  });

  it("unknown ids and those of other tenants get the same answer, and a request for one stores nothing", async () => {
    const unknown = `ex_${"0".repeat(32)}`;
    expect(await codeOf(await client.fetch(`/executions/${unknown}`))).toEqual([404, "execution_not_found"]);
    expect(await codeOf(await client.fetch("/executions/none"))).toEqual([404, "execution_not_found"]);
    const id = idOf(await call(freshKey()));
    const keyed = new Client({ HULL_ENV: "local", HULL_ADMIN_KEY: "0123456789abcdef" });
    const headers = { authorization: "Bearer 0123456789abcdef" };
    expect(await codeOf(await keyed.fetch(`/executions/${id}`, { headers }))).toEqual([
      404,
      "execution_not_found",
    ]);
    const tables = await runInDurableObject(stubOf(unknown), (_, state) =>
      state.storage.sql.exec("SELECT name FROM sqlite_master WHERE name = 'session'").toArray(),
    );
    expect(tables).toEqual([]);
  });

  it("is gone a day after its end", async () => {
    const id = idOf(await call(freshKey()));
    const stub = stubOf(id);
    await runInDurableObject(stub, (_, state) => {
      state.storage.sql.exec("UPDATE call SET expires_at = 1; UPDATE due SET at = 1");
    });
    expect(await codeOf(await client.fetch(`/executions/${id}`))).toEqual([404, "execution_not_found"]);
    // What a life knows of what is due is not read again.
    await evictDurableObject(stub);
    await runDurableObjectAlarm(stub);
    const left = await runInDurableObject(stub, (_, state) =>
      state.storage.sql
        .exec("SELECT name FROM sqlite_master WHERE name NOT LIKE '\\_cf%' ESCAPE '\\'")
        .toArray(),
    );
    expect(left).toEqual([]);
  });

  it("keeps its result when the object leaves memory", async () => {
    const key = freshKey();
    const first = await call(key);
    await evictDurableObject(stubOf(idOf(first)));
    const later = await call(key);
    expect(later.headers.get("x-hull-replayed")).toBe("1");
    expect(await later.text()).toBe(await first.text());
  });
});
