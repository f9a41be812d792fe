/** What happens in a session while another request to it waits for something outside of it. */
import { evictDurableObject } from "cloudflare:test";
import { afterEach, describe, expect, it, vi } from "vitest";
import { Deployment } from "../../src/deployment.ts";
import type { AgentSpec } from "../../src/engine/agent/spec.ts";
import type { Bindings } from "../../src/env.ts";
import { detachedContext } from "../../src/run/context.ts";
import { sessionClient, sessionObject } from "../../src/run/session-client.ts";
import type { TaskSettings } from "../../src/run/task/handle.ts";
import { writeFile } from "../../src/run/workspace/store.ts";
import * as daemons from "./daemon-world.ts";
import { bindings } from "./file-bindings.ts";
import { client, codeOf, get, post, texts } from "./session-client.ts";
import { inWorld, SPEC, type World } from "./session-world.ts";
import { settingsOf } from "./task-settings.ts";

/** A point where work waits until the test lets it continue. */
class Gate {
  readonly #reached = Promise.withResolvers<void>();
  readonly #released = Promise.withResolvers<void>();
  closed = false;

  /** Waits here, if the gate is closed. Only the first one who comes waits. */
  async pass(): Promise<void> {
    if (!this.closed) return;
    this.closed = false;
    this.#reached.resolve();
    await this.#released.promise;
  }

  get reached(): Promise<void> {
    return this.#reached.promise;
  }

  release(): void {
    this.#released.resolve();
  }
}

/** An object whose method passes a gate first. */
function gated<T extends object>(target: T, method: keyof T, pass: (...args: unknown[]) => Promise<void>): T {
  return new Proxy(target, {
    get(object, name) {
      const value: unknown = Reflect.get(object, name, object);
      if (typeof value !== "function") return value;
      if (name !== method) return (...args: unknown[]) => Reflect.apply(value, object, args);
      return async (...args: unknown[]) => {
        await pass(...args);
        return Reflect.apply(value, object, args);
      };
    },
  });
}

/** Bindings whose sessions answer `delegate`, and whose D1 executes statements, only when the gate is open. */
function slowOutside(gate: Gate): Partial<Bindings> {
  const { SESSIONS, DB } = bindings;
  const asks = async (text: unknown): Promise<void> => {
    if (String(text).includes('"type":"delegate"')) await gate.pass();
  };
  return {
    SESSIONS: new Proxy(SESSIONS, {
      get(target, name) {
        const value: unknown = Reflect.get(target, name, target);
        if (typeof value !== "function") return value;
        if (name !== "get") return value.bind(target);
        return (id: DurableObjectId) => gated(target.get(id), "ask", asks);
      },
    }),
    DB: new Proxy(DB, {
      get(target, name) {
        const value: unknown = Reflect.get(target, name, target);
        if (typeof value !== "function") return value;
        if (name === "batch") {
          return async (...statements: unknown[]) => {
            await gate.pass();
            return Reflect.apply(value, target, statements);
          };
        }
        if (name !== "prepare") return value.bind(target);
        return (query: string) =>
          new Proxy(target.prepare(query), {
            get(statement, key) {
              const bind: unknown = Reflect.get(statement, key, statement);
              if (typeof bind !== "function") return bind;
              if (key !== "bind") return bind.bind(statement);
              return (...values: unknown[]) => gated(statement.bind(...values), "run", () => gate.pass());
            },
          });
      },
    }),
  };
}

const named = (name: string) => ({ name, hash: "h" });
let parents = 0;
/** The id of a session above. */
async function above(): Promise<string> {
  const deployment = new Deployment(bindings);
  const context = detachedContext(deployment, { requestId: "r", tenant: "t", startedAt: 0 }, () => {});
  const { id, ask } = sessionClient(context, `above-${++parents}`);
  await ask("open", { metadata: {}, request_hash: null, imported: null });
  return id;
}

type Transcript = TaskSettings["carry"]["transcript_mode"];
function spawn(world: World, parent: string, transcript_mode: Transcript = "inherit") {
  const prompt: AgentSpec["prompt"] = [{ role: "user", content: [{ type: "text", text: "Dig." }] }];
  const settings = settingsOf(parent);
  const delegation = { parent: { session_id: parent, run_id: null }, levels: 1, account: parent };
  const agent = { ...SPEC, prompt, run_id: "r1", session_id: world.id, delegation };
  return world.tryAsk("spawn_task", {
    work: { agent },
    settings: { ...settings, mode: "delegated_stage", carry: { ...settings.carry, transcript_mode } },
    imported: null,
    listed: true,
    wait: true,
    request: named("spawn"),
  });
}

