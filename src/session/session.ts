/** Assembles a session from its parts, and says what each part does when something happens in another one. */
import { deploymentOf } from "../deployment.ts";
import type { Wake } from "../engine/agent/records.ts";
import type { AgentSpec } from "../engine/agent/spec.ts";
import type { Bindings } from "../env.ts";
import { SESSION_RUNTIME } from "../run/agent/runtime.ts";
import type { RunEvent } from "../run/events.ts";
import type { JsonObject } from "../skill/manifest.ts";
import { Conversation, type SessionHost } from "./conversation/conversation.ts";
import { type DueKind, RETRY_MS } from "./conversation/due-times.ts";
import { SessionDispatcher } from "./conversation/operations.ts";
import type { RunRow } from "./conversation/run-rows.ts";
import type { RunEnd, SessionLifecycle, WaitStep } from "./conversation/session-lifecycle.ts";
import type { SessionIdentity } from "./conversation/store.ts";
import { indexEntry } from "./conversation/views.ts";
import { Daemon } from "./daemon/daemon.ts";
import { SnapshotWriter } from "./daemon/snapshot-writer.ts";
import type { IndexEntry } from "./index-row.ts";
import { WATCH_MS } from "./run-attempts.ts";
import type { RunEntry } from "./run-entry.ts";
import { Delegates } from "./task/delegates.ts";
import { Task } from "./task/task.ts";
import { UnlistedSession } from "./unlisted/unlisted-session.ts";
import { Workflow } from "./workflow/workflow.ts";
import type { WatchedChange } from "./workspace/workspace.ts";

/** Assembles a session on the storage of its object. */
export function openSession(ctx: DurableObjectState, env: Bindings): Session {
  const { storage } = ctx;
  return new Session({
    storage,
    deployment: deploymentOf(env),
    background: (work) => ctx.waitUntil(work),
    runtime: SESSION_RUNTIME,
    die: async () => {
      await storage.sync();
      ctx.abort("The workflow run that lives here dies where its author wants it to.");
    },
  });
}

export class Session implements SessionLifecycle {
  readonly conversation: Conversation;
  readonly dispatcher: SessionDispatcher;
  readonly unlisted: UnlistedSession;
  readonly daemon: Daemon;
  readonly task: Task;
  readonly delegates: Delegates;
  readonly workflow: Workflow;
  readonly #snapshots: SnapshotWriter;
  readonly #owners: ReadonlyMap<string, () => void>;

  /** The parts must not call this session before the constructor has created all of them. */
  constructor(given: SessionHost) {
    const { storage } = given;
    const conversation = new Conversation(given, this);
    this.conversation = conversation;
    const { background, log, listing } = conversation;
    this.unlisted = new UnlistedSession({ ...given, background, log, listing });
    this.daemon = new Daemon(conversation, storage, (input, caller) =>
      this.dispatcher.outcome({ caller, type: "restart", input }),
    );
    this.#snapshots = new SnapshotWriter(conversation, this.daemon);
    this.workflow = new Workflow(conversation, storage, (records) => this.task.journalled(records));
    this.delegates = new Delegates(conversation, this.workflow);
    this.task = new Task(conversation, this.workflow);
    this.dispatcher = new SessionDispatcher(conversation, this);
    this.#owners = new Map(Object.entries(this.#dueOwners()));
  }

