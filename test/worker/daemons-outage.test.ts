/** Daemons that are resumed after an outage of their provider: with a clock and a provider that the test holds. */
import { afterEach, describe, expect, it, vi } from "vitest";
import { ERROR_CATEGORIES, FAILURES } from "../../src/errors/failure-class.ts";
import { ProviderError } from "../../src/errors/provider.ts";
import { noteDaemon } from "../../src/session/daemon/directory.ts";
import { daemonOf, heard, idle, pass, restart, rested, spawn, trigger, wake, wakes } from "./daemon-world.ts";
import { bindings } from "./file-bindings.ts";
import { client, get, post } from "./session-client.ts";
import { inWorld, type Script, tool, type World } from "./session-world.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const RESUMED = { resume_after_ms: MINUTE };
const overloaded = new ProviderError({ provider: "p", provider_status: 529, failure: FAILURES.overloaded });

afterEach(() => {
  vi.restoreAllMocks();
});

/** A script whose model fails while the provider is down. */
function outage(more: Partial<Script> = {}): { script: Script; provider: { down: boolean } } {
  const provider = { down: false };
  const replies = Array.from({ length: 20 }, (_, n) => `answer ${n}`);
  const asked = async (): Promise<void> => {
    if (provider.down) throw overloaded;
  };
  return { script: { replies, asked, ...more }, provider };
}

/** A daemon that has just failed at its event "a", since its provider is down. */
function inOutage(
  test: (world: World, provider: { down: boolean }, script: Script) => Promise<void>,
  more: Partial<Script> = {},
): Promise<void> {
  const { script, provider } = outage(more);
  return inWorld(script, async (world) => {
    await world.open();
    await idle(world, RESUMED);
    provider.down = true;
    await trigger(world, "a");
    await rested(world);
    await test(world, provider, script);
  });
}

/** How many minutes the failed daemon waits; `null`: it does not. */
async function waits(world: World): Promise<number | null> {
  const { status, resumes_at } = await daemonOf(world);
  if (resumes_at === null) return null;
  expect(status).toBe("failed");
  return Math.round((Date.parse(resumes_at) - world.now) / MINUTE);
}

/** Lets the daemon's next due time come, and what follows from it. */
const next = async (world: World): Promise<void> => pass(world, ((await waits(world)) ?? 0) * MINUTE + 1000);

