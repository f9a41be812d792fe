/** What a daemon survives: its process dies at any of its writes, and the next one continues. */
import { describe, expect, it } from "vitest";
import type { DaemonOptions } from "../../src/engine/agent/spec.ts";
import { DAEMON, daemonOf, pass, restart, rested, spawn, trigger, wakes } from "./daemon-world.ts";
import { eachWrite, inWorld, type Script, tool, type World } from "./session-world.ts";

interface Scenario {
  script: Script;
  /** What a client does; it asks again with the same request where it got no answer. */
  play: (world: World) => Promise<unknown>;
  options?: Partial<DaemonOptions>;
  /** The events that the model got, once each, in user messages. */
  events: string[];
  reasons: string[];
}

const OFTEN = { wake_interval_ms: 40 * 60_000, cron: "0 * * * *" };
const journal = { ...tool("write"), handler: "journal" };
const said = (world: World): string[] =>
  world.records().flatMap((record) => {
    if (record.type !== "woke" || record.wake.reason !== "event") return [];
    return record.wake.messages.flatMap((message) =>
      message.role === "user"
        ? message.content.flatMap((part) => (part.type === "text" ? [part.text] : []))
        : [],
    );
  });

const SCENARIOS: Record<string, Scenario> = {
  "events in a row": {
    script: {
      spec: { tools: [journal] },
      replies: ["ready", { calls: [["write", {}]] }, "one", "two", "three"],
    },
    async play(world) {
      for (const event of ["a", "b", "c"]) await trigger(world, event);
      await rested(world);
    },
    events: ["a", "b", "c"],
    reasons: ["event", "event", "event"],
  },
  "a timer and a schedule": {
    script: { replies: Array.from({ length: 40 }, (_, n) => `${n}`) },
    async play(world) {
      await pass(world, 93 * 60_000);
    },
    events: [],
    reasons: ["timer", "cron", "timer"],
    options: OFTEN,
  },
  // Each event is two model calls long and no wake may have more: the first reply of a run attempt begins none anew.
  "wakes that are ended by their budget": {
    script: {
      spec: { tools: [journal] },
      replies: [
        "ready",
        ...Array.from({ length: 40 }, () => ({ calls: [["write", {}]] as [string, object][] })),
      ],
    } as Script,
    async play(world) {
      for (const event of ["a", "b"]) await trigger(world, event);
      await rested(world);
      expect(world.performed.map((effect) => effect.split(" ")[1])).toEqual(
        [1, 2, 3, 4].map((n) => `tool-${n}-0`),
      );
      expect(await daemonOf(world)).toMatchObject({ wake_budget_reached: "max_tokens", total_iterations: 5 });
    },
    events: ["a", "b"],
    reasons: ["event", "event"],
    options: { wake_budget: { max_tokens: 4 } },
  },
  "stop and start": {
    script: { replies: ["ready", "one", "two", "three"] },
    async play(world) {
      await trigger(world, "a");
      await rested(world);
      await world.ask("stop", { request: null });
      await restart(world, "r2");
      await rested(world, "r2");
      await trigger(world, "b");
      await rested(world, "r2");
    },
    events: ["a", "b"],
    reasons: ["event", "event"],
  },
};

describe.each(Object.entries(SCENARIOS))("%s", (name, scenario) => {
  const { script, play, events, reasons, options = {} } = scenario;
  const deaths = eachWrite((death) =>
    inWorld(
      script,
      async (world) => {
        world.now = Date.parse("2090-01-01T00:10:00Z");
        await world.open();
        if (name === "stop and start") await spawn(world);
        else await world.start("r1", "watch", { daemon: { ...DAEMON, ...options } });
        await rested(world);
        await play(world);
        await check(world, { writes: death.writes, events, reasons });
        return world;
      },
      death,
    ),
  );
  it.each([false, true])(
    "loses and repeats nothing whichever write is the last (stored: %s)",
    async (after) => {
      expect(await deaths(after)).toBeGreaterThan(8);
    },
  );
});

async function check(
  world: World,
  { writes, events, reasons }: { writes: number } & Pick<Scenario, "events" | "reasons">,
): Promise<void> {
  expect({ writes, said: said(world) }).toEqual({ writes, said: events });
  expect({ writes, wakes: wakes(world) }).toEqual({ writes, wakes: reasons });
  const performed = [...world.performed];
  expect({ writes, performed }).toEqual({ writes, performed: [...new Set(performed)] });
  expect(await daemonOf(world)).toMatchObject({
    status: "running",
    daemon_state: "idle",
    queued_event_count: 0,
    pending_events: [],
  });
  // It can still be woken.
  await trigger(world, "last");
  const live = world.store.runs.live();
  await rested(world, live?.id);
  expect(said(world).at(-1)).toBe("last");
}
