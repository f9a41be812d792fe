/** Which failures a key keeps: those after an effect. A failure before any effect leaves the key free. */
import { describe, expect, it, vi } from "vitest";
import {
  client,
  life,
  newCall,
  OPERATIONS,
  refusedByRunner,
  runner,
  streamedBy,
  textOf,
  withSettings,
  withStorage,
} from "./execution-world.ts";
import { withFaults } from "./faulty-storage.ts";
import { Client, LOCAL, mockSkill } from "./served.ts";
import { mortal } from "./session-storage.ts";

const WITHOUT_KEY = withSettings({});
const WITH_KEY = withSettings({ OPENAI_API_KEY: "sk-test" });

const asked = { account: "caller:-" };
const options = { provider: "openai", model: "gpt-4.1" };
const REQUESTS: Record<string, object> = {
  runs: { ...asked, operation: "runs", until: "terminal", body: { prompt: "x", options } },
  "llm/call": { ...asked, operation: "llm/call", body: { prompt: "x", options } },
  "llm/completion": { ...asked, operation: "llm/completion", body: { prefix: "x", options } },
  responses: { ...JSON.parse(OPERATIONS.responses ?? ""), body: { model: "gpt-4.1" } },
  "responses of a skill": { ...JSON.parse(OPERATIONS.responses ?? ""), body: { model: "skill/needs-key" } },
};

/** A provider that refuses every request. */
const refusing = () => vi.fn(async () => Response.json({ error: { message: "no" } }, { status: 400 }));

describe("a call with an object of its own", () => {
  it.each(["needs-key", "script", ...Object.keys(REQUESTS)])(
    "%s: a failure before any effect leaves its key free, one after an effect stays",
    async (name) => {
      const call = newCall(name.split(" ")[0] ?? "");
      const request = REQUESTS[name];
      if (request !== undefined) call.text = new TextEncoder().encode(JSON.stringify(request));
      const ended = async (env: typeof WITH_KEY, storage: DurableObjectStorage) => {
        const { session, over } = life(env, storage);
        const begun = session.begin(call);
        const answer = await session.answer("me");
        await over();
        return [begun, answer?.ok === false ? [answer.error.status, answer.error.code] : answer];
      };
      await withStorage(call.id, async (storage) => {
        runner.instead = refusedByRunner;
        const before = name === "script" ? [429, "concurrency_limited"] : [503, "provider_not_configured"];
        for (let times = 0; times < 2; times++)
          expect(await ended(WITHOUT_KEY, storage)).toEqual(["started", before]);
        runner.instead = null;
        runner.behave = (execution) => {
          execution.end = { exit_code: 1 };
          execution.ended = true;
        };
        const provider = refusing();
        if (name !== "script") vi.stubGlobal("fetch", provider);
        const [begun, after] = await ended(WITH_KEY, storage);
        expect([begun, after]).toEqual(["started", [expect.any(Number), expect.any(String)]]);
        expect(after).not.toEqual(before);
        expect(await ended(WITHOUT_KEY, storage)).toEqual(["finished", after]);
        expect(name === "script" ? runner.begun.length : provider.mock.calls.length).toBe(1);
      });
    },
  );
});

it.each([
  ["a model call", "runs", { prompt: "x", options }],
  [
    "a summary before it",
    "runs",
    {
      prompt: "x",
      options: {
        ...options,
        messages: ["one", "two", "three"].map((content) => ({ role: "user", content })),
        auto_compact: true,
        compact_threshold: 1,
        compact_strategy: "llm",
        compact_keep_last: 1,
      },
    },
  ],
  ["a command of a skill's text", "commands", null],
])("notes that %s has effects before they begin", async (_, name, body) => {
  const call = newCall(name);
  const request = { ...asked, operation: "runs", until: "terminal", body };
  if (body !== null) call.text = new TextEncoder().encode(JSON.stringify(request));
  await withStorage(call.id, async (storage) => {
    const begun: unknown[] = [];
    vi.stubGlobal("fetch", async () => {
      begun.push(storage.sql.exec("SELECT begun FROM call").one().begun);
      return Response.json({ error: { message: "no" } }, { status: 400 });
    });
    const { session, over } = life(WITH_KEY, storage);
    expect(session.begin(call)).toBe("started");
    await session.answer("me");
    await over();
    expect(begun[0]).toBe(1);
  });
});