  /** The code that handles each kind of due time. It starts slow work in the background, so the alarm does not wait. */
  #dueOwners(): { readonly [K in DueKind]: () => void } {
    const { conversation, unlisted, daemon, workflow, delegates, task } = this;
    const { listing, files, runs, background } = conversation;
    return {
      watch: () => (unlisted.here ? unlisted.watch() : this.#watch()),
      approval: () => runs.kick(),
      stop: () => (unlisted.here ? unlisted.stopAgain() : runs.stopAgain()),
      index: () => background(listing.write()),
      run_index: () => listing.repeat(),
      delete: () => background(conversation.clearLater()),
      fork: () => background(conversation.clearLater()),
      files: () => background(files.collect()),
      owed: () => background(this.#saved(this.#owed())),
      daemon: () => daemon.look(),
      daemon_index: () => background(daemon.index()),
      task_index: () => task.again(),
      relay: () => task.relay.ensure(),
      workflow: () => {
        workflow.look();
        delegates.lookAfterShares();
      },
      workflow_index: () => background(workflow.index()),
      input: () => background(unlisted.takeOverInput()),
      expiry: () => background(unlisted.expire()),
    };
  }

  /** The alarm: starts what is due. */
  alarm(): void {
    const { log } = this.conversation;
    const { store } = log;
    store.due.fired();
    const row = store.session();
    if (row === null) return;
    const now = log.now();
    for (const { kind, at } of store.due.list()) {
      if (at > now) continue;
      // Sets the next time first, so the alarm comes again even if the work fails.
      store.due.set({ [kind]: now + (kind === "watch" ? WATCH_MS : RETRY_MS) });
      try {
        // A later version may have stored a kind that this version does not know, e.g. during a deployment.
        this.#owners.get(kind)?.();
      } catch (error) {
        log.fault({ event: "due_failed", kind, id: row.id }, error);
      }
    }
    store.due.arm();
  }

  /** As `SessionRpc` says. */
  async relist(run: string, listed: string): Promise<boolean> {
    const { conversation, unlisted } = this;
    const session = conversation.log.store.session();
    if (session === null) return false;
    if (unlisted.here) {
      unlisted.relist();
      return true;
    }
    if (session.state === "deleted") return false;
    await conversation.ready({ ...session, request_id: "", mock_scope: "" });
    return conversation.listing.relist(run, listed);
  }

  #watch(): void {
    this.conversation.runs.ensure();
    if (this.reports()) this.task.relay.ensure();
    else this.conversation.reported();
    this.delegates.lookAfterShares();
  }

  begins(spec: AgentSpec): void {
    this.conversation.listing.begun(spec.run_id);
    this.daemon.started(spec);
    this.task.started(spec);
  }

  resumes(status: RunRow["status"]): void {
    // Lists count the runs that wait for a person by their rows.
    if (status === "awaiting_approval") this.conversation.listing.moved();
    this.task.followed();
  }

  rests(step: WaitStep): void {
    this.conversation.listing.moved();
    if (step.for !== "wake") {
      this.task.awaitsInput();
      return;
    }
    this.daemon.rested();
    this.#snapshots.rested();
  }

  wakes(wake: Wake): void {
    this.conversation.listing.moved();
    this.daemon.woke(wake);
  }

  ends(run: string, end: RunEnd): RunEvent[] {
    return this.task.ends(run, end);
  }

  ended(run: string): void {
    this.#follow("listing", () => this.conversation.listing.ended(run));
    this.#follow("daemon", () => this.daemon.ended(run));
    this.#follow("snapshots", () => this.#snapshots.ended());
    this.#follow("delegates", () => this.delegates.ended(run));
    this.#follow("task", () => this.task.ended(run));
  }

  reports(): boolean {
    return this.task.reports();
  }

  filesChange(changes: readonly WatchedChange[], own: boolean): void {
    if (!own) this.daemon.filesChanged(changes);
  }

  filesWanted(): Promise<void> | undefined {
    const owed = this.#owed();
    return owed.every((saving) => saving === undefined) ? undefined : this.#saved(owed);
  }

  /** As `OwedFiles.saved`, for each part that owes files. */
  #owed(): (Promise<boolean> | undefined)[] {
    return [this.#snapshots.saved(), this.task.saved(), this.workflow.saved()];
  }

  async #saved(owed: readonly (Promise<boolean> | undefined)[]): Promise<void> {
    const saved = await Promise.all(owed);
    const { due } = this.conversation.log.store;
    if (due.at("owed") !== null && !saved.includes(false)) due.set({ owed: null });
  }

  runRow(run: RunRow): RunEntry {
    const { conversation, unlisted } = this;
    return unlisted.here ? unlisted.runRow(run) : indexEntry(conversation.log, run);
  }

  /** Runs one reaction to a run's end, so that the others run even if it fails. */
  #follow(part: string, work: () => void): void {
    try {
      work();
    } catch (error) {
      this.conversation.log.fault({ event: "run_end_not_followed", part }, error);
    }
  }

  entry(): Promise<IndexEntry | null> {
    return this.task.entry();
  }

  ready(): Promise<void> | undefined {
    return this.workflow.ready();
  }

  answer(run: string): JsonObject | null {
    return this.task.answer(run);
  }

  workflowResult(run: string): Promise<JsonObject | null> {
    return this.workflow.result(run);
  }

  closes(): void {
    this.delegates.closed();
    this.workflow.closed();
  }

  comesBack(): boolean {
    return !this.workflow.here;
  }

  async cleared(session: SessionIdentity): Promise<void> {
    await this.daemon.cleared(session);
    await this.delegates.cleared();
    await this.workflow.cleared(session);
    await this.task.cleared(session);
  }

  forgotten(): void {
    this.workflow.forget();
  }
}
