/** The operations of a session's daemon, by name (`rpc.ts`). */
import type { AgentSpec } from "../../engine/agent/spec.ts";
import { DaemonNotRunning, DaemonQueueFull, DaemonRunning } from "../../errors/daemon.ts";
import { asJson } from "../../skill/json.ts";
import type { Conversation } from "../conversation/conversation.ts";
import type { Handlers, SessionCaller } from "../conversation/rpc.ts";
import type { SessionRow } from "../conversation/store.ts";
import { MAX_ROW_WAIT_MS, waitAtMost } from "../wait-at-most.ts";
import type { Daemon } from "./daemon.ts";
import { noteDaemon } from "./directory.ts";
import type { DaemonOperations, DaemonSettings, DaemonSummary } from "./rpc.ts";
import { snapshotOf } from "./snapshot.ts";
import type { DaemonRow } from "./store.ts";
import { summaryOf, waitingEvents } from "./summary.ts";

/** How long an answer waits for a daemon to become idle, in ms. */
const IDLE_MS = 500;

/** The session in which a daemon is created. */
const NEW_SESSION = { metadata: {}, request_hash: null, imported: null };

export function daemonHandlers(conversation: Conversation, daemon: Daemon): Handlers<DaemonOperations> {
  const { log, runs } = conversation;
  const summary = (): DaemonSummary => summaryOf(daemon, log);

  /** Wraps an operation on a daemon that must exist. */
  const within404 =
    <I, O>(
      work: (input: I, row: DaemonRow, at: { session: SessionRow; caller: SessionCaller }) => O | Promise<O>,
    ) =>
    async (input: I, caller: SessionCaller): Promise<O> => {
      const session = await conversation.ready(caller, "daemon");
      return work(input, daemon.settled(), { session, caller });
    };
  const running = (row: DaemonRow, id: string): void => {
    const status = daemon.status(row);
    if (status !== "running") throw new DaemonNotRunning({ daemon: id, status });
  };
  const rested = (run: string): Promise<void> => waitAtMost(runs.wait(run, "idle"), IDLE_MS);
  const indexed = (): Promise<void> => waitAtMost(daemon.index(), MAX_ROW_WAIT_MS);

  /**
   * Claims the path in the directory. Waits for that, unless no other daemon can claim the path and there is no webhook.
   */
  const claim = async (
    { tenant, id }: SessionCaller,
    settings: DaemonSettings,
    exclusive: boolean,
  ): Promise<void> => {
    const { name, persist_path, webhook, declared } = settings;
    const created_at = daemon.store.row()?.created_at ?? log.now();
    const place = { tenant, id, name, persist_path, webhook, skill: declared?.skill ?? null };
    const noted = noteDaemon(conversation.env, {
      ...place,
      status: "running",
      check_at: created_at,
      created_at,
    });
    if (exclusive || webhook !== null) await noted;
    else conversation.background(noted.catch(() => {}));
  };

  /** Begins a run of the daemon with its new settings. */
  const begin = (spec: AgentSpec, settings: DaemonSettings, by: SessionCaller): void => {
    const { request_id, mock_scope } = by;
    runs.start(spec, { request_id, mock_scope });
    const { name, persist_path, capacity, webhook, declared } = settings;
    const of = { skill: declared?.skill ?? null, declared: declared?.version ?? null };
    daemon.store.update({ name, persist_path, capacity, webhook, ...of });
  };

  const stop = async (row: DaemonRow): Promise<void> => {
    if (daemon.status(row) === "running") {
      await daemon.stopping(async () => {
        await rested(row.run);
        if (daemon.status(row) === "running") daemon.stop(row.run);
      });
    }
    await indexed();
  };

  return {
    async spawn({ spec, settings, exclusive, request }, caller) {
      await conversation.open(caller, NEW_SESSION);
      const session = await conversation.ready(caller);
      const known = conversation.knows(request);
      if (!known) await claim(caller, settings, exclusive);
      conversation.once(request, () => {
        conversation.active(session);
        conversation.quiet(session);
        begin(spec, settings, caller);
        return null;
      });
      await Promise.all([rested(daemon.row().run), conversation.listing.written()]);
      return summary();
    },
    async declare({ spec, settings }, caller) {
      await conversation.open(caller, NEW_SESSION);
      const session = await conversation.ready(caller);
      const row = daemon.store.row();
      const version = settings.declared?.version ?? null;
      if (row !== null && row.declared === version) return summary();
      if (row !== null) await stop(row);
      await claim(caller, settings, true);
      conversation.setState(session, "active");
      conversation.together(() => begin(spec, settings, caller));
      return summary();
    },
    undeclare: within404(async (_, row) => {
      daemon.store.update({ declared: null });
      await stop(row);
      return summary();
    }),
    rested: within404(async (_, row) => {
      await rested(row.run);
      return summary();
    }),
    daemon: within404(async (_, row) => {
      const document = {
        ...(await snapshotOf(daemon, conversation)),
        ...summary(),
        pending_events: waitingEvents(daemon, row),
      };
      return asJson(log.answered(document));
    }),
    trigger: within404(({ payload, request }, row, { session }) =>
      conversation.once(request, () => {
        running(row, session.id);
        if (daemon.store.eventCount() >= row.capacity) {
          throw new DaemonQueueFull({ daemon: session.id, capacity: row.capacity });
        }
        daemon.store.addEvent(row.next_seq, payload, log.now());
        daemon.store.update({ next_seq: row.next_seq + 1 });
        if (log.state().run?.stage === "idle") daemon.look();
        return summary();
      }),
    ),
    wake: within404(({ request }, row, { session }) =>
      conversation.once(request, () => {
        running(row, session.id);
        daemon.store.update({ asked_at: log.now() });
        if (log.state().run?.stage === "idle") daemon.look();
        return summary();
      }),
    ),
    stop: within404(async ({ request }, row) => {
      // The daemon may have been started again after the same request stopped it.
      const known = request !== null && conversation.knows(request);
      if (!known) await stop(row);
      if (request !== null) conversation.once(request, () => null);
      return summary();
    }),
    restart: within404(async ({ run_id, request }, row, { session, caller }) => {
      const known = conversation.knows(request);
      if (!known) {
        if (daemon.status(row) === "running") throw new DaemonRunning({ daemon: session.id });
        const { name, persist_path, capacity, webhook, skill, declared } = row;
        const of = skill === null || declared === null ? null : { skill, version: declared };
        const settings = { name, persist_path: persist_path ?? "", capacity, webhook, declared: of };
        if (persist_path !== null) await claim(caller, settings, true);
      }
      conversation.once(request, () => {
        conversation.active(session);
        conversation.quiet(session);
        const spec = runs.specOf(row.run);
        const said = log.state().waiting.some(({ delivery }) => delivery !== "wait_for_completion");
        const begins_idle = !row.interrupted && !said;
        const { memo } = runs.row(row.run);
        const call = memo === null ? spec.call : { ...spec.call, mock: JSON.parse(memo) };
        const of = spec.daemon === null ? null : { ...spec.daemon, begins_idle };
        const { request_id, mock_scope } = caller;
        runs.start({ ...spec, call, run_id, prompt: [], daemon: of }, { request_id, mock_scope });
        return null;
      });
      await rested(daemon.row().run);
      return summary();
    }),
    poke: within404(async () => {
      daemon.look();
      await daemon.index();
      return summary();
    }),
  };
}