const input = (world: World, run_id: string, name = run_id) =>
  world.tryAsk("task_input", { run_id, task: `Dig ${run_id}.`, request: named(name) });
/** Begins a daemon that has a path of its own, which the directory must know first. */
const begin = (world: World) => {
  const spec = { ...SPEC, run_id: "r1", session_id: world.id, daemon: daemons.DAEMON };
  const settings = {
    name: null,
    persist_path: `own/${world.id}`,
    capacity: 1,
    webhook: null,
    declared: null,
  };
  return world.tryAsk("spawn", { spec, settings, exclusive: true, request: named("spawn") });
};
const restart = (world: World) => world.tryAsk("restart", { run_id: "r2", request: named("restart") });

/** What makes a run that may begin while its session is about to change, from a session in which it may. */
const BEGINNINGS: Record<string, (world: World) => Promise<() => Promise<unknown>>> = {
  "a task's first run": async (world) => {
    await world.open();
    const parent = await above();
    return () => spawn(world, parent);
  },
  "a task's further run": async (world) => {
    await spawn(world, await above());
    return () => input(world, "r2");
  },
  "a daemon": async (world) => () => begin(world),
  "a daemon that is started again": async (world) => {
    await daemons.idle(world);
    await world.ask("stop", { request: null });
    return () => restart(world);
  },
};

const ENDS: [string, string, (world: World) => Promise<unknown>][] = [
  [
    "closed",
    "session_not_active",
    (world) => world.ask("set_state", { state: "closed", request: named("x") }),
  ],
  [
    "archived",
    "session_not_active",
    (world) => world.ask("set_state", { state: "archived", request: named("x") }),
  ],
  ["removed", "not_found", (world) => world.ask("remove", null)],
];

describe("a run that is about to begin", () => {
  it.each(Object.keys(BEGINNINGS).flatMap((what) => ENDS.map(([how, code]) => [what, how, code] as const)))(
    "%s does not begin in a session that was %s meanwhile: %s",
    async (what, how, code) => {
      const gate = new Gate();
      await inWorld({ replies: ["done"], env: slowOutside(gate) }, async (world) => {
        const begin = await BEGINNINGS[what]?.(world);
        await world.over();
        gate.closed = true;
        const begun = begin?.();
        await gate.reached;
        await ENDS.find(([name]) => name === how)?.[2](world);
        gate.release();
        expect(await begun).toMatchObject({ ok: false, error: { code } });
        expect(world.store.runs.live()).toBeNull();
        await world.over();
        const running = "SELECT count(*) AS n FROM daemons WHERE id = ? AND status = 'running'";
        expect(await bindings.DB.prepare(running).bind(world.id).first("n")).toBe(0);
      });
    },
  );

  it("a task that was closed meanwhile stays closed", async () => {
    const gate = new Gate();
    await inWorld({ replies: ["done"], env: slowOutside(gate) }, async (world) => {
      await spawn(world, await above());
      gate.closed = true;
      const begun = input(world, "r2");
      await gate.reached;
      expect(await world.ask("task_close", { request: null })).toMatchObject({ status: "cancelled" });
      gate.release();
      expect(await begun).toMatchObject({ ok: false, error: { code: "task_closed" } });
      expect(await world.ask("task", null)).toMatchObject({ status: "cancelled" });
    });
  });

  it.each<[Transcript, string, object]>([
    ["reset", "r3", { ok: false, error: { code: "task_running" } }],
    ["compact", "r3", { ok: false, error: { code: "task_running" } }],
    ["fork", "r3", { ok: false, error: { code: "task_running" } }],
    ["reset", "r2", { ok: true }],
    ["fork", "r2", { ok: true }],
  ])("a task whose transcript mode is %s: input %s does not touch the run r2", async (mode, name, answer) => {
    const gate = new Gate();
    const asked = Promise.withResolvers<void>();
    const script = {
      replies: ["done"],
      env: slowOutside(gate),
      asked: async (_: number, world: World) => {
        if (world.store.runs.live()?.id === "r2") await asked.promise;
      },
    };
    await inWorld(script, async (world) => {
      await spawn(world, await above(), mode);
      gate.closed = true;
      const late = input(world, name === "r2" ? "r2" : "r3", name);
      await gate.reached;
      expect(await input(world, "r2")).toMatchObject({ ok: true });
      const said = world.conversation.log.state().visible;
      gate.release();
      expect(await late).toMatchObject(answer);
      expect(world.conversation.log.state().visible).toEqual(said);
      asked.resolve();
      await world.ask("task_wait", { timeout_ms: null, until: "end" });
      expect(JSON.stringify(world.conversation.log.state().visible)).toContain("Dig r2.");
    });
  });
});

