/** What supervises a session's runs, what long and broken storage does to it, and what it costs. */
import { describe, expect, it } from "vitest";
import * as z from "zod/mini";
import { callSchemas } from "../../src/api/call-routes.ts";
import { sha256 } from "../../src/bytes.ts";
import type { AgentRecordBody } from "../../src/engine/agent/records.ts";
import type { ToolAnnotations } from "../../src/engine/agent/spec.ts";
import { type AgentRuntime, SESSION_RUNTIME } from "../../src/run/agent/runtime.ts";
import { indexedRun } from "../../src/session/run-index.ts";
import { listSessions } from "../../src/session/session-index.ts";
import { bindings } from "./file-bindings.ts";
import { Client, mockSkill } from "./served.ts";
import { counting, FOLDING, noting, refusing } from "./session-storage.ts";
import { DAEMON, inWorld, type Reply, said, tool, type World } from "./session-world.ts";

const env = bindings;
const RESULT = z.object({ required: z.array(z.string()) }).parse(callSchemas().RunResult).required;
const client = { ...tool("ask"), executor: "client" as const };
const journal = { ...tool("write"), handler: "journal" };
const tools = (count: number) =>
  Array.from({ length: count }, (_, n): { calls: [string, { n: number }][] } => ({
    calls: [["write", { n }]],
  }));
const visibleTexts = async (world: World): Promise<unknown[]> => {
  const { data } = await world.ask("messages", { offset: 0, limit: 1000 });
  return data.map(({ content }) => content);
};
const until = async (fact: () => boolean): Promise<void> => {
  while (!fact()) await new Promise((resolve) => setTimeout(resolve, 1));
};
const statusOf = (world: World, run_id = "r1") => world.store.runs.find(run_id)?.status;

describe("a tool that a hook executes, in whose call the process died", () => {
  /** Its first call never answers; each further one says how many there were. */
  const SOURCE = `let calls = 0;
export const count = () => (++calls === 1 ? new Promise(() => {}) : "call " + calls);`;

  it.each<[string, ToolAnnotations, unknown]>([
    ["is not called again", {}, expect.stringContaining("interrupted")],
    ["is called again if that is harmless", { idempotent: true }, "call 2"],
    ["is called again if it only reads", { kind: "read" }, "call 2"],
  ])("%s", async (name, annotations, content) => {
    await new Client().publish(
      { counter: mockSkill("counter") },
      // A module of its own, whose state no other test has.
      { "hooks.js": new TextEncoder().encode(`// ${name}\n${SOURCE}`) },
    );
    const module = await sha256(`// ${name}\n${SOURCE}`);
    const hooks = { "counter#count": { slug: "counter", module, exportName: "count", fresh: false } };
    const counts = { ...tool("count", annotations), executor: "hook" as const, handler: "counter#count" };
    const mock = [{ tool_calls: [{ name: "count", arguments: {} }] }, { text: "done" }];
    const spec = { tools: [counts], hooks, call: { provider: "mock", mock } };
    await inWorld({ spec, runtime: SESSION_RUNTIME, replies: [] }, async (world) => {
      await world.open();
      await world.start("r1", "go");
      await until(() => world.records().some(({ type }) => type === "tools_started"));
      await world.revive();
      expect(await world.ask("answer", { run_id: "r1", wait: "terminal" })).toMatchObject({
        status: "done",
        result: { text: "done" },
      });
      expect((await visibleTexts(world)).at(2)).toEqual(content);
    });
  });
});

it("a run's first attempt uses what its request prepared; a later one prepares again", async () => {
  const attempts: [run: string, prepared: string | null][] = [];
  const runtime: AgentRuntime = {
    ...SESSION_RUNTIME,
    begin(spec, environment, signal) {
      attempts.push([spec.run_id, environment.prepared?.spec.run_id ?? null]);
      return SESSION_RUNTIME.begin(spec, environment, signal);
    },
  };
  await inWorld({ runtime, replies: [] }, async (world) => {
    await world.open();
    const ask = { name: "ask", description: "", parameters: { type: "object", properties: {} } };
    const mock = [{ tool_calls: [{ name: "ask", arguments: {} }] }, { text: "done" }];
    const options = { provider: "mock", tools: [ask], mock };
    const work = { asked: { prompt: "go", system: null, options, publishes: false } };
    const start = { run_id: "r1", work, request: { name: "n", hash: "h" }, wait: "idle" as const };
    const { awaiting = [] } = await world.ask("start", start);
    // The same request again comes back to its run, and prepares no other.
    expect(await world.ask("start", { ...start, run_id: "r2" })).toMatchObject({ run_id: "r1" });
    const answer = { tool_call_id: awaiting[0]?.tool_call_id ?? "", content: "x", is_error: false };
    await world.ask("tool_result", { ...answer, request: { name: "t", hash: "h" } });
    expect(await world.ask("answer", { run_id: "r1", wait: "terminal" })).toMatchObject({ status: "done" });
  });
  expect(attempts).toEqual([
    ["r1", "r1"],
    ["r1", null],
  ]);
});