it.each([
  ["of a process", "asks", { name: "look", arguments: {} }],
  ["of the Worker", "writes", { name: "Write", arguments: { file_path: "a.txt", content: "x" } }],
])("a run whose model is mocked keeps its failure if a tool %s began", async (_, skill, tool) => {
  const mock = [{ tool_calls: [tool] }, { error: { category: "auth" } }];
  const body = { prompt: "look", options: { skill, mock } };
  const call = newCall("runs");
  call.text = new TextEncoder().encode(
    JSON.stringify({ ...asked, operation: "runs", until: "terminal", body }),
  );
  await withStorage(call.id, async (storage) => {
    for (const begun of ["started", "finished"]) {
      const one = life(client.env, storage);
      expect(one.session.begin(call)).toBe(begun);
      expect(await textOf(one)).toContain("provider_auth_failed");
      await one.over();
    }
  });
});

it("an answer that took no effect is kept", async () => {
  const call = newCall("runs");
  const body = { prompt: "x", options: { ...options, max_iterations: 0 } };
  call.text = new TextEncoder().encode(
    JSON.stringify({ ...asked, operation: "runs", until: "terminal", body }),
  );
  const provider = refusing();
  vi.stubGlobal("fetch", provider);
  await withStorage(call.id, async (storage) => {
    for (const begun of ["started", "finished"]) {
      const { session, over } = life(WITH_KEY, storage);
      expect(session.begin(call)).toBe(begun);
      expect(await session.answer("me")).toMatchObject({ ok: true });
      await over();
    }
  });
  expect(provider).not.toHaveBeenCalled();
});

it("a run that matches a skill and then fails leaves its key free; its events begin with start", async () => {
  const call = newCall("runs");
  const skills = [{ name: "sums", description: "sums numbers", prompt: "Add." }];
  const body = {
    prompt: "sums numbers",
    options: { ...options, skills, skill_match: { strategy: "metadata" } },
  };
  call.text = new TextEncoder().encode(
    JSON.stringify({ ...asked, operation: "runs", until: "terminal", body }),
  );
  await withStorage(call.id, async (storage) => {
    const early = life(WITHOUT_KEY, storage);
    expect(early.session.begin(call)).toBe("started");
    await early.session.answer("me");
    await early.over();
    expect((await streamedBy(early)).names).toEqual([
      "start",
      "skill_matched",
      "skill_activated",
      "error",
      "done",
    ]);
    vi.stubGlobal("fetch", refusing());
    const late = life(WITH_KEY, storage);
    expect(late.session.begin(call)).toBe("started");
    expect(await textOf(late)).not.toContain("provider_not_configured");
    await late.over();
    expect((await streamedBy(late)).names.slice(0, 2)).toEqual(["start", "skill_matched"]);
  });
});

const KEYED = { "content-type": "application/json" };
const messages = [{ role: "user", content: "x" }];
const skill = "skill/needs-key";

it.each([
  ["/v1/messages", { model: skill, max_tokens: 10, messages }],
  ["/v1/messages", { model: skill, max_tokens: 10, messages, stream: true }],
  ["/v1/chat/completions", { model: skill, messages }],
  ["/v1/chat/completions", { model: skill, messages, stream: true }],
  ["/v1/responses", { model: skill, input: "x", store: false }],
  ["/v1/responses", { model: skill, input: "x", store: false, stream: true }],
])("%s with a skill as its model (%o): the same holds", async (path, body) => {
  const withKey = new Client({ ...LOCAL, OPENAI_API_KEY: "sk-test" });
  const headers = { ...KEYED, "idempotency-key": JSON.stringify([path, body]) };
  const ask = async (by: Client) => {
    const response = await by.fetch(path, { method: "POST", headers, body: JSON.stringify(body) });
    return [response.headers.get("x-hull-replayed"), response.status, await response.text()] as const;
  };
  const provider = refusing();
  vi.stubGlobal("fetch", provider);
  for (let times = 0; times < 2; times++)
    expect(await ask(client)).toEqual([null, expect.any(Number), expect.stringContaining("OPENAI_API_KEY")]);
  const [replayed, ...after] = await ask(withKey);
  expect([replayed, after]).toEqual([null, expect.not.arrayContaining([503])]);
  expect(after[1]).not.toContain("OPENAI_API_KEY");
  expect(await ask(client)).toEqual(["1", ...after]);
  expect(provider.mock.calls.length).toBe(1);
});

