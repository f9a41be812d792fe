/** The operations of a session's daemon, by name (`rpc.ts`). */
import { DaemonNotRunning, DaemonQueueFull, DaemonRunning } from "../../errors/daemon.ts";
import type { Conversation } from "../conversation/conversation.ts";
import type { Handlers, SessionCaller } from "../conversation/rpc.ts";
import type { SessionRow } from "../conversation/store.ts";
import type { NamedRequest } from "../named-request.ts";
import type { DaemonSummary } from "./answers.ts";
import type { Daemon } from "./daemon.ts";
import { DaemonRuns } from "./daemon-runs.ts";
import type { DaemonOperations } from "./rpc.ts";
import { snapshotOf } from "./snapshot.ts";
import type { DaemonRow } from "./store.ts";
import { summaryOf, waitingEvents } from "./summary.ts";

/** The session in which a daemon is created. */
const NEW_SESSION = { metadata: {}, request_hash: null, imported: null };

export function daemonHandlers(conversation: Conversation, daemon: Daemon): Handlers<DaemonOperations> {
  const { log } = conversation;
  const daemonRuns = new DaemonRuns(conversation, daemon);
  const summary = (): DaemonSummary => summaryOf(daemon, log);

  /** Wraps an operation on a daemon that must exist. */
  const onDaemon =
    <I, O>(
      work: (input: I, row: DaemonRow, at: { session: SessionRow; caller: SessionCaller }) => O | Promise<O>,
    ) =>
    async (input: I, caller: SessionCaller): Promise<O> => {
      const session = await conversation.ready(caller, "daemon");
      return work(input, daemon.settled(), { session, caller });
    };
  /** Notes something that may wake a running daemon, once for each request. */
  const changed = (row: DaemonRow, request: NamedRequest, id: string, change: () => void): DaemonSummary =>
    conversation.once(request, () => {
      const status = daemon.status(row);
      if (status !== "running") throw new DaemonNotRunning({ daemon: id, status });
      change();
      if (log.state().run?.stage === "idle") daemon.look();
      return summary();
    });

  return {
    async spawn({ spec, settings, exclusive, request }, caller) {
      await conversation.open(caller, NEW_SESSION);
      const session = await conversation.ready(caller);
      const known = conversation.knows(request);
      if (!known) await daemonRuns.claim(caller, settings, exclusive);
      conversation.once(request, () => {
        conversation.checkActive(session);
        conversation.checkIdle(session);
        daemonRuns.begin(spec, settings, caller);
        return null;
      });
      await Promise.all([daemonRuns.rested(daemon.row().run), conversation.listing.written()]);
      return summary();
    },
    async declare({ spec, settings }, caller) {
      await conversation.open(caller, NEW_SESSION);
      const session = await conversation.ready(caller);
      const row = daemon.store.row();
      const version = settings.declared?.version ?? null;
      if (row !== null && row.declared === version) return summary();
      if (row !== null) await daemonRuns.stop(row);
      await daemonRuns.claim(caller, settings, true);
      conversation.setState(session, "active");
      conversation.together(() => daemonRuns.begin(spec, settings, caller));
      return summary();
    },
    undeclare: onDaemon(async (_, row) => {
      daemon.store.update({ declared: null });
      await daemonRuns.stop(row);
      return summary();
    }),
    rested: onDaemon(async (_, row) => {
      await daemonRuns.rested(row.run);
      return summary();
    }),
    daemon: onDaemon(async (_, row) =>
      log.answered({
        ...(await snapshotOf(daemon, conversation)),
        ...summary(),
        pending_events: waitingEvents(daemon, row),
      }),
    ),
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
      if (!known) await daemonRuns.stop(row);
      conversation.once(request, () => null);
      return summary();
    }),
    restart: onDaemon(async ({ run_id, request }, row, { session, caller }) => {
      const known = conversation.knows(request);
      if (!known) {
        if (daemon.status(row) === "running") throw new DaemonRunning({ daemon: session.id });
        const { name, persist_path, capacity, webhook, skill, declared } = row;
        const of = skill === null || declared === null ? null : { skill, version: declared };
        const settings = { name, persist_path: persist_path ?? "", capacity, webhook, declared: of };
        if (persist_path !== null) await daemonRuns.claim(caller, settings, true);
      }
      conversation.once(request, () => {
        conversation.checkActive(session);
        conversation.checkIdle(session);
        daemonRuns.again(row, run_id, caller);
        return null;
      });
      await daemonRuns.rested(daemon.row().run);
      return summary();
    }),
    poke: onDaemon(async () => {
      daemon.look();
      await daemon.index();
      return summary();
    }),
  };
}