describe("a daemon with resume_after_ms", () => {
  it("waits longer after each failure in a row, and as at first once a wake came to its end", async () => {
    await inOutage(async (world, provider) => {
      const waited: (number | null)[] = [];
      for (let n = 0; n < 9; n += 1) {
        waited.push(await waits(world));
        await next(world);
      }
      expect(waited).toEqual([1, 2, 4, 8, 16, 32, 60, 60, 60]);
      await trigger(world, "b");
      await wake(world, "w");
      expect(await daemonOf(world)).toMatchObject({
        status: "failed",
        error: { code: "provider_error" },
        pending_event_count: 2,
        pending_wakes: ["event", "resume"],
        next_wake_at: null,
      });
      provider.down = false;
      await next(world);
      expect(await daemonOf(world)).toMatchObject({
        status: "running",
        daemon_state: "idle",
        resumes_at: null,
        queued_event_count: 0,
        pending_wakes: [],
      });
      // The conversation has an event once, however often it was delivered.
      expect(heard(world).slice(0, 3)).toEqual(["watch", "a", "b"]);
      expect(heard(world)).toHaveLength(4);
      provider.down = true;
      await trigger(world, "c");
      await world.over();
      expect(await waits(world)).toBe(1);
    });
  });

  it("waits at least as long as the option says, also above an hour", async () => {
    const { script, provider } = outage();
    provider.down = true;
    await inWorld(script, async (world) => {
      await world.open();
      await spawn(world, { resume_after_ms: 2 * HOUR });
      await rested(world);
      for (const _ of [1, 2]) {
        expect(await waits(world)).toBe(120);
        await next(world);
      }
    });
  });

  it("counts on where each attempt fails only after some model calls", async () => {
    const { script, provider } = outage({ spec: { tools: [tool("work")] } });
    script.replies = ["ready", { calls: [["work", {}]] }];
    script.during = () => {
      provider.down = true;
    };
    await inWorld(script, async (world) => {
      await world.open();
      await idle(world, RESUMED);
      await trigger(world, "a");
      await rested(world);
      expect([await waits(world), (await daemonOf(world)).queued_event_count]).toEqual([1, 0]);
      script.replies = [{ calls: [["work", {}]] }];
      provider.down = false;
      await next(world);
      expect(await waits(world)).toBe(2);
      script.replies = ["the rest"];
      provider.down = false;
      await next(world);
      expect(await daemonOf(world)).toMatchObject({ daemon_state: "idle", last_iteration_text: "the rest" });
      expect(heard(world)).toEqual(["watch", "a"]);
    });
  });

  it("makes up once for its schedule and for changed files, as far as they came while it was down", async () => {
    const { script, provider } = outage();
    await inWorld(script, async (world) => {
      world.now = Date.parse("2090-01-01T08:50:00Z");
      await world.open();
      await idle(world, { ...RESUMED, cron: "0 * * * *", watch_paths: ["in"] });
      provider.down = true;
      await trigger(world, "a");
      await rested(world);
      await pass(world, 3 * HOUR);
      world.conversation.log.together(() =>
        world.session.filesChange([{ path: "in/1.txt", kind: "create", version: 1 }], false),
      );
      provider.down = false;
      await pass(world, HOUR);
      // At 11:53 for 9, 10 and 11 o'clock, and at 12.
      expect(wakes(world).filter((reason) => reason !== "event")).toEqual(["watch", "cron", "cron"]);
    });
  });

  it("is resumed though its process died while it waited", async () => {
    await inOutage(async (world, provider) => {
      await world.over();
      provider.down = false;
      await world.revive();
      await trigger(world, "b");
      expect(await waits(world)).toBe(1);
      await pass(world, MINUTE);
      expect(await daemonOf(world)).toMatchObject({ daemon_state: "idle", queued_event_count: 0 });
      expect(heard(world)).toEqual(["watch", "a", "b"]);
    });
  });

  it("logs each attempt with what it waited, and tells the sweep when to look", async () => {
    const log = vi.spyOn(console, "log").mockReturnValue();
    await inOutage(async (world) => {
      await world.over();
      const query = "SELECT status, check_at FROM daemons WHERE id = ?";
      const row = await bindings.DB.prepare(query)
        .bind(world.id)
        .first<{ status: string; check_at: number }>();
      expect(row).toEqual({ status: "failed", check_at: expect.any(Number) });
      expect(Math.round(((row?.check_at ?? 0) - world.now) / MINUTE)).toBe(16);
      await next(world);
      await next(world);
      const lines = log.mock.calls.map(([line]) => JSON.parse(String(line)));
      const resumed = lines.filter(({ event }) => event === "daemon_resumed");
      expect(resumed).toMatchObject([
        { attempt: 1, session_id: world.id, tenant: "t", request_id: "request-1" },
        { attempt: 2 },
      ]);
      expect(resumed.map(({ waited_ms }) => Math.round(waited_ms / MINUTE))).toEqual([1, 2]);
    });
  });

  it("waits no more after a stop or a resumption by a person, who begins the count anew", async () => {
    await inOutage(async (world, provider) => {
      await next(world);
      expect(await waits(world)).toBe(2);
      await restart(world, "r2");
      await rested(world, "r2");
      expect(await waits(world)).toBe(1);
      await wake(world, "w");
      await world.ask("stop", { request: null });
      await expect(trigger(world, "b")).rejects.toMatchObject({ data: { code: "daemon_not_running" } });
      provider.down = false;
      await pass(world, 3 * HOUR);
      expect(await daemonOf(world)).toMatchObject({
        status: "failed",
        resumes_at: null,
        pending_event_count: 1,
        run_id: "r2",
      });
      expect(world.store.due.at("daemon")).toBeNull();
      await restart(world, "r3");
      await rested(world, "r3");
      expect(await daemonOf(world)).toMatchObject({ daemon_state: "idle", queued_event_count: 0 });
      expect(wakes(world)).not.toContain("resume");
    });
  });

  it("is not resumed by an attempt that was under way when somebody stopped it", async () => {
    await inOutage(async (world, provider) => {
      await world.over();
      provider.down = false;
      world.now += MINUTE;
      world.alarm();
      await world.ask("stop", { request: null });
      await world.over();
      expect(await daemonOf(world)).toMatchObject({ status: "failed", resumes_at: null, run_id: "r1" });
    });
  });

  it("stays failed if it cannot be resumed, and is tried again where that may pass", async () => {
    let unreachable = false;
    const DB = new Proxy(bindings.DB, {
      get: (db, name) => {
        if (unreachable) throw new TypeError("D1 is away");
        const value: unknown = Reflect.get(db, name);
        return typeof value === "function" ? value.bind(db) : value;
      },
    });
    const errors = vi.spyOn(console, "error").mockReturnValue();
    const lines = () => errors.mock.calls.map(([line]) => JSON.parse(String(line)));
    const refused = () => lines().filter(({ event }) => event === "daemon_not_resumed");
    await inOutage(
      async (world, provider, script) => {
        await world.over();
        provider.down = false;
        unreachable = true;
        await pass(world, MINUTE + 1000);
        expect(refused()).toHaveLength(1);
        unreachable = false;
        // Another run of the session is under way.
        const { promise: gate, resolve: release } = Promise.withResolvers<void>();
        script.asked = () => gate;
        await world.start("other", "hello");
        world.now += MINUTE;
        world.alarm();
        await expect.poll(refused).toHaveLength(2);
        expect((await daemonOf(world)).resumes_at).not.toBeNull();
        release();
        await rested(world, "other");
        const taken = { name: null, persist_path: `daemons/${world.id}`, skill: null, webhook: null };
        const other = { ...taken, tenant: "t", id: `other-${world.id}`, check_at: null, created_at: 0 };
        await noteDaemon(bindings, { ...other, status: "running" });
        await pass(world, 2 * MINUTE);
        expect(refused()).toMatchObject([
          {},
          {},
          { error: expect.stringContaining(`"daemons/${world.id}"`) },
        ]);
        expect(await daemonOf(world)).toMatchObject({ status: "failed", resumes_at: null, run_id: "r1" });
      },
      { env: { DB } },
    );
  });
});

