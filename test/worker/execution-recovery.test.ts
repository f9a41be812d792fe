/** What a call survives: its process dies at any write, and the next one continues. */
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import type { Bindings } from "../../src/env.ts";
import { ALL_OFF } from "../../src/model/capabilities.ts";
import { indexedRun } from "../../src/session/run-index.ts";
import type { ExecutionCall } from "../../src/session/unlisted/rpc.ts";
import {
  client,
  life,
  newCall,
  OPERATIONS,
  RUNNER,
  runner,
  streamedBy,
  textOf,
  withSettings,
  withStorage,
} from "./execution-world.ts";
import { Client, LOCAL } from "./served.ts";
import { FOLDING, mortal, noting, refusing } from "./session-storage.ts";

/**
 * The part of an answer that is the same for every run attempt: of an operation's document, what depends on no clock or
 * chance.
 */
function lasting(skill: string, answer: string): unknown {
  if (OPERATIONS[skill] === undefined || answer.startsWith("error")) return answer;
  const { text, data, status, iterations, tools_used, mock_calls, transcript, run_id, output } =
    JSON.parse(answer);
  const messages = transcript?.messages?.map(({ role, content }: Record<string, unknown>) => [role, content]);
  const mocked = mock_calls?.map(({ messages: sent }: { messages: unknown[] }) => sent.length);
  // The number in an id counts items that a restart made void: text that was stored before its process died.
  const items = output?.map(({ id: _, ...item }: Record<string, unknown>) => item);
  return { text, data, status, iterations, tools_used, messages, mocked, named: typeof run_id, items };
}

/** Makes a call in a process that may die, up to its end; returns whether it died. */
async function diesIn(call: ExecutionCall, { storage, died }: ReturnType<typeof mortal>): Promise<boolean> {
  const { session, over } = life(client.env, storage);
  try {
    session.begin(call);
  } catch {
    // The client asks again.
  }
  await over();
  return died();
}

/** Bindings whose R2 fails so many times at one of these. */
function withR2Away(times: number, ...names: PropertyKey[]): Bindings {
  let left = times;
  const FILES = new Proxy(client.env.FILES, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name);
      if (typeof value !== "function") return value;
      if (left === 0 || !names.includes(name)) return value.bind(target);
      left -= 1;
      return () => Promise.reject(new TypeError("R2 is away"));
    },
  });
  return Object.assign({}, client.env, { FILES });
}

const OUT = [{ type: "message", id: "msg_1", role: "user", content: [{ type: "input_text", text: "out" }] }];

it("a stored response asks the model that its route found, and does not look it up", async () => {
  const choice = {
    target: { provider: "mock", model: "found" },
    tool_format: "native",
    capabilities: ALL_OFF,
    context_window: null,
    defaults: {},
    warnings: [],
    routing: null,
  };
  const body = { model: "an-alias-that-is-gone", instructions: "Be brief." };
  const operation = { ...JSON.parse(OPERATIONS.responses ?? ""), body, choice };
  const call = { ...newCall("responses"), text: new TextEncoder().encode(JSON.stringify(operation)) };
  await withStorage("found-model", async (storage) => {
    const begun = life(client.env, storage);
    begun.session.begin(call);
    const response = JSON.parse(await textOf(begun));
    expect(response).toMatchObject({ status: "completed", model: "found", output: [{ type: "message" }] });
    await begun.over();
  });
});

