/** The operations of a session's daemon, by name (`rpc.ts`). */
import type { AgentSpec } from "../../engine/agent/spec.ts";
import { entersNextCall } from "../../engine/agent/state.ts";
import { DaemonNotRunning, DaemonQueueFull, DaemonRunning } from "../../errors/daemon.ts";
import { type Conversation, onKind } from "../conversation/conversation.ts";
import type { Handlers, SessionCaller } from "../conversation/rpc.ts";
import type { NamedRequest } from "../named-request.ts";
import { MAX_ROW_WAIT_MS, waitAtMost } from "../wait-at-most.ts";
import type { DaemonSummary } from "./answers.ts";
import type { Daemon } from "./daemon.ts";
import { noteDaemon } from "./directory.ts";
import type { DaemonOperations, DaemonSettings } from "./rpc.ts";
import { snapshotOf } from "./snapshot-writer.ts";
import type { DaemonRow } from "./store.ts";
import { summaryOf, waitingEvents, wakesPage } from "./summary.ts";

/** The session in which a daemon is created. */
const NEW_SESSION = { metadata: {}, request_hash: null, imported: null };
/** How long an answer waits for a daemon to become idle, in ms. */
const IDLE_MS = 500;
/** How long KV may show an earlier publish, in ms, with room to spare. */
const PUBLISHED_MS = 120_000;

/** The settings in the daemon's row. */
type DaemonColumns = Pick<DaemonRow, "name" | "persist_path" | "capacity" | "webhook" | "skill" | "declared">;
const columnsOf = ({ name, persist_path, capacity, webhook, declared }: DaemonSettings): DaemonColumns => ({
  name,
  persist_path,
  capacity,
  webhook,
  skill: declared?.skill ?? null,
  declared: declared?.version ?? null,
});

