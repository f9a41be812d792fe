/**
 * The runs that a session has delegated: counts those under way, stores their events, and ends them together with the
 * run that delegated them.
 */
import { ceilingsOf, NO_CEILINGS, refusal } from "../../engine/agent/delegation.ts";
import { termsOf } from "../../engine/run-status.ts";
import { type ReturnedShare, type Share, type Shares, shareOut } from "../../engine/shares.ts";
import { ToolsRejected } from "../../errors/llm.ts";
import { TooManyDelegated } from "../../errors/task.ts";
import { ignoreMissing, type SessionClient, sessionClient } from "../../run/session-client.ts";
import { ceilingsBelow } from "../../run/workflow/ceilings.ts";
import { SUB_AGENT } from "../../skill/tool-names.ts";
import type { Conversation } from "../conversation/conversation.ts";
import type { Tables } from "../tables.ts";
import type { Workflow } from "../workflow/workflow.ts";
import type { TaskOperations } from "./rpc.ts";

/** The most delegated runs of one session that may be under way at once. */
const MOST_LIVE = 64;

interface DelegateRow {
  child: string;
  /** The run that delegated it; `null`: the session did, outside of a run. */
  run: string | null;
  /** Number of the child's last event that this session has. */
  relayed: number;
  over: number;
}

export class Delegates {
  readonly #conversation: Conversation;
  readonly #tables: Tables<"delegate">;
  readonly #workflow: Workflow;
  /** Runs with a share that are known to have begun. */
  readonly #begun = new Set<string>();
  /** How often a task has asked to be noted. */
  #asked = 0;
  /**
   * The delegated runs under way, and the value of `ConversationStore.forgotten` when they were read. Only this class
   * writes the table, which also has a row for each one that has ended.
   */
  #known: { at: number; live: Map<string, DelegateRow> } | null = null;

  constructor(conversation: Conversation, workflow: Workflow) {
    this.#conversation = conversation;
    this.#tables = conversation.log.store.tables;
    this.#workflow = workflow;
  }

