/** What wakes a daemon, and when: with a clock and models that the test holds. */
import { describe, expect, it } from "vitest";
import { daemonOf, heard, idle, pass, restart, rested, spawn, trigger, wake, wakes } from "./daemon-world.ts";
import { counting } from "./session-storage.ts";
import { inWorld, type Script, tool, type World } from "./session-world.ts";

const SECOND = 1000;
const HOUR = 3_600_000;
const answers = (count: number): string[] => Array.from({ length: count }, (_, n) => `answer ${n}. `);

/** A script whose model waits at an iteration until the test lets it continue. */
function held(
  iteration: number,
  replies: string[],
): { script: Script; release: () => void; begun: Promise<void> } {
  const begun = Promise.withResolvers<void>();
  const gate = Promise.withResolvers<void>();
  const asked = async (n: number): Promise<void> => {
    if (n !== iteration) return;
    begun.resolve();
    await gate.promise;
  };
  return { script: { replies, asked }, release: gate.resolve, begun: begun.promise };
}

describe("events", () => {
  it("above the limit they are refused, and not stored", async () => {
    const { script, release, begun } = held(1, answers(3));
    await inWorld(script, async (world) => {
      await world.open();
      await idle(world, {}, { capacity: 1 });
      await trigger(world, "first");
      await begun;
      await expect(trigger(world, "second")).rejects.toMatchObject({
        data: { code: "daemon_queue_full", status: 429, detail: expect.stringContaining(world.id) },
      });
      expect(await daemonOf(world)).toMatchObject({
        pending_event_count: 0,
        queued_event_count: 1,
        daemon_state: "active",
        pending_events: [],
        inflight_event: { seq: 1, payload: "first" },
      });
      release();
      await rested(world);
      expect(await trigger(world, "third")).toMatchObject({ inflight_event: { seq: 2 } });
    });
  });

  it("one in progress goes back to the front when the daemon is stopped, and is handled once more", async () => {
    const { script, begun, release } = held(1, ["ready", "never", "ready again"]);
    await inWorld(script, async (world) => {
      await world.open();
      await idle(world);
      await trigger(world, "first");
      await trigger(world, { later: true });
      await begun;
      expect(await world.ask("stop", { request: null })).toMatchObject({
        status: "stopped",
        daemon_state: "cancelled",
        pending_event_count: 2,
        queued_event_count: 2,
      });
      release();
      script.asked = async () => {};
      script.replies = ["one", "two", "three"];
      await restart(world, "r2");
      await rested(world, "r2");
      expect(await daemonOf(world)).toMatchObject({ queued_event_count: 0, total_iterations: 4 });
      expect(heard(world)).toEqual(["watch", "first", "first", '{"later":true}']);
      expect(await trigger(world, "third")).toMatchObject({ inflight_event: { seq: 3 } });
    });
  });

  it("one that the model has answered is not handled again, though the daemon was stopped before it was idle", async () => {
    const { script, begun, release } = held(2, []);
    const replies = ["ready", { calls: [["work", {}]] as [string, object][] }, "never"];
    await inWorld(
      { ...script, replies: replies as Script["replies"], spec: { tools: [tool("work")] } },
      async (world) => {
        await world.open();
        await idle(world);
        await trigger(world, "first");
        await begun;
        expect(await world.ask("stop", { request: null })).toMatchObject({
          status: "stopped",
          queued_event_count: 0,
        });
        release();
        world.script.asked = async () => {};
        world.script.replies = ["the rest"];
        // What had begun is completed.
        await restart(world, "r2");
        await rested(world, "r2");
        expect(world.performed).toEqual(["r1 tool-1-0 work"]);
        expect(await daemonOf(world)).toMatchObject({
          last_iteration_text: "the rest",
          daemon_state: "idle",
        });
      },
    );
  });

  it("a stopped daemon's unanswered task is resumed when the daemon is started again", async () => {
    const { script, begun, release } = held(0, ["never"]);
    await inWorld(script, async (world) => {
      await world.open();
      await spawn(world);
      await begun;
      await world.ask("stop", { request: null });
      release();
      script.asked = async () => {};
      script.replies = ["at work"];
      await restart(world, "r2");
      await rested(world, "r2");
      expect(await daemonOf(world)).toMatchObject({ total_text: "at work", total_iterations: 2 });
    });
  });
});