/** What the result of a lost run says if Hull did not read its records: all members that the API promises. */
const LOST = {
  ...Object.fromEntries(RESULT.map((member) => [member, expect.anything()])),
  daemon_state: null,
  daemon_snapshot_path: null,
  stop_reason: null,
  raw_stop_reason: null,
  task_ledger: null,
  status: "error",
  text: "",
  warnings: [{ code: "result_incomplete", message: expect.stringContaining("records") }],
};

describe("a run that gets nowhere", () => {
  /** A run whose first run attempt hangs in its model call. */
  const hung = async (replies: Reply[], test: (world: World) => Promise<void>): Promise<void> => {
    const asked = (_: number, { requests }: World) =>
      requests.length === 1 ? new Promise<void>(() => {}) : Promise.resolve();
    await inWorld({ spec: { tools: [journal] }, replies, asked }, async (world) => {
      await world.open();
      await world.conversation.listing.written();
      await world.start("r1", "go");
      await until(() => world.requests.length === 1);
      await test(world);
    });
  };

  it("is given up after four run attempts without progress; its session continues", async () => {
    await hung([...tools(1), "done"], async (world) => {
      for (let life = 0; life < 3; life += 1) {
        // Notes that it begins, and dies before it has noted anything else.
        await world.revive({ writes: 2, after: false });
        await world.over();
        expect([statusOf(world), world.store.runs.find("r1")?.recoveries]).toEqual(["running", life + 1]);
      }
      await world.revive();
      const view = await world.ask("answer", { run_id: "r1", wait: "terminal" });
      expect(view).toMatchObject({ status: "error", error: { code: "run_lost", status: 502 } });
      expect(view.result).toMatchObject({ ...LOST, run_id: "r1" });
      expect(world.events().filter(({ event }) => event === "done")).toHaveLength(1);
      expect((await world.run("r2", "again")).status).toBe("done");
    });
  });

  it("is given up, and listed so, without reading its records: those may kill the process", async () => {
    await hung([...tools(1), "done"], async (world) => {
      for (let life = 0; life < 3; life += 1) {
        await world.revive({ writes: 2, after: false });
        await world.over();
      }
      const { wrap, noted } = noting(FOLDING);
      await world.revive(undefined, wrap(world.storage));
      await world.over();
      expect(statusOf(world)).toBe("error");
      const row = async () => indexedRun({ env: bindings, tenant: "t" }, "r1");
      await expect.poll(row).toMatchObject({ state: "error", code: "run_lost" });
      // What was not sent any more follows from the event that ended it, too.
      world.conversation.listing.again();
      await world.over();
      expect(await row()).toMatchObject({ state: "error", code: "run_lost" });
      // As an earlier version of Hull ended it.
      world.store.runs.update("r1", { listed: null });
      world.conversation.listing.again();
      await world.over();
      expect(await row()).toMatchObject({ state: "error", code: "run_lost" });
      // Once, to see whether the last attempt got anything done.
      expect(noted).toHaveLength(1);
    });
  });

  it("run attempts that each make progress continue without limit", async () => {
    // The last answer is empty: a text is sent as an event before it is recorded, which is a write too.
    await hung([...tools(6), ""], async (world) => {
      let lives = 0;
      for (; statusOf(world) === "running"; lives += 1) {
        await world.revive({ writes: 4, after: false });
        await world.over();
      }
      expect(await world.ask("run", { run_id: "r1" })).toMatchObject({ status: "done" });
      expect(world.performed).toHaveLength(6);
      expect(lives).toBeGreaterThan(8);
    });
  });
});