describe("a request under /v1 whose skill is about to ask its model", () => {
  const body = JSON.stringify({ model: skill, messages });
  const ask = async (key: string, by: Client) => {
    const headers = { ...KEYED, "idempotency-key": key };
    const response = await by.fetch("/v1/chat/completions", { method: "POST", headers, body });
    return [response.headers.get("x-hull-replayed"), response.status];
  };

  it("asks nothing, and leaves its key free, if it cannot note that", async () => {
    const by = new Client({ ...LOCAL, OPENAI_API_KEY: "sk-test" });
    const provider = refusing();
    vi.stubGlobal("fetch", provider);
    const fault = { binding: "DB", method: "prepare", of: "SET effects = 1" } as const;
    const { answer, faults } = await withFaults(by.env, fault, 100, () => ask("unnoted", by));
    expect([answer, faults > 0, provider.mock.calls.length]).toEqual([[null, 503], true, 0]);
    expect(await ask("unnoted", by)).toEqual([null, 400]);
    expect(await ask("unnoted", by)).toEqual(["1", 400]);
    expect(provider.mock.calls.length).toBe(1);
  });

  it("is one for two isolates that get it at once", async () => {
    const [one, other] = [0, 1].map(() => new Client({ ...LOCAL, OPENAI_API_KEY: "sk-test" }));
    if (one === undefined || other === undefined) throw new TypeError("no clients");
    const provider = refusing();
    vi.stubGlobal("fetch", provider);
    const answers = await Promise.all([ask("twice", one), ask("twice", other)]);
    expect(answers.map(([, status]) => status)).toEqual([400, 400]);
    expect(answers.filter(([replayed]) => replayed === "1")).toHaveLength(1);
    expect(provider.mock.calls.length).toBe(1);
  });

  it("asks nothing if another process has taken the request over", async () => {
    const by = new Client({ ...LOCAL, OPENAI_API_KEY: "sk-test" });
    const provider = refusing();
    vi.stubGlobal("fetch", provider);
    // The other process claims the key at the moment when this one wants to note its effects.
    const real = by.env.DB;
    let taken = false;
    const prepare = (statement: string) => {
      const own = real.prepare(statement);
      if (taken || !statement.includes("SET effects = 1")) return own;
      taken = true;
      return {
        bind: (...values: unknown[]) => ({
          run: async () => {
            await real.prepare("UPDATE kept_answers SET attempt = 'other' WHERE answer IS NULL").run();
            return own.bind(...values).run();
          },
        }),
      };
    };
    const get = (target: object, name: PropertyKey) => {
      const value: unknown = Reflect.get(target, name);
      return name === "prepare" ? prepare : typeof value === "function" ? value.bind(target) : value;
    };
    Object.assign(by.env, { DB: new Proxy(real, { get }) });
    expect(await ask("taken", by)).toEqual([null, 502]);
    expect([taken, provider.mock.calls.length]).toEqual([true, 0]);
  });
});

/** A runner that gets a process, and answers with `accept`. */
function lateRunner(): { submitted: Promise<void>; accept: () => void } {
  const submitted = Promise.withResolvers<void>();
  const answer = Promise.withResolvers<Response>();
  vi.stubGlobal("fetch", (...sent: Parameters<typeof fetch>) => {
    if (sent[1]?.method === "DELETE") return runner.fetch(...sent);
    submitted.resolve();
    return answer.promise;
  });
  return { submitted: submitted.promise, accept: () => answer.resolve(new Response(new Blob([]))) };
}