it("a daemon waits only after failures that may pass, and only with resume_after_ms", async () => {
  const passing = ["timeout", "rate_limit", "overloaded", "server_error", "transient_network"];
  const waited = async (category: string, more: object, task = false): Promise<boolean> => {
    const options = { provider: "mock", llm_retries: 0, mock: [{ error: { category } }], ...more };
    const spawned = task
      ? await post("/tasks", {
          task: "Watch.",
          node: { mode: "agent" },
          options: { ...options, daemon: true },
        })
      : await post("/daemons", { task: "Watch.", ...options });
    const { id } = await spawned.json<{ id: string }>();
    const daemon = await expect
      .poll(() => get<{ status: string; resumes_at: string | null }>(`/daemons/${id}`))
      .toMatchObject({ status: "failed" })
      .then(() => get<{ resumes_at: string | null }>(`/daemons/${id}`));
    expect((await client.fetch(`/daemons/${id}`, { method: "DELETE" })).status).toBe(204);
    return daemon.resumes_at !== null;
  };
  for (const category of ERROR_CATEGORIES) {
    const resumes = await waited(category, { resume_after_ms: HOUR });
    expect([category, resumes]).toEqual([category, passing.includes(category)]);
  }
  expect(await waited("overloaded", {})).toBe(false);
  // After its deadline it could do nothing.
  expect(await waited("overloaded", { resume_after_ms: HOUR, deadline_ms: MINUTE })).toBe(false);
  // Whoever spawned a task learns of its failure.
  expect(await waited("overloaded", { resume_after_ms: HOUR }, true)).toBe(false);
});