export function daemonHandlers(conversation: Conversation, daemon: Daemon): Handlers<DaemonOperations> {
  const { log, runs } = conversation;
  const summary = (): DaemonSummary => summaryOf(daemon, log);
  const onDaemon = onKind(conversation, "daemon", () => daemon.settled());
  /** Notes something that may wake the daemon, now or once it is resumed, once for each request. */
  const changed = (row: DaemonRow, request: NamedRequest, id: string, change: () => void): DaemonSummary =>
    conversation.once(request, () => {
      if (!daemon.mayWake(row)) throw new DaemonNotRunning({ daemon: id, status: daemon.status(row) });
      change();
      if (log.state().run?.stage === "idle") daemon.look();
      return summary();
    });
  /** Waits a moment for a run to become idle. */
  const rested = (run: string): Promise<void> => waitAtMost(runs.wait(run, "idle"), IDLE_MS);
  /**
   * Claims the path in the directory. Waits for that, unless no other daemon can claim the path and there is no webhook.
   */
  const claim = async (
    { tenant, id }: SessionCaller,
    { name, persist_path, webhook, skill }: Omit<DaemonColumns, "declared">,
    exclusive: boolean,
  ): Promise<void> => {
    const created_at = daemon.store.row()?.created_at ?? log.now();
    const place = { tenant, id, name, persist_path, webhook, skill };
    const entry = { ...place, status: "running" as const, check_at: created_at, created_at };
    const noted = noteDaemon(conversation.env, entry);
    if (exclusive || webhook !== null) await noted;
    else conversation.background(noted.catch(() => {}));
  };
  /** Whether the run began so recently that the caller may not know the publish that began it. */
  const ahead = (row: DaemonRow, late: boolean): boolean =>
    late && log.now() - runs.row(row.run).created_at < PUBLISHED_MS;
  /** Begins a run of the daemon with its new settings. */
  const begin = (spec: AgentSpec, settings: DaemonSettings, caller: SessionCaller): void => {
    runs.start(spec, caller);
    daemon.store.update(columnsOf(settings));
  };
  /** Begins a run once for each request. If it does not begin, the directory must not keep the claim. */
  const beginOnce = (request: NamedRequest, caller: SessionCaller, work: () => void): void => {
    try {
      conversation.once(request, () => {
        conversation.checkActive();
        conversation.checkIdle();
        work();
      });
    } catch (error) {
      conversation.background(daemon.index(caller));
      throw error;
    }
  };
  /** Begins another run as the last one was begun. */
  const beginAgain = (row: DaemonRow, run_id: string, failures: number, caller: SessionCaller): void => {
    // Somebody stopped it just now.
    if (failures > 0 && daemon.resumesAt(row) === null)
      throw new DaemonNotRunning({ daemon: caller.id, status: daemon.status(row) });
    const spec = runs.specAfter(row.run);
    const said = log.state().waiting.some(entersNextCall);
    const begins_idle = !row.interrupted && !said;
    const of = spec.daemon === null ? null : { ...spec.daemon, begins_idle, failures };
    runs.start({ ...spec, run_id, prompt: [], daemon: of }, caller);
  };
  /** Stops the daemon's run, if it is under way, once the run has had a moment to become idle. */
  const stop = async (row: DaemonRow): Promise<void> => {
    if (daemon.status(row) === "running") {
      await daemon.stopping(async () => {
        await rested(row.run);
        if (daemon.status(row) === "running") daemon.stop(row.run);
      });
    } else daemon.endWaiting(row);
    await waitAtMost(daemon.index(), MAX_ROW_WAIT_MS);
  };

  return {
    async spawn({ spec, settings, exclusive, request }, caller) {
      await conversation.open(caller, NEW_SESSION);
      await conversation.ready(caller);
      const known = conversation.knows(request);
      if (!known) await claim(caller, columnsOf(settings), exclusive);
      beginOnce(request, caller, () => begin(spec, settings, caller));
      await Promise.all([rested(daemon.row().run), conversation.listing.written()]);
      return summary();
    },
    async declare({ spec, settings, late }, caller) {
      await conversation.open(caller, NEW_SESSION);
      await conversation.ready(caller);
      const row = daemon.store.row();
      const version = settings.declared?.version ?? null;
      if (row !== null && (row.declared === version || ahead(row, late))) return summary();
      if (row !== null) await stop(row);
      await claim(caller, columnsOf(settings), true);
      conversation.setState("active");
      conversation.together(() => begin(spec, settings, caller));
      return summary();
    },
    undeclare: onDaemon(async ({ late }, row) => {
      if (ahead(row, late)) return summary();
      daemon.store.update({ declared: null });
      await stop(row);
      return summary();
    }),
    rested: onDaemon(async (_, row) => {
      await rested(row.run);
      return summary();
    }),
    daemon: onDaemon(async (_, row) =>
      log.answered({
        ...(await snapshotOf(daemon, conversation)),
        ...summary(),
        pending_events: waitingEvents(daemon, row),
      }),
    ),
    wakes: onDaemon((page) => log.answered(wakesPage(log.store, page))),
    trigger: onDaemon(({ payload, request }, row, { session }) =>
      changed(row, request, session.id, () => {
        if (daemon.store.eventCount() >= row.capacity) {
          throw new DaemonQueueFull({ daemon: session.id, capacity: row.capacity });
        }
        daemon.store.addEvent(row.next_seq, payload, log.now());
        daemon.store.update({ next_seq: row.next_seq + 1 });
      }),
    ),
    wake: onDaemon(({ request }, row, { session }) =>
      changed(row, request, session.id, () => daemon.store.update({ asked_at: log.now() })),
    ),
    stop: onDaemon(async ({ request }, row) => {
      // The daemon may have been started again after the same request stopped it.
      const known = request !== null && conversation.knows(request);
      if (!known) await stop(row);
      conversation.once(request, () => {});
      return summary();
    }),
    restart: onDaemon(async ({ run_id, failures = 0, request }, row, { session, caller }) => {
      const known = conversation.knows(request);
      if (!known) {
        if (daemon.status(row) === "running") throw new DaemonRunning({ daemon: session.id });
        if (row.persist_path !== null) await claim(caller, row, true);
      }
      beginOnce(request, caller, () => beginAgain(row, run_id, failures, caller));
      await rested(daemon.row().run);
      return summary();
    }),
    poke: onDaemon(async () => {
      daemon.look();
      await daemon.index();
      return summary();
    }),
  };
}