it("a run that was cancelled and removed notes nothing for the next one under its key", async () => {
  const call = newCall("script");
  const { submitted, accept } = lateRunner();
  await withStorage(call.id, async (storage) => {
    const { session, over } = life(client.env, storage);
    expect(session.begin(call)).toBe("started");
    await submitted;
    expect([await session.cancel("me"), await session.cancel("me")]).toEqual(["cancelled", "removed"]);
    vi.stubGlobal("fetch", runner.fetch);
    runner.instead = refusedByRunner;
    expect(session.begin(call)).toBe("started");
    expect((await session.answer("me"))?.ok).toBe(false);
    accept();
    await over();
    expect(session.begin(call)).toBe("started");
    await over();
  });
});

it("a run that was cancelled stores nothing more, whatever its process still does", async () => {
  const call = newCall("runs");
  const { submitted, accept } = lateRunner();
  await withStorage(call.id, async (storage) => {
    const { session, store, over } = life(client.env, storage);
    expect(session.begin(call)).toBe("started");
    await submitted;
    expect(await session.cancel("me")).toBe("cancelled");
    const stored = [store.lastRecord(), store.lastEvent()];
    accept();
    await over();
    expect([store.lastRecord(), store.lastEvent()]).toEqual(stored);
  });
});

describe("a script of which nobody knows whether its process began", () => {
  const begunAgain = async (call: ReturnType<typeof newCall>, storage: DurableObjectStorage) => {
    const { session, over } = life(client.env, storage);
    const begun = session.begin(call);
    const answer = await session.answer("me");
    await over();
    return [begun, answer?.ok === false ? answer.error.code : answer?.ok];
  };
  const real = setTimeout;
  const withoutWaits = () =>
    vi
      .spyOn(globalThis, "setTimeout")
      .mockImplementation((work, ms, ...more) =>
        real(work, ms !== undefined && ms < 10_000 ? 0 : ms, ...more),
      );

  /** The runner gets every request, and no answer of it arrives. */
  const loseAnswers = () =>
    vi.stubGlobal("fetch", async (...asked: Parameters<typeof fetch>) => {
      await (await runner.fetch(...asked)).text();
      return new Response(null, { status: 502 });
    });

  it("keeps its key if the runner accepted it and forgot it", async () => {
    const waits = withoutWaits();
    const call = newCall("script");
    runner.instead = () => new Response(new Blob([]));
    await withStorage(call.id, async (storage) => {
      expect(await begunAgain(call, storage)).toEqual(["started", "execution_lost"]);
      runner.instead = null;
      expect(await begunAgain(call, storage)).toEqual(["finished", "execution_lost"]);
    });
    waits.mockRestore();
    expect(runner.begun).toEqual([]);
  });

  it("follows its process if the runner began it and the answer was lost", async () => {
    const waits = withoutWaits();
    const call = newCall("script");
    await withStorage(call.id, async (storage) => {
      loseAnswers();
      expect(await begunAgain(call, storage)).toEqual(["started", "runner_unavailable"]);
      vi.stubGlobal("fetch", runner.fetch);
      // The skill has another time limit by now.
      expect(await begunAgain({ ...call, digest: newCall("slow-script").digest }, storage)).toEqual([
        "started",
        true,
      ]);
      expect(await begunAgain(call, storage)).toEqual(["finished", true]);
    });
    waits.mockRestore();
    expect(runner.begun).toEqual([call.id]);
  });

  it("keeps its key if its process died between the acceptance and the note of it", async () => {
    const waits = withoutWaits();
    const call = newCall("script");
    await withStorage(call.id, async (storage) => {
      const mortals = mortal(storage, 1_000_000, true);
      vi.stubGlobal("fetch", async () => new Response(new ReadableStream()));
      const { session, store } = life(client.env, mortals.storage);
      expect(session.begin(call)).toBe("started");
      await expect.poll(() => store.submitted.known(call.id)).toBe("admitted");
      mortals.kill();
      storage.sql.exec("UPDATE call SET begun = 0");
      // The runner has forgotten the process.
      vi.stubGlobal("fetch", runner.fetch);
      const next = life(client.env, storage);
      expect(await textOf(next)).toContain("execution_lost");
      await next.over();
      expect(await begunAgain(call, storage)).toEqual(["finished", "execution_lost"]);
    });
    waits.mockRestore();
    expect(runner.begun).toEqual([]);
  });

  it("gets no answer to another input than its own", async () => {
    const waits = withoutWaits();
    const call = newCall("script");
    const other = { ...call, request_hash: "other", text: new TextEncoder().encode("another one") };
    await withStorage(call.id, async (storage) => {
      loseAnswers();
      expect(await begunAgain(call, storage)).toEqual(["started", "runner_unavailable"]);
      vi.stubGlobal("fetch", runner.fetch);
      expect(await begunAgain(other, storage)).toEqual(["started", true]);
    });
    waits.mockRestore();
    expect(runner.begun).toEqual([call.id, `${call.id}-1`]);
  });

  it.each([1, 2])("follows its process, though %i other inputs came and failed meanwhile", async (others) => {
    const waits = withoutWaits();
    const call = newCall("script");
    const other = (n: number) => ({
      ...call,
      request_hash: `other ${n}`,
      digest: newCall("needs-key").digest,
    });
    await withStorage(call.id, async (storage) => {
      loseAnswers();
      expect(await begunAgain(call, storage)).toEqual(["started", "runner_unavailable"]);
      vi.stubGlobal("fetch", runner.fetch);
      for (let n = 0; n < others; n++)
        expect(await begunAgain(other(n), storage)).toEqual(["started", "provider_not_configured"]);
      expect(await begunAgain(call, storage)).toEqual(["started", true]);
      expect(await begunAgain(call, storage)).toEqual(["finished", true]);
      const { session, over } = life(client.env, storage);
      expect(await session.cancel("me")).toBe("removed");
      await over();
      // The runner knows the names of the earlier runs.
      expect(await begunAgain({ ...call, request_hash: "third" }, storage)).toEqual(["started", true]);
    });
    waits.mockRestore();
    expect(runner.begun).toEqual([call.id, `${call.id}-${others + 1}`]);
  });

  it("two inputs follow each their own process", async () => {
    const waits = withoutWaits();
    const call = newCall("script");
    const other = { ...call, request_hash: "other", text: new TextEncoder().encode("another one") };
    await withStorage(call.id, async (storage) => {
      loseAnswers();
      for (const one of [call, other, call, other])
        expect(await begunAgain(one, storage)).toEqual(["started", "runner_unavailable"]);
      vi.stubGlobal("fetch", runner.fetch);
      expect(await begunAgain(call, storage)).toEqual(["started", true]);
      expect(await begunAgain(other, storage)).toEqual(["other_request", true]);
    });
    waits.mockRestore();
    expect(runner.begun).toEqual([call.id, `${call.id}-1`]);
  });

  it.each([
    ["accepted it", () => new Response(new ReadableStream())],
    ["did not answer", () => new Promise<Response>(() => {})],
  ])("keeps its key if the process that handed it in died each time: the runner %s", async (_, instead) => {
    const call = newCall("script");
    vi.stubGlobal("fetch", instead);
    await withStorage(call.id, async (storage) => {
      for (let lives = 0; lives < 5; lives += 1) {
        const mortals = mortal(storage, 1_000_000, true);
        const { session, store } = life(client.env, mortals.storage);
        if (lives === 0) session.begin(call);
        else session.status("me");
        await expect.poll(() => store.submitted.ids()).toEqual([call.id]);
        mortals.kill();
      }
      vi.stubGlobal("fetch", runner.fetch);
      expect(await begunAgain(call, storage)).toEqual(["finished", "execution_lost"]);
    });
    expect(runner.begun).toEqual([]);
  });

  it("leaves its key free if the runner says that it has not begun", async () => {
    const waits = withoutWaits();
    const call = newCall("script");
    runner.instead = () => new Response(null, { status: 503 });
    await withStorage(call.id, async (storage) => {
      expect(await begunAgain(call, storage)).toEqual(["started", "runner_unavailable"]);
      runner.instead = null;
      expect(await begunAgain(call, storage)).toEqual(["started", true]);
    });
    waits.mockRestore();
    expect(runner.begun).toHaveLength(1);
  });
});