describe("a wake", () => {
  it("waits for the run in progress and is shown; the most urgent comes first, each by itself", async () => {
    const { script, release, begun } = held(1, answers(6));
    await inWorld(script, async (world) => {
      await world.open();
      await idle(world, { wake_interval_ms: SECOND, cron: "* * * * *" });
      await world.say("hello");
      await begun;
      await wake(world, "wake 1");
      await trigger(world, "event");
      world.now += 2 * 60 * SECOND;
      expect(await daemonOf(world)).toMatchObject({
        daemon_state: "active",
        last_wake: { reason: "message" },
        pending_wakes: ["event", "resume", "cron"],
      });
      release();
      await rested(world);
      expect(wakes(world)).toEqual(["message", "event", "resume", "cron"]);
      expect(await daemonOf(world)).toMatchObject({ pending_wakes: [], last_wake: { reason: "cron" } });
    });
  });

  it("message and timer due together are one wake, a message's", async () => {
    await inWorld({ replies: answers(3) }, async (world) => {
      await world.open();
      await idle(world, { wake_interval_ms: SECOND });
      world.now += 2 * SECOND;
      await world.say("hello");
      await rested(world);
      expect(wakes(world)).toEqual(["message"]);
      const [next] = world.store.due.list();
      expect([next?.kind, (next?.at ?? 0) > world.now + 900]).toEqual(["daemon", true]);
    });
  });

  it("by the timer counts from the beginning of the idle state, and the model learns of it", async () => {
    await inWorld({ replies: answers(5) }, async (world) => {
      await world.open();
      const { next_wake_at } = await idle(world, { wake_interval_ms: 5 * SECOND });
      expect(Date.parse(next_wake_at ?? "") - world.now).toBeGreaterThan(4 * SECOND);
      await pass(world, 16 * SECOND);
      expect(wakes(world)).toEqual(["timer", "timer", "timer"]);
      expect(heard(world).at(-1)).toMatch(/^<hull_feedback kind="timer">/);
      expect(world.events().filter(({ event }) => event === "daemon_wake")).toHaveLength(3);
    });
  });

  it.each([
    ["2001-03-24", ["2001-03-24T01:30", "2001-03-25T01:00", "2001-03-26T00:30"]],
    ["2001-10-27", ["2001-10-27T00:30", "2001-10-28T00:30", "2001-10-29T01:30"]],
  ])(
    "by cron in Europe/Berlin comes once on each day from %s on, the one with the change of clocks too",
    async (from, wanted) => {
      await inWorld({ replies: answers(5) }, async (world) => {
        world.now = Date.parse(`${from}T00:00:00Z`);
        await world.open();
        await idle(world, { cron: "30 2 * * *", time_zone: "Europe/Berlin" });
        await pass(world, 72 * HOUR);
        const at = world.records().flatMap((record) => (record.type === "woke" ? [record.at] : []));
        expect(at.map((ms) => new Date(ms).toISOString().slice(0, 16))).toEqual(wanted);
      });
    },
  );

  it("is caught up once if it was missed while everything was down", async () => {
    await inWorld({ replies: answers(5) }, async (world) => {
      await world.open();
      await idle(world, { cron: "0 * * * *" });
      world.now += 10 * HOUR;
      await world.revive();
      await rested(world);
      expect(wakes(world)).toEqual(["cron"]);
      await pass(world, HOUR);
      expect(wakes(world)).toEqual(["cron", "cron"]);
    });
  });

  it("comes after its process died while it was idle, and after its alarm was lost", async () => {
    await inWorld({ replies: answers(5) }, async (world) => {
      await world.open();
      await idle(world, { wake_interval_ms: 30 * SECOND });
      await world.revive();
      await pass(world, 30 * SECOND);
      expect(wakes(world)).toEqual(["timer"]);
      await world.storage.deleteAlarm();
      await world.revive();
      await world.ask("poke", null);
      expect(await world.storage.getAlarm()).not.toBeNull();
    });
  });

  it("later than the platform sets alarms has an alarm nevertheless", async () => {
    await inWorld({ replies: answers(1) }, async (world) => {
      await world.open();
      await idle(world, { wake_interval_ms: 1000 * 366 * 24 * HOUR });
      await world.conversation.listing.written();
      world.now += HOUR;
      world.alarm();
      await world.over();
      expect(world.store.due.list()).toMatchObject([{ kind: "daemon" }]);
      expect(await world.storage.getAlarm()).toBe(Date.UTC(2189, 0));
    });
  });

  it("is not delayed when the clock is set back", async () => {
    await inWorld({ replies: answers(5) }, async (world) => {
      await world.open();
      await idle(world, { wake_interval_ms: 10 * SECOND });
      world.now -= HOUR;
      await world.ask("poke", null);
      await pass(world, 11 * SECOND);
      expect(wakes(world)).toEqual(["timer"]);
    });
  });

  it("60 times without a given limit leaves it alive; a given limit counts over all wakes", async () => {
    await inWorld({ replies: answers(70) }, async (world) => {
      await world.open();
      await idle(world, { wake_interval_ms: SECOND });
      await pass(world, 61 * SECOND);
      expect(wakes(world).length).toBeGreaterThanOrEqual(60);
      expect(await daemonOf(world)).toMatchObject({ status: "running", daemon_state: "idle" });
    });
    await inWorld({ replies: answers(5) }, async (world) => {
      await world.open();
      await idle(world, { wake_interval_ms: 1, bounded: true }, { max_iterations: 2 });
      await pass(world, 10 * SECOND);
      expect(await daemonOf(world)).toMatchObject({
        status: "stopped",
        daemon_state: "budget_exhausted",
        total_iterations: 2,
        next_wake_at: null,
      });
    });
  });
});