  /** The limits for a run that would be delegated now. */
  ceilings(): Omit<TaskOperations["ceilings"]["out"], "task_id"> {
    const { log } = this.#conversation;
    const session = log.store.session();
    const id = session?.id ?? null;
    if (id !== null && this.#workflow.here) return ceilingsBelow(this.#workflow.state(), id);
    const { run } = log.state();
    if (run === null) return { ...NO_CEILINGS, session_id: id, account: id };
    return { ...ceilingsOf(run, log.store.runs.live()?.id === run.spec.run_id), session_id: id };
  }

  /**
   * Returns what a task may use; `null`: as much as it asks for.
   * @throws TooManyDelegated; ToolsRejected if nothing is left for the task
   */
  add({ child, run_id, asks }: TaskOperations["delegate"]["in"]): Share | null {
    this.#asked += 1;
    if (asks !== undefined && asks.ended !== null) this.#return(asks.ended);
    return this.#conversation.together(() => {
      this.#note(child, run_id);
      return asks === undefined ? null : this.#share(asks);
    });
  }

  /** Gives a task its share of the budgets of the run under way. */
  #share({ task_run, ...asked }: Share & { task_run: string }): Share | null {
    const left = this.ceilings();
    const { run_id: run } = left;
    if (run === null) return null;
    const { granted, share } = shareOut(left, asked);
    const known = this.#shares()?.[task_run];
    if (known !== undefined) return { tokens: known.tokens ?? granted.tokens, usd: known.usd ?? granted.usd };
    const reason = refusal({ ...left, levels: 0, deadline: null }, 0);
    if (reason !== null) throw new ToolsRejected({ tools: [SUB_AGENT], reason });
    if (left.tokens === null && left.usd === null) return null;
    const taken = { type: "share_taken" as const, task_run, ...share };
    if (this.#workflow.here) this.#workflow.note([{ ...taken, at: this.#conversation.log.now() }]);
    else this.#conversation.runs.receive([{ ...taken, run }], false);
    return granted;
  }

  /** The task has ended: the run that gave it its share has the rest again. */
  #return(ended: ReturnedShare): void {
    if (this.#shares()?.[ended.task_run] === undefined) return;
    const returned = { type: "share_returned" as const, ...ended };
    const { log, runs } = this.#conversation;
    if (this.#workflow.here) this.#workflow.note([{ ...returned, at: log.now() }]);
    else runs.receive([{ ...returned, run: log.state().run?.spec.run_id ?? "" }], false);
  }

  /** Frees the shares of tasks whose process died before their run began. A task whose run has begun is asked once. */
  lookAfterShares(): void {
    // To read the records of a run that was given up may kill the process.
    if (!this.#workflow.here && !this.#conversation.log.loaded) return;
    const runs = Object.keys(this.#shares() ?? {}).filter((run) => !this.#begun.has(run));
    if (runs.length > 0) this.#conversation.background(this.#free(runs));
  }

  async #free(runs: readonly string[]): Promise<void> {
    const asked = this.#asked;
    // A late report about a task's earlier run may say that the task is over, so those are asked if the others know nothing.
    for (const over of [0, 1]) {
      const children = this.#rows(over);
      if (runs.every((run) => this.#begun.has(run))) return;
      const answers = await Promise.all(
        children.map(({ child }) =>
          this.#client(child)
            .ask("begun", { task_runs: [...runs] })
            .catch(ignoreMissing),
        ),
      );
      for (const run of answers.flatMap((answer) => answer?.task_runs ?? [])) this.#begun.add(run);
    }
    // A request that came meanwhile may begin a run after all; the next look asks again.
    if (asked !== this.#asked) return;
    for (const task_run of runs)
      if (!this.#begun.has(task_run)) this.#return({ task_run, spent: { tokens: 0, cost_usd: 0 } });
  }

  #shares(): Shares | undefined {
    return this.#workflow.here ? this.#workflow.state().shares : this.#conversation.log.state().run?.shares;
  }

  /** A task's run that was noted did not begin. */
  remove({ child, task_run, over }: TaskOperations["undelegate"]["in"]): void {
    this.#conversation.together(() => {
      this.#return({ task_run, spent: { tokens: 0, cost_usd: 0 } });
      const row = over ? this.#row(child) : undefined;
      if (row !== undefined) this.#put({ ...row, over: 1 });
    });
  }

  /** @throws TooManyDelegated */
  #note(child: string, run_id: string | null): void {
    const { store } = this.#conversation.log;
    const session = this.#conversation.id;
    const before = this.#row(child);
    if (before?.over !== 0 && this.#live().length >= MOST_LIVE)
      throw new TooManyDelegated({ session, limit: MOST_LIVE });
    this.#put({ child, run: run_id, relayed: before?.relayed ?? 0, over: 0 });
    if (before === undefined) store.addChild(child);
  }

  #put(row: DelegateRow): void {
    const live = this.#underWay();
    this.#tables.insert("delegate", { ...row }, "INSERT OR REPLACE");
    if (row.over === 0) live.set(row.child, row);
    else live.delete(row.child);
  }

  /** Stores the child's new events, together with the number of the last one. */
  relay({
    child,
    after,
    events,
    last,
    over,
    ended,
  }: TaskOperations["relay"]["in"]): TaskOperations["relay"]["out"] {
    const { log } = this.#conversation;
    if (ended !== undefined) this.#return(ended);
    const row = this.#row(child) ?? this.#stage(child);
    if (row === undefined) return { known: last, goes_on: true };
    const goes_on = !this.#stopped(row);
    if (after !== row.relayed) return { known: row.relayed, goes_on };
    const write = (): void => this.#put({ ...row, relayed: last, over: Number(over) });
    if (last !== after || (over && row.over === 0)) log.append([], { events: () => events, write });
    return { known: last, goes_on };
  }

  #row(child: string): DelegateRow | undefined {
    const query = "SELECT child, run, relayed, over FROM delegate WHERE child = ?";
    return this.#tables.exec<DelegateRow>("delegate", query, child)[0];
  }

  /**
   * The row of a child that is a stage of the session's workflow run. The workflow run itself limits the number of
   * stages and removes them; a stage gets a stored row with its first events.
   */
  #stage(child: string): DelegateRow | undefined {
    const run = this.#workflow.runOfStage(child);
    return run === null ? undefined : { child, run, relayed: 0, over: 0 };
  }

  #rows(over: number): DelegateRow[] {
    return this.#tables.exec(
      "delegate",
      "SELECT child, run, relayed, over FROM delegate WHERE over = ?",
      over,
    );
  }

  #live(): DelegateRow[] {
    return [...this.#underWay().values()];
  }

  #underWay(): Map<string, DelegateRow> {
    const at = this.#conversation.log.store.forgotten;
    if (this.#known?.at !== at)
      this.#known = { at, live: new Map(this.#rows(0).map((row) => [row.child, row])) };
    return this.#known.live;
  }

  /** Whether the run above was cancelled or failed, or its session was closed. */
  #stopped({ run }: DelegateRow): boolean {
    const { state } = this.#conversation.log.store.session() ?? {};
    if (state === "closed" || state === "abandoned") return true;
    const above = run === null ? null : this.#conversation.log.store.runs.find(run);
    return above !== null && termsOf(above.status).stopped === true;
  }

  /** Ends the runs that a run delegated, if that run was stopped. */
  ended(run: string): void {
    const { background } = this.#conversation;
    for (const row of this.#live())
      if (row.run === run && this.#stopped(row)) background(this.#close(row.child));
  }

  /** The session is closed. */
  closed(): void {
    for (const { child } of this.#live()) this.#conversation.background(this.#close(child));
  }

  /** The session is being removed. */
  async cleared(): Promise<void> {
    await Promise.all(this.#live().map(({ child }) => this.#close(child)));
  }

  /** Ends a delegated run. If this message does not reach it, it learns so when it sends its next event. */
  async #close(child: string): Promise<void> {
    const closed = this.#client(child).ask("task_close", { request: null });
    await closed.catch(this.#conversation.log.faults({ event: "delegate_not_closed", child }));
  }

  #client(child: string): SessionClient {
    return sessionClient(this.#conversation.context(), child);
  }
}