describe("storage", () => {
  it.each([
    ["cannot be read", "x'7b'"],
    ["is of a later version", `CAST('[{"v":1,"at":1,"type":"thought_over","run":"r1"}]' AS BLOB)`],
  ])("a record that %s ends its run, and nothing else", async (_, data) => {
    await inWorld({ spec: { tools: [client] }, replies: [{ calls: [["ask", {}]] }, "x"] }, async (world) => {
      await world.open();
      await world.run("r0", "before", { tools: [] });
      const before = await visibleTexts(world);
      await world.start("r1", "go");
      await world.ask("answer", { run_id: "r1", wait: "idle" });
      world.storage.sql.exec(`UPDATE records SET data = ${data} WHERE id = (SELECT max(id) FROM records)`);
      world.storage.sql.exec("UPDATE run SET status = 'running' WHERE id = 'r1'");
      await world.revive();
      expect(await world.ask("answer", { run_id: "r1", wait: "terminal" })).toMatchObject({
        error: { code: "run_lost" },
        // Of the records that could be read: the prompt's.
        result: { status: "error", transcript: { messages: [{}] } },
      });
      expect((await visibleTexts(world)).slice(0, before.length)).toEqual(before);
      expect((await world.run("r2", "after", { tools: [] })).status).toBe("done");
    });
  });

  it("an unusable fold is rebuilt from the records", async () => {
    await inWorld({ spec: { tools: [journal] }, replies: [...tools(40), "done"] }, async (world) => {
      await world.open();
      await world.run("r1", "go");
      const before = await visibleTexts(world);
      expect(before).toHaveLength(82);
      for (const damage of ["x'00'", `'{"v":0,"state":null}'`]) {
        world.storage.sql.exec(`UPDATE checkpoint SET data = CAST(${damage} AS BLOB)`);
        await world.revive();
        expect(await visibleTexts(world)).toEqual(before);
      }
    });
  });

  it("texts of any length are kept, whole", async () => {
    const long = "0123456789 ".repeat(500_000);
    await inWorld({ replies: ["ok"] }, async (world) => {
      await world.open();
      await world.say(long);
      await world.run("r1", long);
      const rows =
        "SELECT max(length(data)) AS n, count(DISTINCT id >> 16) AS seqs, count(*) AS rows FROM records";
      const [size] = world.storage.sql.exec<{ n: number; seqs: number; rows: number }>(rows).toArray();
      expect(size?.n).toBe(256 * 1024);
      expect(size?.rows).toBeGreaterThan(40);
      await world.revive();
      expect(await visibleTexts(world)).toEqual([long, long, "ok"]);
    });
  });

  it("fails requests while it refuses every write, loses nothing, repeats nothing", async () => {
    const { wrap, state } = refusing();
    const fill = (name: string): void => {
      if (name === "write" && state.refused === 0) state.full = true;
    };
    const script = { spec: { tools: [journal] }, replies: [...tools(2), "done"], during: fill };
    const test = async (world: World): Promise<void> => {
      await world.open();
      await world.say("before");
      await world.start("r1", "go");
      await world.over();
      // The result of the first call could not be stored.
      expect([statusOf(world), state.refused > 0, world.performed.length]).toEqual(["running", true, 1]);
      expect(await world.tryAsk("message", said("during"))).toMatchObject({
        ok: false,
        error: { code: "internal" },
      });
      state.full = false;
      await world.say("after");
      const { status } = await world.ask("answer", { run_id: "r1", wait: "terminal" });
      expect([status, world.performed.length]).toEqual(["done", 2]);
      const spoken = (await visibleTexts(world)).map(String);
      expect(spoken.filter((text) => ["before", "during", "after"].includes(text))).toEqual([
        "before",
        "after",
      ]);
      expect(world.events().filter(({ event }) => event === "done")).toHaveLength(1);
    };
    await inWorld(script, test, undefined, wrap);
  });

  it("an index that is out of reach delays nothing, and is updated later", async () => {
    let reachable = false;
    const { DB } = env;
    const away = new Proxy(DB, {
      get: (target, name) => {
        if (!reachable) throw new TypeError("D1 is away");
        const value: unknown = Reflect.get(target, name, target);
        return typeof value === "function" ? value.bind(target) : value;
      },
    });
    const listed = (tenant: string) =>
      listSessions({ env, tenant }, { limit: 1000, cursor: null, stages: false });
    await inWorld({ replies: ["ok"], env: { DB: away } }, async (world) => {
      await world.open();
      expect((await world.run("r1", "go")).status).toBe("done");
      expect((await listed("t")).data.map(({ id }) => id)).not.toContain(world.id);
      reachable = true;
      world.now += 60_000;
      world.alarm();
      await world.over();
      expect((await listed("t")).data.map(({ id }) => id)).toContain(world.id);
      expect(world.store.due.list()).toEqual([]);
    });
  });

  it("a deleted session leaves nothing, also while a run is in progress", async () => {
    let release = (): void => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    await inWorld(
      { spec: { tools: [journal] }, replies: [...tools(1), "x"], during: () => held },
      async (world) => {
        await world.open();
        await world.start("r1", "go");
        const answer = world.tryAsk("answer", { run_id: "r1", wait: "terminal" });
        const caller = { tenant: "t", id: world.id, request_id: "r", mock_scope: "" };
        const stream = await world.conversation.events({ caller, run_id: null, after: 0 });
        const followed = new Response(stream).text();
        await world.ask("remove", null);
        expect(await answer).toMatchObject({ ok: true, value: { status: "cancelled" } });
        // Who follows it learns of its end.
        expect(await followed).toContain("event: done");
        release();
        await world.over();
        const tables = world.storage.sql.exec(
          "SELECT name FROM sqlite_master WHERE name NOT LIKE '\\_cf%' ESCAPE '\\'",
        );
        expect([tables.toArray(), await world.storage.getAlarm()]).toEqual([[], null]);
        await world.open();
        expect(await visibleTexts(world)).toEqual([]);
      },
    );
  });
});