describe("a run with a process that dies at any of its writes", () => {
  // Each of the hundreds of lives would collect the usage of its calls for so many ms.
  const collecting = 200;
  beforeAll(() => {
    const real = setTimeout;
    vi.spyOn(globalThis, "setTimeout").mockImplementation((work, ms, ...more) =>
      real(work, ms === collecting ? 0 : ms, ...more),
    );
  });
  afterAll(() => {
    vi.restoreAllMocks();
  });

  const processes: Record<string, number> = { asks: 1, script: 1, runs: 1, responses: 1 };
  const skills = ["asks", "script", ...Object.keys(OPERATIONS)];
  it.each(skills.flatMap((skill) => [false, true].map((stored) => ({ skill, stored }))))(
    "$skill: ends once, with the same answer, and runs its process once (last write stored: $stored)",
    async ({ skill, stored }) => {
      let expected: unknown = null;
      let deaths = 0;
      for (let writes = 1000; ; writes = writes === 1000 ? 1 : writes + 1) {
        const call = newCall(skill);
        runner.begun.length = 0;
        let died = false;
        await withStorage(call.id, async (storage) => {
          died = await diesIn(call, mortal(storage, writes, stored));
          const after = life(client.env, storage);
          after.session.begin(call);
          const answer = await textOf(after);
          const { names, text } = await streamedBy(after);
          const told = OPERATIONS[skill] === undefined || skill === "llm/call" ? { text } : {};
          const found = { answer: lasting(skill, answer), names, ...told };
          expected ??= found;
          expect({ writes, ...found }).toEqual({ writes, ...(expected as object) });
          if (OPERATIONS[skill] === undefined) expect(text).toBe(answer);
          expect(runner.begun).toHaveLength(processes[skill] ?? 0);
          expect(await textOf(life(client.env, storage))).toBe(answer);
          await after.over();
        });
        if (died) deaths += 1;
        else if (writes !== 1000) break;
      }
      expect(JSON.stringify(expected)).toContain("out");
      expect(deaths).toBeGreaterThan(3);
    },
  );

  it("a response of a skill with a work folder cites each file once", async () => {
    const caller = "default";
    const kinds = ["shell_call", "shell_call_output", "message"];
    let deaths = 0;
    for (let writes = 1; ; writes += 1) {
      const made = await client.post("/v1/containers", { name: "box" });
      const { id: container } = await made.json<{ id: string }>();
      const asked = JSON.parse(OPERATIONS.responses ?? "{}");
      const place = { id: container, skills: [], terms: {}, shell: false, anywhere: true, before: {} };
      const text = new TextEncoder().encode(
        JSON.stringify({ ...asked, body: { model: "skill/writes" }, input: OUT, container: place }),
      );
      const call = { ...newCall("responses"), caller, text };
      let died = false;
      await withStorage(call.id, async (storage) => {
        died = await diesIn(call, mortal(storage, writes, false));
        const after = life(client.env, storage);
        after.session.begin(call);
        const answer = await after.session.answer(caller);
        if (answer?.ok !== true) throw new TypeError(answer?.error.detail);
        const { output } = JSON.parse(await new Response(answer.body).text());
        expect(output.map(({ type }: { type: string }) => type)).toEqual(kinds);
        const file = { type: "container_file_citation", container_id: container, filename: "out" };
        expect(output.at(-1).content).toMatchObject([{ annotations: [file] }]);
        await after.over();
      });
      const files = await client.fetch(`/v1/containers/${container}/files`);
      expect(await files.json()).toMatchObject({ data: [{ path: "out", bytes: 3 }] });
      if (died) deaths += 1;
      else break;
    }
    expect(deaths).toBeGreaterThan(3);
  });

  it("a later run attempt has the input, in the object or in R2", async () => {
    const call = newCall("script");
    await client.env.FILES.put("executions/large", "two");
    const files: ExecutionCall["files"] = [
      { filename: "a.bin", mime: "a/b", content: new TextEncoder().encode("one") },
      { filename: "b.bin", mime: "a/b", content: { key: "executions/large", size: 3 } },
    ];
    runner.begun.length = 0;
    await withStorage(call.id, async (storage) => {
      const mortals = mortal(storage, 1000, false);
      const first = life(client.env, mortals.storage);
      first.session.begin({ ...call, files });
      mortals.kill();
      await first.over();
      expect(runner.begun).toEqual([]);
      expect(await textOf(life(client.env, storage))).toBe("out");
    });
    expect(runner.executions.get(call.id)?.input).toEqual([
      ["a.bin", "one"],
      ["b.bin", "two"],
      ["stdin", "what is it"],
    ]);
  });

  it("its row in the list of runs is written later, if it could not be written at its end", async () => {
    const call = newCall("asks");
    const env = withSettings({});
    const { DB } = env;
    let down = true;
    env.DB = new Proxy(DB, {
      get(target, name) {
        if (name === "batch" && down) return () => Promise.reject(new Error("D1 is down"));
        const value: unknown = Reflect.get(target, name);
        return typeof value === "function" ? value.bind(target) : value;
      },
    });
    const row = () => indexedRun({ env: client.env, tenant: "me" }, call.id);
    await withStorage(call.id, async (storage) => {
      const first = life(env, storage);
      first.session.begin(call);
      await textOf(first);
      await first.over();
      expect(await row()).toBeNull();
      expect(first.store.due.at("run_index")).toBeGreaterThan(Date.now());
      down = false;
      // A later life of the object does what is due.
      first.store.due.set({ run_index: 1 });
      const second = life(env, storage);
      second.alarm();
      await second.over();
      expect(await row()).toMatchObject({ kind: "call", name: "asks", state: "done" });
      expect(second.store.due.at("run_index")).toBeNull();
    });
  });

  it("a run continues even if its interim events cannot be stored", async () => {
    // A repeated model call reports to watchers that its first answer is void.
    const options = {
      mock: [{ text: "no JSON" }, { text: '{"a":1}' }],
      json_schema: { type: "object" },
      schema_retries: 1,
    };
    const asked = { ...JSON.parse(OPERATIONS.runs ?? "{}"), body: { prompt: "look", options } };
    const call = { ...newCall("runs"), text: new TextEncoder().encode(JSON.stringify(asked)) };
    await withStorage(call.id, async (storage) => {
      const { wrap, state } = refusing(/INTO events/);
      const refuses = wrap(storage);
      // Events come through only together with records.
      const transactionSync = <T>(work: () => T): T => {
        state.full = false;
        try {
          return refuses.transactionSync(work);
        } finally {
          state.full = true;
        }
      };
      const first = life(
        client.env,
        new Proxy(refuses, {
          get: (target, name) => (name === "transactionSync" ? transactionSync : Reflect.get(target, name)),
        }),
      );
      first.session.begin(call);
      expect(JSON.parse(await textOf(first))).toMatchObject({ status: "done", text: '{"a":1}' });
      expect(state.refused).toBeGreaterThan(0);
      await first.over();
    });
  });

  it.each(["script", "asks", "runs"])(
    "%s: a failure on the way to R2 breaks off a run attempt, and the next one continues",
    async (skill) => {
      const call = newCall(skill);
      const text = call.text instanceof Uint8Array ? call.text : new Uint8Array(0);
      const key = `executions/${call.id}/text`;
      await client.env.FILES.put(key, text);
      // A read that fails once is repeated at once.
      const env = withR2Away(2, "get");
      runner.begun.length = 0;
      await withStorage(call.id, async (storage) => {
        const one = life(env, storage);
        one.session.begin({ ...call, text: { key, size: text.length } });
        await expect(textOf(one)).rejects.toThrow();
        expect(await textOf(one)).toContain("out");
        await one.over();
      });
      expect(runner.begun).toHaveLength(1);
    },
  );

  it("a script's answer that R2 did not take is read again from its process, which ran once", async () => {
    const call = newCall("script");
    const env = withR2Away(1, "put", "createMultipartUpload");
    runner.begun.length = 0;
    runner.behave = (execution) => {
      for (let piece = 0; piece < 288; piece += 1) execution.stdout.push("out ".repeat(8192));
      execution.ended = true;
    };
    await withStorage(call.id, async (storage) => {
      const one = life(env, storage);
      one.session.begin(call);
      await expect(textOf(one)).rejects.toThrow();
      expect((await textOf(one)).length).toBe(288 * 4 * 8192);
      await one.over();
    });
    expect(runner.begun).toHaveLength(1);
  });

  it("a run that gets nothing done in three further run attempts is given up", async () => {
    const call = newCall("asks");
    await withStorage(call.id, async (storage) => {
      const mortals = mortal(storage, 1000, false);
      life(client.env, mortals.storage).session.begin(call);
      mortals.kill();
      for (let lives = 0; lives < 4; lives += 1) {
        // It dies as soon as its beginning is stored.
        const next = mortal(storage, 1, true);
        const unlucky = life(client.env, next.storage);
        try {
          unlucky.store.runs.live();
          unlucky.session.status("me");
        } catch {
          // Dead.
        }
        await unlucky.over();
      }
      const row = () => indexedRun({ env: client.env, tenant: "me" }, call.id);
      expect(await row()).toMatchObject({ state: "running" });
      // Its records are not read any more: that may be what kills the process.
      const { wrap, noted } = noting(FOLDING);
      const last = life(client.env, wrap(storage));
      last.session.status("me");
      await last.over();
      expect(await textOf(last)).toContain('"code":"execution_lost"');
      // The process that gave it up died before it wrote the row, which is due.
      expect(last.store.due.at("run_index")).toBeGreaterThan(Date.now());
      last.store.due.set({ run_index: 1 });
      last.alarm();
      await last.over();
      expect(await row()).toMatchObject({ state: "error", code: "execution_lost" });
      expect(last.store.due.at("run_index")).toBeNull();
      expect(noted).toEqual([]);
    });
    expect(runner.begun).toEqual([]);
  });
});