/** A request that cannot begin yet: its path and body, and what makes it possible. */
interface Early {
  path: string;
  body: (mock: object[]) => object;
  possible: () => Promise<unknown>;
}
const provider = "mock";
const publishLater = () => client.publish({ later: mockSkill("later") });
const withSkill = (mock: object[]) => ({ skill: "later", mock });
const graph = (mock: object[]) => ({ nodes: { a: { prompt: "x", model_policy: { provider, mock } } } });
const putWorkflow = (mock: object[]) =>
  client.fetch("/workflows/later", {
    method: "PUT",
    headers: KEYED,
    body: JSON.stringify({ graph: graph(mock) }),
  });
const node = { kind: "subagent", mode: "llm" };
const EARLY: { [name: string]: Early } = {
  "a skill": { path: "/skills/later", body: () => ({ input: "x" }), possible: publishLater },
  "a skill in a session": {
    path: "/skills/later?session_id=box",
    body: () => ({ input: "x" }),
    possible: publishLater,
  },
  "/runs": {
    path: "/runs",
    body: (mock) => ({ prompt: "x", options: withSkill(mock) }),
    possible: publishLater,
  },
  "/sessions/{id}/runs": {
    path: "/sessions/box/runs",
    body: (mock) => ({ prompt: "x", options: withSkill(mock) }),
    possible: publishLater,
  },
  "/llm/call": {
    path: "/llm/call",
    body: (mock) => ({ prompt: "x", options: { provider, mock, session_id: "later" } }),
    possible: () => client.post("/sessions", { id: "later" }),
  },
  "/llm/completion": {
    path: "/llm/completion",
    body: (mock) => ({ prefix: "x", options: { provider, mock, session_id: "later" } }),
    possible: () => client.post("/sessions", { id: "later" }),
  },
  "/tasks": {
    path: "/tasks",
    body: (mock) => ({ task: "x", node, options: withSkill(mock), wait: true }),
    possible: publishLater,
  },
  "/sub-agents": {
    path: "/sub-agents",
    body: (mock) => ({ task: "x", options: withSkill(mock) }),
    possible: publishLater,
  },
  "/daemons": {
    path: "/daemons",
    body: (mock) => ({ task: "x", ...withSkill(mock) }),
    possible: publishLater,
  },
  "/workflows/execute": {
    path: "/workflows/execute",
    body: () => ({ task: "x", workflow: "later" }),
    possible: () => putWorkflow([{ text: "said" }]),
  },
  "/workflows/task_run": {
    path: "/workflows/task_run",
    body: () => ({ task: "x", flow: "later" }),
    possible: () => putWorkflow([{ text: "said" }]),
  },
};

describe.each(Object.entries(EARLY))("%s", (name, { path, body, possible }) => {
  const ask = async (key: string, asked: object) => {
    const response = await client.fetch(path, {
      method: "POST",
      headers: { ...KEYED, "idempotency-key": `${key} ${name}` },
      body: JSON.stringify(asked),
    });
    return { status: response.status, replayed: response.headers.get("x-hull-replayed") };
  };

  it("leaves its key free after a failure before any effect, and keeps it after one", async () => {
    await client.publish({});
    await client.post("/sessions", { id: "box" });
    await client.fetch("/sessions/later", { method: "DELETE" });
    await client.fetch("/workflows/later", { method: "DELETE" });
    const said = body([{ text: "said" }]);
    for (let times = 0; times < 2; times++)
      expect(await ask("early", said)).toEqual({ status: 404, replayed: null });
    await possible();
    const begun = await ask("early", said);
    expect([begun.replayed, begun.status < 300]).toEqual([null, true]);
    expect(await ask("early", said)).toEqual({ ...begun, replayed: "1" });
  });
});
