/** Begins and stops the runs of a session's daemon. */
import type { AgentSpec } from "../../engine/agent/spec.ts";
import type { Conversation } from "../conversation/conversation.ts";
import type { SessionCaller } from "../conversation/rpc.ts";
import { MAX_ROW_WAIT_MS, waitAtMost } from "../wait-at-most.ts";
import type { Daemon } from "./daemon.ts";
import { noteDaemon } from "./directory.ts";
import type { DaemonSettings } from "./rpc.ts";
import type { DaemonRow } from "./store.ts";

/** How long an answer waits for a daemon to become idle, in ms. */
const IDLE_MS = 500;

export class DaemonRuns {
  readonly #conversation: Conversation;
  readonly #daemon: Daemon;

  constructor(conversation: Conversation, daemon: Daemon) {
    this.#conversation = conversation;
    this.#daemon = daemon;
  }

  /** Waits a moment for a run to become idle. */
  rested(run: string): Promise<void> {
    return waitAtMost(this.#conversation.runs.wait(run, "idle"), IDLE_MS);
  }

  /**
   * Claims the path in the directory. Waits for that, unless no other daemon can claim the path and there is no webhook.
   */
  async claim({ tenant, id }: SessionCaller, settings: DaemonSettings, exclusive: boolean): Promise<void> {
    const { env, log, background } = this.#conversation;
    const { name, persist_path, webhook, declared } = settings;
    const created_at = this.#daemon.store.row()?.created_at ?? log.now();
    const place = { tenant, id, name, persist_path, webhook, skill: declared?.skill ?? null };
    const noted = noteDaemon(env, { ...place, status: "running", check_at: created_at, created_at });
    if (exclusive || webhook !== null) await noted;
    else background(noted.catch(() => {}));
  }

  /** Begins a run of the daemon with its new settings. */
  begin(spec: AgentSpec, settings: DaemonSettings, by: SessionCaller): void {
    const { request_id, mock_scope } = by;
    this.#conversation.runs.start(spec, { request_id, mock_scope });
    const { name, persist_path, capacity, webhook, declared } = settings;
    const of = { skill: declared?.skill ?? null, declared: declared?.version ?? null };
    this.#daemon.store.update({ name, persist_path, capacity, webhook, ...of });
  }

  /** Begins another run as the last one was begun. */
  again(row: DaemonRow, run_id: string, { request_id, mock_scope }: SessionCaller): void {
    const { runs, log } = this.#conversation;
    const spec = runs.specAfter(row.run);
    const said = log.state().waiting.some(({ delivery }) => delivery !== "wait_for_completion");
    const begins_idle = !row.interrupted && !said;
    const of = spec.daemon === null ? null : { ...spec.daemon, begins_idle };
    runs.start({ ...spec, run_id, prompt: [], daemon: of }, { request_id, mock_scope });
  }

  /** Stops the daemon's run, if it is under way, once the run has had a moment to become idle. */
  async stop(row: DaemonRow): Promise<void> {
    const daemon = this.#daemon;
    if (daemon.status(row) === "running") {
      await daemon.stopping(async () => {
        await this.rested(row.run);
        if (daemon.status(row) === "running") daemon.stop(row.run);
      });
    }
    await waitAtMost(daemon.index(), MAX_ROW_WAIT_MS);
  }
}