describe("a process that outlives its caller", () => {
  /** A run whose caller dies while its process is under way and has printed `told`. */
  async function orphaned(
    skill: string,
    told: string,
    then: (storage: DurableObjectStorage, id: string) => Promise<void>,
    call = newCall(skill),
  ): Promise<void> {
    runner.behave = (execution) => execution.stdout.push(told);
    await withStorage(call.id, async (storage) => {
      const mortals = mortal(storage, 1_000_000, false);
      const { session, store } = life(client.env, mortals.storage);
      session.begin(call);
      await vi.waitFor(() => expect(runner.begun).toHaveLength(1), 20_000);
      await vi.waitFor(
        () => expect(store.submitted.ids().map((id) => store.submitted.known(id))).toEqual(["admitted"]),
        20_000,
      );
      await new Promise((resolve) => setTimeout(resolve, 60));
      mortals.kill();
      await then(storage, runner.begun[0] ?? "");
    });
  }
  const finish = (id: string, further: string): void => {
    const execution = runner.executions.get(id);
    execution?.stdout.push(further);
    if (execution !== undefined) execution.ended = true;
  };

  it("S84: a script's output is complete, and is sent once", async () => {
    await orphaned("script", "one ", async (storage, id) => {
      finish(id, "two");
      const after = life(client.env, storage);
      expect(await textOf(after)).toBe("one two");
      expect(await streamedBy(after)).toEqual({ names: ["start", "done"], text: "one two" });
      expect(runner.begun).toHaveLength(1);
    });
  });

  it("S85: one that the runner knows nothing of is lost, not run again", async () => {
    await orphaned("script", "one ", async (storage) => {
      runner.executions.clear();
      const after = life(client.env, storage);
      expect(await textOf(after)).toContain('"code":"execution_lost"');
      expect((await streamedBy(after)).names).toEqual(["start", "error", "done"]);
      expect(runner.begun).toHaveLength(1);
      // The answer of every later call, too.
      expect(await textOf(life(client.env, storage))).toContain('"code":"execution_lost"');
    });
  });

  it("the model reads that a lost tool may have taken effect", async () => {
    await orphaned("asks", "one ", async (storage) => {
      runner.executions.clear();
      const after = life(client.env, storage);
      expect(await textOf(after)).toMatch(
        /The tool look failed:[\s\S]*outcome_unknown[\s\S]*may or may not have taken effect/,
      );
      expect(runner.begun).toHaveLength(1);
    });
  });

  it("a lost tool that is declared idempotent is run once more, and followed from then on", async () => {
    await orphaned("looks", "one ", async (storage, id) => {
      runner.executions.clear();
      runner.behave = (execution) => {
        execution.stdout.push("seen again");
        execution.ended = true;
      };
      expect(await textOf(life(client.env, storage))).toContain("seen again");
      expect(runner.begun).toEqual([id, `${id}-again`]);
    });
  });

  it.each([
    ["asks", 1],
    ["looks", 3],
  ])("tool_retries repeats a tool of %s that was lost: %i processes in all", async (skill, processes) => {
    runner.behave = ({ spec }) => {
      Object.assign(runner.executions.get(spec.id) ?? {}, { end: { cause: "lost" }, ended: true });
      runner.executions.delete(spec.id);
    };
    const { body } = JSON.parse(OPERATIONS.runs ?? "{}");
    const options = { ...body.options, skill, tool_retries: 2, tool_backoff_ms: 1 };
    const answer = await client.post("/runs", { ...body, options });
    expect(await answer.json()).toMatchObject({ status: "done", successful_tools: [] });
    expect(runner.begun).toHaveLength(processes);
  });

  it("a later attempt of a tool is followed, although the runner has forgotten the first one", async () => {
    const asked = JSON.parse(OPERATIONS.runs ?? "{}");
    const options = { ...asked.body.options, skill: "looks", tool_retries: 2, tool_backoff_ms: 1 };
    const text = new TextEncoder().encode(JSON.stringify({ ...asked, body: { ...asked.body, options } }));
    const call = { ...newCall("runs"), text };
    runner.behave = (execution) => {
      execution.end = { exit_code: 1 };
      execution.ended = runner.begun.length === 1;
    };
    await withStorage(call.id, async (storage) => {
      const mortals = mortal(storage, 1_000_000, false);
      const { session, store } = life(client.env, mortals.storage);
      session.begin(call);
      const under = () => runner.begun[1] ?? "";
      await vi.waitFor(() => expect(store.submitted.known(under())).toBe("admitted"), 20_000);
      mortals.kill();
      const [first = ""] = runner.begun;
      runner.executions.delete(first);
      const second = runner.executions.get(under());
      if (second !== undefined) second.end = {};
      finish(under(), "seen at last");
      expect(await textOf(life(client.env, storage))).toContain("seen at last");
      expect(runner.begun).toEqual([first, `${first}-1`]);
    });
  });

  it("another run attempt follows it although its own settings differ now", async () => {
    await orphaned("script", "one ", async (storage, id) => {
      storage.sql.exec("UPDATE handed_in SET admitted = 0");
      finish(id, "two");
      const env = withSettings({ HULL_CONFIG: '{"grace_ms":1}' });
      expect(await textOf(life(env, storage))).toBe("one two");
      expect(runner.begun).toHaveLength(1);
    });
  });

  it.each(["single", "runs"])(
    "%s: continues while others hold its skill's only slot, and then gets one too",
    async (called) => {
      const call = newCall(called);
      const asked = OPERATIONS[called]?.replace('"skill":"asks"', '"skill":"single"');
      const text = asked === undefined ? call.text : new TextEncoder().encode(asked);
      const { LEDGER } = client.env;
      const slots = () => LEDGER.get(LEDGER.idFromName("skill:single"));
      await orphaned(
        called,
        "one ",
        async (storage, id) => {
          // Its lease has ended.
          await slots().releaseSlot(call.id);
          expect(await slots().takeSlot("another", 1, 60_000)).toBe(0);
          finish(id, "two");
          const waits: number[] = [];
          const third = async () => slots().takeSlot("third", 2, 1);
          vi.stubGlobal("fetch", async (...of: Parameters<typeof fetch>) => {
            waits.push(await third());
            return runner.fetch(...of);
          });
          const after = life(client.env, storage);
          expect(await textOf(after)).not.toMatch(/^error/);
          await after.over();
          expect([waits.length > 0, waits.includes(0), await third()]).toEqual([true, false, 0]);
          await slots().releaseSlot("another");
        },
        { ...call, text },
      );
    },
  );

  it("cancelling ends the sub-agents that its run began", async () => {
    const delegates = [{ name: "sub_agent", arguments: { task: "Look." } }];
    const mocked = { HULL_LLM: '{"llm":{"mock_routes":true}}' };
    for (const tool_calls of [delegates, [{ name: "look", arguments: {} }]])
      await new Client({ ...LOCAL, ...mocked }).post("/llm/mocks", { text: "", tool_calls });
    const options = { provider: "mock", skill: "asks", sub_agents: true };
    const asked = { ...JSON.parse(OPERATIONS.runs ?? "{}"), body: { prompt: "go", options } };
    const text = new TextEncoder().encode(JSON.stringify(asked));
    const call = { ...newCall("runs"), caller: "default", text };
    runner.behave = () => {};
    await withStorage(call.id, async (storage) => {
      const mortals = mortal(storage, 1_000_000, false);
      life(withSettings(mocked), mortals.storage).session.begin(call);
      const child = `/tasks/${call.id.replace("ex_", "run_")}.tool-0-0`;
      const statusOf = async (): Promise<unknown> =>
        (await (await client.fetch(child)).json<{ status?: unknown }>()).status;
      // The sub-agent's own process.
      await vi.waitFor(() => expect(runner.begun).toHaveLength(1), 20_000);
      expect(await statusOf()).toBe("running");
      mortals.kill();
      const after = life(client.env, storage);
      expect(await after.session.cancel("default")).toBe("cancelled");
      await after.over();
      expect(await statusOf()).toBe("cancelled");
    });
  });

  it("a run without a session ends its sub-agents when its client leaves, after its answer", async () => {
    const routed = new Client({ ...LOCAL, ...RUNNER, HULL_LLM: '{"llm":{"mock_routes":true}}' });
    const delegates = [{ name: "sub_agent", arguments: { task: "Look." } }];
    for (const tool_calls of [delegates, [{ name: "look", arguments: {} }]])
      await routed.post("/llm/mocks", { text: "", tool_calls });
    runner.behave = () => {};
    const { SESSIONS } = routed.env;
    const { promise: goesOn, resolve: goOn } = Promise.withResolvers<void>();
    const closing = (stub: ReturnType<typeof SESSIONS.get>) =>
      new Proxy(stub, {
        get(object, name) {
          if (name !== "ask") return Reflect.get(object, name);
          return async (...[question]: Parameters<typeof object.ask>) => {
            if (typeof question === "string" && question.includes('"type":"task_close"')) await goesOn;
            return object.ask(question);
          };
        },
      });
    const sessions = new Proxy(SESSIONS, {
      get(namespace, name) {
        if (name === "get") return (id: DurableObjectId) => closing(namespace.get(id));
        const value: unknown = Reflect.get(namespace, name);
        return typeof value === "function" ? value.bind(namespace) : value;
      },
    });
    Object.assign(routed.env, { SESSIONS: sessions });
    const leaves = new AbortController();
    const body = JSON.stringify({
      prompt: "go",
      options: { provider: "mock", skill: "asks", sub_agents: true },
    });
    const headers = { "content-type": "application/json" };
    const asked = routed.open("/runs", { method: "POST", headers, body, signal: leaves.signal });
    const children = async (): Promise<string[]> => {
      const { data } = await (await client.fetch("/tasks?limit=100")).json<{
        data: { id: string; status: string }[];
      }>();
      return data.flatMap(({ id, status }) => (status === "running" ? [id] : []));
    };
    await expect.poll(children).toHaveLength(1);
    const [child = ""] = await children();
    await vi.waitFor(() => expect(runner.begun).toHaveLength(1), 20_000);
    leaves.abort();
    const { response, settled } = await asked;
    expect(response.status).toBe(499);
    let over = false;
    const ended = settled().then(() => {
      over = true;
    });
    const task = async () => (await client.fetch(`/tasks/${child}`)).json();
    expect(await task()).toMatchObject({ status: "running" });
    expect(over).toBe(false);
    goOn();
    await ended;
    expect(await task()).toMatchObject({ status: "cancelled" });
  });

  it.each(["alarm", "DELETE"])(
    "cancelling stops it, although the process that settled the run dies before it does (%s)",
    async (again) => {
      await orphaned("script", "one ", async (storage, id) => {
        const { fetch } = runner;
        const asked = vi.fn(() => new Promise(() => {}));
        vi.stubGlobal("fetch", asked);
        const dies = life(client.env, storage);
        void dies.session.cancel("me");
        expect(dies.session.status("me")).toMatchObject({ status: "cancelled" });
        await vi.waitFor(() => expect(asked).toHaveBeenCalled());
        expect(runner.cancelled).not.toContain(id);
        vi.stubGlobal("fetch", fetch);
        const after = life(client.env, storage);
        if (again === "DELETE") expect(await after.session.cancel("me")).toBe("removed");
        else {
          storage.sql.exec("UPDATE due SET at = 1 WHERE kind = 'stop'");
          after.alarm();
        }
        await vi.waitFor(() => expect(runner.cancelled).toContain(id), 20_000);
        await after.over();
        expect(after.store.due.at("stop")).toBeNull();
        finish(id, "two");
      });
    },
  );

  it("cancelling stops it and settles the run, once", async () => {
    await orphaned("script", "one ", async (storage, id) => {
      const after = life(client.env, storage);
      expect(await after.session.cancel("someone else")).toBeNull();
      expect(await after.session.cancel("me")).toBe("cancelled");
      expect(runner.cancelled).toContain(id);
      finish(id, "two");
      expect(after.session.status("me")).toMatchObject({ status: "cancelled" });
      expect(await textOf(after)).toContain('"code":"execution_cancelled"');
      expect(await after.session.cancel("me")).toBe("removed");
      expect(after.session.status("me")).toBeNull();
    });
  });
});