it("two requests that fork a task's conversation at once make one fork", async () => {
  const gate = new Gate();
  await inWorld({ replies: ["done"], env: slowOutside(gate) }, async (world) => {
    await spawn(world, await above(), "fork");
    const both = await Promise.all([input(world, "r2"), input(world, "r2")]);
    expect(both).toMatchObject([{ ok: true }, { ok: true }]);
  });
});

it("a session that is opened while the one before is being removed keeps its row and its files", async () => {
  const [first, second] = [new Gate(), new Gate()];
  const gates = [first, second];
  const FILES = gated(bindings.FILES, "list", async () => gates.shift()?.pass());
  await inWorld({ replies: [], env: { FILES } }, async (world) => {
    await world.open();
    [first.closed, second.closed] = [true, true];
    const removed = world.ask("remove", null);
    await first.reached;
    const opened = world.open();
    first.release();
    await removed;
    // This one finds the session removed.
    await world.open();
    const { files, listing } = world.conversation;
    const file = { path: "a", expected: null, size: 1 };
    expect(await writeFile(bindings.FILES, files, file, [new Uint8Array(1)])).toMatchObject({ version: 1 });
    await listing.written();
    second.release();
    await opened;
    const { key = "" } = (await files.findFile("a")) ?? {};
    expect(await bindings.FILES.head(key)).not.toBeNull();
    const row = "SELECT count(*) AS n FROM sessions WHERE id = ?";
    expect(await bindings.DB.prepare(row).bind(world.id).first("n")).toBe(1);
  });
});

describe("a summary that a model writes while a daemon is idle", () => {
  afterEach(() => {
    vi.unstubAllGlobals();
  });
  it.each([
    ["is still running", "awaiting_approval", [409, "run_in_progress"]],
    ["is idle again", "idle", [200, undefined]],
  ])(
    "is refused or accepted by the state of a daemon that woke meanwhile and %s",
    async (_, state, answer) => {
      const write = { tool_calls: [{ name: "Write", arguments: { file_path: "a", content: "b" } }] };
      const mock = [{ text: "ready" }, { text: "one" }, state === "idle" ? { text: "two" } : write];
      const policy = { workspace_tools: ["Write"], approval_policy: { require_approval: ["Write"] } };
      const spawned = await post("/daemons", { task: "Watch.", provider: "mock", mock, ...policy });
      const { id } = await spawned.json<{ id: string }>();
      const path = `/sessions/${id}`;
      const reached = async (length: number, wanted = "idle"): Promise<void> => {
        const is = async (): Promise<boolean> =>
          (await texts(path)).length >= length && (await get(`/daemons/${id}`)).daemon_state === wanted;
        while (!(await is())) await new Promise((resolve) => setTimeout(resolve, 5));
      };
      await post(`/daemons/${id}/events`, "first");
      await reached(4);
      let [asked, released] = [false, false];
      vi.stubGlobal("fetch", async () => {
        for (asked = true; !released; ) await new Promise((resolve) => setTimeout(resolve, 5));
        const message = { role: "assistant", content: "All about events." };
        return Response.json({
          id: "c",
          model: "m",
          choices: [{ index: 0, finish_reason: "stop", message }],
        });
      });
      const options = { provider: "ollama", model: "m" };
      const compacted = post(`${path}/compact`, { strategy: "llm", keep_last: 1, options });
      while (!asked) await new Promise((resolve) => setTimeout(resolve, 5));
      await post(`/daemons/${id}/events`, "second");
      await reached(6, state);
      const before = await texts(path);
      released = true;
      expect(await codeOf(await compacted)).toEqual(answer);
      const after =
        state === "idle" ? [expect.stringContaining("All about events."), ...before.slice(2)] : before;
      expect(await texts(path)).toEqual(after);
      await evictDurableObject(sessionObject({ env: client.env, tenant: "default" }, id));
      expect(await texts(path)).toEqual(after);
    },
  );
});

it("a request that comes again while its change fails gets the failure; one that comes later tries again", async () => {
  await inWorld({ replies: [] }, async (world) => {
    await world.open();
    const { conversation } = world;
    const first = Promise.withResolvers<() => string>();
    const began: string[] = [];
    const change = (hash = "h") =>
      conversation
        .changing({ name: "compact", hash }, () => {
          began.push(hash);
          return began.length === 1 ? first.promise : Promise.resolve(() => "changed");
        })
        .catch(({ code, message }) => code ?? message);
    const asked = [change(), change(), change("other")];
    first.reject(new Error("The model failed."));
    expect(await Promise.all(asked)).toEqual([
      "The model failed.",
      "The model failed.",
      "idempotency_key_reused",
    ]);
    expect([await change(), await change(), began]).toEqual(["changed", "changed", ["h", "h"]]);
  });
});
