/** Daemons in a world whose clock and models a test controls. */
import type { AgentSpec, DaemonOptions } from "../../src/engine/agent/spec.ts";
import type { DaemonSnapshot, DaemonSummary } from "../../src/session/daemon/answers.ts";
import type { DaemonSettings } from "../../src/session/daemon/rpc.ts";
import type { Json } from "../../src/skill/manifest.ts";
import { SPEC, DAEMON as UNWATCHED, type World } from "./session-world.ts";

export const DAEMON: DaemonOptions = { ...UNWATCHED, watch_events: ["change", "create", "delete"] };

const request = (name: string) => ({ name, hash: "h" });

/** Begins a daemon as `POST /daemons` does; its runs are `r1`, and those of `restart`. */
export function spawn(
  world: World,
  daemon: Partial<DaemonOptions> = {},
  { capacity = 1024, ...more }: Partial<AgentSpec> & { capacity?: number } = {},
): Promise<DaemonSummary> {
  const prompt: AgentSpec["prompt"] = [{ role: "user", content: [{ type: "text", text: "watch" }] }];
  const spec: AgentSpec = {
    ...SPEC,
    ...world.script.spec,
    ...more,
    prompt,
    run_id: "r1",
    session_id: world.id,
    daemon: { ...DAEMON, ...daemon },
  };
  const settings: DaemonSettings = {
    name: null,
    persist_path: `daemons/${world.id}`,
    capacity,
    webhook: null,
    declared: null,
  };
  return world.ask("spawn", {
    spec,
    settings,
    exclusive: false,
    request: request("spawn"),
  });
}

/** The same, once it is idle. */
export async function idle(...[world, ...how]: Parameters<typeof spawn>): Promise<DaemonSummary> {
  await spawn(world, ...how);
  await rested(world);
  return world.ask("poke", null);
}

export const trigger = (world: World, payload: Json): Promise<DaemonSummary> =>
  world.ask("trigger", { payload, request: request(`event ${JSON.stringify(payload)}`) });

export const restart = (world: World, run_id: string): Promise<DaemonSummary> =>
  world.ask("restart", { run_id, request: request(`restart ${run_id}`) });

export const wake = (world: World, name: string): Promise<DaemonSummary> =>
  world.ask("wake", { request: request(name) });

/** Waits until the daemon's run rests or has ended. */
export const rested = (world: World, run_id = "r1"): Promise<unknown> =>
  world.ask("answer", { run_id, wait: "idle" });

export const daemonOf = (world: World): Promise<DaemonSnapshot> => world.ask("daemon", null);

/**
 * Lets so much time pass. The alarm fires when it is due, late or not. What the session does in the background ends before
 * that, as it does within a minute.
 */
export async function pass(world: World, ms: number): Promise<void> {
  const end = world.now + ms;
  const settle = async (): Promise<void> => {
    const live = world.store.runs.live();
    if (live !== null) await rested(world, live.id);
    // The process may die during background work, too.
    await world.over().catch(() => {});
  };
  await settle();
  for (;;) {
    const [next] = world.store.due.list();
    if (next === undefined || next.at > end) break;
    world.now = Math.max(world.now, next.at);
    try {
      world.alarm();
    } catch {
      // A request then reaches the next process, which does the work.
    }
    await settle();
    if (world.store.due.list()[0]?.at === next.at) break;
  }
  world.now = Math.max(world.now, end);
}

/** The reasons of all wakes so far. */
export const wakes = (world: World): string[] =>
  world.records().flatMap((record) => (record.type === "woke" ? [record.wake.reason] : []));

/** What the model has received, as user messages. */
export const heard = (world: World): string[] =>
  (world.requests.at(-1)?.messages ?? []).flatMap((message) =>
    message.role === "user"
      ? message.content.flatMap((part) => (part.type === "text" ? [part.text] : []))
      : [],
  );