it("a run that was cancelled stores nothing more, whatever its process still does; the next run works", async () => {
  const { promise: held, resolve: release } = Promise.withResolvers<void>();
  const script = { spec: { tools: [journal] }, replies: [...tools(1), "x"], during: () => held };
  await inWorld(script, async (world) => {
    await world.open();
    await world.start("r1", "go");
    await until(() => world.performed.length === 1);
    await world.ask("cancel", { run_id: "r1" });
    const stored = () => [world.records().length, world.events().length];
    const before = stored();
    release();
    await world.over();
    expect(stored()).toEqual(before);
    expect(await world.run("r2", "again")).toMatchObject({ status: "done" });
  });
});

describe("what is due", () => {
  const policies = {
    policy: null,
    permissions: null,
    approval_timeout_s: 1000,
    approval_policy: { require_approval: ["write"] },
  };
  const waiting = async (world: World): Promise<void> => {
    await world.open();
    await world.conversation.listing.written();
    await world.start("r1", "go");
    await world.ask("answer", { run_id: "r1", wait: "idle" });
    expect(statusOf(world)).toBe("awaiting_approval");
  };
  const script = { spec: { tools: [journal], policies }, replies: [...tools(1), "well"] };

  it("an approval without a decision is denied when its time is over; until then it survives every death", async () => {
    await inWorld(script, async (world) => {
      await waiting(world);
      const [due] = world.store.due.list();
      expect(world.store.due.list()).toHaveLength(1);
      expect(await world.storage.getAlarm()).toBe(due?.at);
      await world.revive();
      expect(statusOf(world)).toBe("awaiting_approval");
      expect(await world.ask("approvals", null)).toHaveLength(1);
      world.now += 1_000_000;
      world.alarm();
      const { result } = await world.ask("answer", { run_id: "r1", wait: "terminal" });
      expect([result?.text, world.performed]).toEqual(["well", []]);
      expect(JSON.stringify(await visibleTexts(world))).toContain("permission_denied");
      expect([world.store.due.list(), await world.storage.getAlarm()]).toEqual([[], null]);
    });
  });

  it("an alarm that fails six times, and is given up, costs no run", async () => {
    // The first run attempt hangs in its model call until it dies.
    const asked = (_: number, { requests }: World) =>
      requests.length === 1 ? new Promise<void>(() => {}) : Promise.resolve();
    await inWorld({ spec: { tools: [journal] }, replies: [...tools(2), "done"], asked }, async (world) => {
      await world.open();
      await world.start("r1", "go");
      await until(() => world.requests.length === 1);
      for (let time = 0; time < 6; time += 1) await world.revive({ writes: 0, after: false });
      await world.storage.deleteAlarm();
      expect(statusOf(world)).toBe("running");
      const { status } = await world.ask("answer", { run_id: "r1", wait: "terminal" });
      expect([status, world.performed.length]).toEqual(["done", 2]);
      expect(await world.storage.getAlarm()).toBeNull();
    });
  });

  it("an alarm that the platform gave up is armed again by the next question", async () => {
    await inWorld(script, async (world) => {
      await waiting(world);
      const [due] = world.store.due.list();
      await world.storage.deleteAlarm();
      await world.revive();
      await world.storage.deleteAlarm();
      await world.revive();
      await world.ask("view", null);
      expect(await world.storage.getAlarm()).toBe(due?.at);
    });
  });

  it.each([
    ["back", -3_600_000],
    ["ahead", 365 * 86_400_000],
  ])("a clock that jumps %s delays no request", async (_, jump) => {
    await inWorld(
      { spec: { tools: [journal] }, replies: [...tools(2), "done"] },
      async (world) => {
        await world.open();
        await world.start("r1", "go");
        await world.over();
        world.now += jump;
        await world.revive();
        expect(await world.ask("answer", { run_id: "r1", wait: "terminal" })).toMatchObject({
          status: "done",
        });
      },
      { writes: 5, after: false },
    );
  });

  it("a session sets one alarm for its row and its first run, and removes it when nothing is due", async () => {
    const counter = counting();
    const test = async (world: World): Promise<void> => {
      await world.open();
      await world.conversation.listing.written();
      await world.run("r1", "go");
      await world.over();
      expect([counter.alarms(), world.store.due.list(), await world.storage.getAlarm()]).toEqual([
        2,
        [],
        null,
      ]);
    };
    await inWorld({ replies: ["hi"] }, test, undefined, counter.wrap);
  });

  it("an alarm resumes a run that has no run attempt, and only re-arms itself if there is one", async () => {
    let release = (): void => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    await inWorld(
      { spec: { tools: [journal] }, replies: [...tools(1), "x"], during: () => held },
      async (world) => {
        await world.open();
        await world.conversation.listing.written();
        await world.start("r1", "go");
        for (let time = 0; time < 6; time += 1) {
          world.now += 20_000;
          world.alarm();
          expect(world.store.due.list()).toMatchObject([{ kind: "watch", at: expect.any(Number) }]);
          expect((await world.storage.getAlarm()) ?? 0).toBeGreaterThan(world.now);
        }
        expect(world.store.runs.find("r1")).toMatchObject({ status: "running", recoveries: 0 });
        release();
        expect(await world.ask("answer", { run_id: "r1", wait: "terminal" })).toMatchObject({
          status: "done",
        });
      },
    );
  });

  it("a daemon's run starts together with what the daemon stores of it, or not at all", async () => {
    const { wrap, state } = refusing(/INSERT INTO daemon\b/);
    await inWorld(
      { spec: { daemon: DAEMON }, replies: ["hi"] },
      async (world) => {
        await world.open();
        state.full = true;
        await expect(world.start("r1", "go")).rejects.toThrow();
        expect(state.refused).toBeGreaterThan(0);
        expect([world.store.runs.find("r1"), world.records(), world.events()]).toEqual([null, [], []]);
        state.full = false;
        await world.start("r1", "go");
        await world.ask("answer", { run_id: "r1", wait: "idle" });
        expect(await world.ask("daemon", null)).toMatchObject({ daemon_state: "idle" });
      },
      undefined,
      wrap,
    );
  });

  const hi = { role: "user" as const, content: [{ type: "text" as const, text: "hi" }] };
  it.each<[string, (world: World) => Promise<unknown>]>([
    [
      "of a transcript",
      (world) =>
        world.tryAsk("open", {
          metadata: {},
          request_hash: null,
          imported: { messages: [hi], summary: null },
        }),
    ],
    [
      "as a fork",
      (world) => {
        const caller = { tenant: "t", id: world.id, request_id: "r", mock_scope: "" };
        const made = { caller, parent_id: "p", branched_at: 0, request: "q", metadata: {} };
        const call = { ...made, summary: null, skills: [] };
        const step = { call, first: true, end: { files: 0, artifacts: 0 } };
        return world.conversation.adopt(step, JSON.stringify({ messages: [hi] })).catch(String);
      },
    ],
  ])("a session %s that could not be created is empty when it is created later", async (_, create) => {
    const { wrap, state } = refusing(/INTO due\b/);
    const test = async (world: World) => {
      state.full = true;
      await create(world);
      expect(state.refused).toBeGreaterThan(0);
      expect(world.store.session()).toBeNull();
      state.full = false;
      await create(world);
      expect(world.conversation.log.state().visible).toEqual([hi]);
    };
    await inWorld({ replies: [] }, test, undefined, wrap);
  });

  it("due times of a later version of Hull stay until that version handles them", async () => {
    await inWorld({ replies: [] }, async (world) => {
      await world.open();
      await world.over();
      world.storage.sql.exec("INSERT INTO due VALUES ('timer', ?)", world.now + 1000);
      await world.revive();
      const again = world.store.due.list().find(({ kind }) => kind === "timer");
      expect(again?.at ?? 0).toBeGreaterThan(world.now);
    });
  });

  it("an awake daemon is not woken again", async () => {
    await inWorld({ spec: { daemon: DAEMON }, replies: ["hi", "hello"] }, async (world) => {
      await world.open();
      await world.start("r1", "go");
      await world.ask("answer", { run_id: "r1", wait: "idle" });
      const { runs } = world.conversation;
      const feedback = { kind: "timer", content: "Look again." };
      const wake = { reason: "timer" as const, feedback, messages: [], watch_paths: [], resumed: false };
      expect([runs.wake(wake), runs.wake(wake)]).toEqual([true, false]);
      await world.ask("answer", { run_id: "r1", wait: "idle" });
      expect(world.events().map(({ event }) => event)).toContain("daemon_wake");
    });
  });
});