describe("going idle", () => {
  it("consolidates the conversation where configured; the snapshot has the summary", async () => {
    const compaction = { threshold_tokens: 1, keep_last: 1, strategy: "llm" as const };
    const { SPEC } = await import("./session-world.ts");
    const spec = { compaction: { ...SPEC.compaction, ...compaction } };
    await inWorld({ spec, replies: answers(3) }, async (world) => {
      await world.open();
      await idle(world, { consolidate_on_idle: true });
      await rested(world);
      expect(await daemonOf(world)).toMatchObject({
        daemon_state: "idle",
        transcript_summary: expect.stringContaining("summarised"),
        recorded_messages: [{ content: "watch" }, { content: "answer 0. " }],
      });
      expect(world.records().filter(({ type }) => type === "compacted")).toHaveLength(1);
    });
  });

  it("the watchdog ends a daemon that nothing wakes, after so many looks; a timer keeps it alive", async () => {
    await inWorld({ replies: answers(3) }, async (world) => {
      await world.open();
      await idle(world, { idle_watchdog_attempts: 3 });
      const began = world.now;
      await pass(world, 500);
      expect(await daemonOf(world)).toMatchObject({ status: "running", idle_backoff_ms: 500 });
      await pass(world, 10 * SECOND);
      expect(await daemonOf(world)).toMatchObject({ status: "stopped", daemon_state: "watchdog" });
      const end = world.store.runs.find("r1")?.settled_at ?? 0;
      expect([end - began > 1500, end - began < 2500]).toEqual([true, true]);
      expect(world.store.due.list().filter(({ kind }) => kind === "daemon")).toEqual([]);
    });
    await inWorld({ replies: answers(20) }, async (world) => {
      await world.open();
      await idle(world, { idle_watchdog_attempts: 1, wake_interval_ms: SECOND });
      await pass(world, 10 * SECOND);
      expect(await daemonOf(world)).toMatchObject({ status: "running", daemon_state: "idle" });
    });
  });

  it("required tools that never succeeded make no daemon fail", async () => {
    await inWorld({ spec: { require_successful_tools: ["edit"] }, replies: answers(3) }, async (world) => {
      await world.open();
      await idle(world);
      expect(await world.ask("stop", { request: null })).toMatchObject({
        status: "stopped",
        daemon_state: "idle",
      });
    });
  });

  it("costs nothing while nothing is due, and few rows per wake", async () => {
    const counter = counting();
    const test = async (world: World): Promise<void> => {
      await world.open();
      await idle(world, { wake_interval_ms: SECOND });
      const before = counter.written();
      await pass(world, 20 * SECOND);
      const each = (counter.written() - before) / wakes(world).length;
      expect(each).toBeLessThan(20);
    };
    await inWorld({ replies: answers(30) }, test, undefined, counter.wrap);
    await inWorld({ replies: answers(3) }, async (world) => {
      await world.open();
      await world.conversation.listing.written();
      await idle(world);
      await world.over();
      expect([world.store.due.list(), await world.storage.getAlarm()]).toEqual([[], null]);
    });
  });
});
