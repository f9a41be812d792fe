/** What a daemon owes whenever it goes idle or ends: its snapshot among the files, and a notice to its host. */

import { toolLists } from "../../engine/agent/settle-call.ts";
import type { DaemonOptions } from "../../engine/agent/spec.ts";
import { backoff } from "../../engine/daemon/schedule.ts";
import { isWatched } from "../../engine/daemon/watch.ts";
import { messageJson } from "../../llm/messages.ts";
import { hostDelegate } from "../../run/host-delegate.ts";
import { allFiles } from "../../run/workspace/access.ts";
import type { Conversation } from "../conversation/conversation.ts";
import { OwedFiles } from "../owed-file.ts";
import type { StoredSnapshot } from "./answers.ts";
import type { Daemon } from "./daemon.ts";
import { isoOrNull, summaryOf } from "./summary.ts";

export class SnapshotWriter {
  readonly #conversation: Conversation;
  readonly #daemon: Daemon;
  readonly #files: OwedFiles;

  constructor(conversation: Conversation, daemon: Daemon) {
    this.#conversation = conversation;
    this.#daemon = daemon;
    this.#files = new OwedFiles(conversation);
  }

  /** The run is idle. */
  rested(): void {
    const options = this.#options();
    if (options !== null) this.#later(() => notifyHost(this.#conversation, this.#daemon, options));
  }

  /** A run that follows may change what the snapshot follows from, so it is written now. */
  ended(): void {
    this.#later(async () => {
      await this.saved();
    });
  }

  /**
   * Resolves when what a daemon owes since it last went idle or ended is among the files; `undefined`: it is, or there is
   * no daemon.
   */
  saved(): Promise<boolean> | undefined {
    const options = this.#options();
    const path = options?.persist_path ?? options?.resume_path ?? null;
    const { log } = this.#conversation;
    const session = log.store.session();
    if (path === null || session === null || session.state === "deleted") return undefined;
    const { persist_path: folder, saved_at } = this.#daemon.row();
    const meta = folder !== null && path.startsWith(`${folder}/`) ? `${folder}/daemon.meta.json` : null;
    return this.#files.saved({
      since: saved_at ?? 0,
      files: {
        [path]: () => snapshotOf(this.#daemon, this.#conversation),
        ...(meta === null ? {} : { [meta]: () => summaryOf(this.#daemon, log) }),
      },
    });
  }

  /** Daemon options of the run; `null`: there is no daemon. */
  #options(): DaemonOptions | null {
    const row = this.#daemon.store.row();
    return row === null ? null : (this.#daemon.run(row)?.spec.daemon ?? null);
  }

  /** Begins after the present writes are stored. */
  #later(work: () => Promise<void>): void {
    const { log, background } = this.#conversation;
    background(
      Promise.resolve()
        .then(work)
        .catch(log.faults({ event: "daemon_not_kept" })),
    );
  }
}

/** Tells the host that the daemon is idle. If that fails, the daemon stays idle. */
async function notifyHost(conversation: Conversation, daemon: Daemon, options: DaemonOptions): Promise<void> {
  const session = conversation.log.store.session();
  if (session === null) return;
  const ask = hostDelegate(conversation.context());
  const row = daemon.store.row();
  if (ask === null || row === null) return;
  const { watch_paths, persist_path } = options;
  const iteration = daemon.run(row)?.iterations ?? 0;
  await ask("agent/idle", {
    session_id: session.id,
    run_id: row.run,
    iteration,
    backoff_ms: backoff(row.ticks),
    persist_path,
    watch_paths,
  });
}

/** The most rows of records, and bytes of them, in a snapshot's history: a daemon may live for ever. */
const RECENT_ROWS = 2000;
const RECENT_BYTES = 4 * 1024 * 1024;

/** The snapshot's document. */
export async function snapshotOf(
  daemon: Daemon,
  { log, files }: Pick<Conversation, "log" | "files">,
): Promise<StoredSnapshot> {
  const { watch_paths = [] } = daemon.run(daemon.row())?.spec.daemon ?? {};
  // Only those that are there: the snapshot itself may be owed.
  const present = {
    listFiles: async (after: string | null, limit: number) => files.presentFiles(after, limit),
  };
  const watchable = watch_paths.length === 0 ? [] : await allFiles(present);
  const watched = watchable.filter(({ path }) => isWatched({ watch_paths }, path));
  const row = daemon.row();
  const run = daemon.run(row);
  const used = run === null ? null : toolLists(run);
  const { visible, summary, waiting } = log.state();
  const after = Math.max(0, log.store.lastRecord() - RECENT_ROWS);
  const { messages, events } = log.recorded(after, RECENT_BYTES).recorded.transcript;
  const snapshot: StoredSnapshot = {
    _type: "daemon_snapshot",
    saved_at: isoOrNull(row.saved_at),
    daemon_state: daemon.state(row),
    visible_messages: visible.flatMap(messageJson),
    recorded_messages: messages,
    transcript_summary: summary,
    transcript_events: events,
    total_text: run?.texts.join("") ?? "",
    last_iteration_text: run?.texts.at(-1) ?? "",
    all_tools_used: used?.tools_used ?? [],
    rejected_tools: used?.rejected_tools ?? [],
    deferred_user_messages: waiting
      .filter(({ delivery, at_rest }) => delivery === "wait_for_completion" && at_rest === undefined)
      .flatMap(({ message }) => messageJson(message)),
    total_iterations: daemon.iterations(row),
    idle_backoff_ms: backoff(row.ticks),
    last_run_exit_code: run?.verification?.exit_code ?? null,
    watch_state: Object.fromEntries(watched.map(({ path, version }) => [path, version])),
  };
  return log.answered(snapshot);
}