describe("figures", () => {
  it("a tool round writes at most 4 rows", async () => {
    const written = async (rounds: number): Promise<number> => {
      const counter = counting();
      await inWorld(
        {
          spec: { tools: [journal], loop_detect: { warn: 0, block: 0, skip: 0 } },
          // No text: whether its pieces are stored together depends on how long the process takes.
          replies: tools(rounds),
        },
        async (world) => {
          await world.open();
          await world.run("r1", "go");
          // The session notes once that its row in the list is stored, during a long run or after a short one.
          await until(() => !world.store.due.list().some(({ kind }) => kind === "index"));
        },
        undefined,
        counter.wrap,
      );
      return counter.written();
    };
    const [few, many] = [await written(2), await written(12)];
    expect((many - few) / 10).toBeLessThanOrEqual(4);
  });

  it("a run's trace is read from its own records, however many came after it", async () => {
    await inWorld({ replies: ["ok"] }, async (world) => {
      await world.open();
      await world.run("r1", "go");
      const { log } = world.conversation;
      const message = { role: "user" as const, content: [{ type: "text" as const, text: "more" }] };
      await world.run("r2", "go on");
      for (let n = 0; n < 500; n += 1) log.add([{ type: "message_added", message, source: "inject" }]);
      await world.over();
      const counter = counting();
      await world.revive(undefined, counter.wrap(world.storage));
      await world.ask("view", null);
      const before = counter.read();
      const { steps } = await world.ask("trace", { run_id: "r1", after: 0, limit: 100 });
      expect(steps.map(({ name }) => name)).toEqual(["prompt", "mock", "done"]);
      expect(counter.read() - before).toBeLessThan(30);
    });
  });

  it("a session of 10,000 records wakes with few reads, also for a reader that missed 20 of its events", async () => {
    await inWorld({ replies: ["ok"] }, async (world) => {
      await world.open();
      const { log } = world.conversation;
      const said = (n: number): AgentRecordBody => {
        const message = { role: "user" as const, content: [{ type: "text" as const, text: `message ${n}` }] };
        return { type: "message_added", message, source: "inject" };
      };
      for (let n = 0; n < 10_000; n += 1) {
        const events = () => [{ event: "delta" as const, data: { text: `${n}` } }];
        log.append(log.applied([said(n)]), { events });
      }
      await world.over();
      const counter = counting();
      await world.revive(undefined, counter.wrap(world.storage));
      expect((await world.ask("view", null)).length).toBe(10_000);
      expect(counter.read()).toBeLessThan(150);
      await world.run("r1", "go");
      expect(counter.read()).toBeLessThan(300);
      const before = counter.read();
      const missed = world.conversation.log.store.events(world.store.lastEvent() - 20);
      expect([missed.length, counter.read() - before]).toEqual([20, expect.any(Number)]);
      expect(counter.read() - before).toBeLessThan(30);
    });
  });
});
