/**
 * Decides which executions run now, which wait, and which are refused. First come, first served, but no tenant keeps the
 * others waiting: a free slot goes to the tenant that holds the fewest, and of these to the one whose last turn is longest
 * ago.
 */
import { Refused } from "./refusal.ts";

interface QueueOptions {
  concurrency: number;
  /** Places in the queue. */
  queue: number;
  queueTimeoutMs: number;
}

/** The most executions of one skill that wait because the skill is at its own limit. */
const SKILL_QUEUE = 16;

export interface Slot {
  queueMs: number;
  /** Frees the slot; further calls do nothing. */
  release(): void;
}

interface Waiting {
  /** Rejects with `Refused` if the wait ends without a slot. */
  slot: Promise<Slot>;
  /** Leaves the queue, because nobody wants the slot any more. */
  abandon(reason: Refused): void;
}

interface Waiter {
  tenant: string;
  skill: string;
  limit: number | undefined;
  since: number;
  grant(slot: Slot): void;
  refuse(reason: Refused): void;
}

/** Weight of the newest duration in the moving average for `Retry-After`. */
const NEWEST = 0.1;

export class AdmissionQueue {
  readonly #options: QueueOptions;
  /** Executions that wait for a free slot, in order. */
  readonly #line: Waiter[] = [];
  /** Executions that wait for their own skill's limit, in order, before they may join the line. */
  readonly #bySkill = new Map<string, Waiter[]>();
  /** Per skill: executions that run, plus those that wait in the line. */
  readonly #load = new Map<string, number>();
  /** Per tenant: the slots that it holds. */
  readonly #held = new Map<string, number>();
  /** Per tenant: the number of its last turn since all slots were free. */
  readonly #turns = new Map<string, number>();
  #turn = 0;
  #running = 0;
  #averageMs = 1000;
  #closed: Refused | null = null;

  constructor(options: QueueOptions) {
    this.#options = options;
  }

  get running(): number {
    return this.#running;
  }

  get waiting(): number {
    let count = this.#line.length;
    for (const waiters of this.#bySkill.values()) count += waiters.length;
    return count;
  }

  /**
   * A slot now, or a place in the queue. `limit`: the most simultaneous runs of this skill. Executions without a limit count
   * for none: other things that run may have the skill's name. In a full queue, the tenant with the most places gives one
   * up to a tenant that waits less.
   * @throws Refused 503 `runner_busy`, 429 `concurrency_limited`, or the reason with which the queue was closed
   */
  enter(tenant: string, name: string, limit: number | undefined): Slot | Waiting {
    if (this.#closed !== null) throw this.#closed;
    const skill = limit === undefined ? "" : name;
    const atLimit = limit !== undefined && (this.#load.get(skill) ?? 0) >= limit;
    // While a slot is free, nothing waits in line.
    if (!atLimit && this.#running < this.#options.concurrency) {
      count(this.#load, skill, 1);
      return this.#occupy(tenant, skill, performance.now());
    }
    if (atLimit) {
      const waiters = this.#bySkill.get(skill) ?? [];
      makeRoom(waiters, SKILL_QUEUE, tenant, this.#skillBusy(skill));
      this.#bySkill.set(skill, waiters);
      return this.#wait(tenant, skill, limit, waiters);
    }
    makeRoom(this.#line, this.#options.queue, tenant, this.#busy());
    count(this.#load, skill, 1);
    return this.#wait(tenant, skill, limit, this.#line);
  }

  /** Refuses all present and future waiters. */
  close(reason: Refused): void {
    this.#closed = reason;
    for (const waiter of [...this.#line, ...[...this.#bySkill.values()].flat()]) waiter.refuse(reason);
  }

  #wait(tenant: string, skill: string, limit: number | undefined, queue: Waiter[]): Waiting {
    const { promise, resolve, reject } = Promise.withResolvers<Slot>();
    const timer = setTimeout(() => {
      waiter.refuse(this.#line.includes(waiter) ? this.#busy() : this.#skillBusy(skill));
    }, this.#options.queueTimeoutMs);
    const waiter: Waiter = {
      tenant,
      skill,
      limit,
      since: performance.now(),
      grant: (slot) => {
        clearTimeout(timer);
        resolve(slot);
      },
      refuse: (reason) => {
        clearTimeout(timer);
        if (this.#leave(waiter)) reject(reason);
      },
    };
    queue.push(waiter);
    return { slot: promise, abandon: (reason) => waiter.refuse(reason) };
  }

  #leave(waiter: Waiter): boolean {
    const inLine = this.#line.indexOf(waiter);
    if (inLine >= 0) {
      this.#line.splice(inLine, 1);
      count(this.#load, waiter.skill, -1);
      this.#advance(waiter.skill);
      return true;
    }
    const waiters = this.#bySkill.get(waiter.skill) ?? [];
    const index = waiters.indexOf(waiter);
    if (index < 0) return false;
    waiters.splice(index, 1);
    if (waiters.length === 0) this.#bySkill.delete(waiter.skill);
    return true;
  }

  #occupy(tenant: string, skill: string, since: number): Slot {
    this.#running += 1;
    count(this.#held, tenant, 1);
    this.#turns.set(tenant, ++this.#turn);
    const started = performance.now();
    let held = true;
    return {
      queueMs: Math.round(started - since),
      release: () => {
        if (!held) return;
        held = false;
        this.#averageMs += NEWEST * (performance.now() - started - this.#averageMs);
        this.#running -= 1;
        count(this.#held, tenant, -1);
        count(this.#load, skill, -1);
        if (this.#running === 0 && this.waiting === 0) this.#turns.clear();
        this.#advance(skill);
      },
    };
  }

  /** Lets waiting executions of a skill join the line as far as its limit permits, then gives free slots to the line. */
  #advance(skill: string): void {
    const waiters = this.#bySkill.get(skill);
    let next = this.#next(waiters);
    while (waiters !== undefined && next !== undefined) {
      if (next.limit !== undefined && (this.#load.get(skill) ?? 0) >= next.limit) break;
      waiters.splice(waiters.indexOf(next), 1);
      count(this.#load, skill, 1);
      this.#line.push(next);
      next = this.#next(waiters);
    }
    if (waiters?.length === 0) this.#bySkill.delete(skill);
    while (this.#running < this.#options.concurrency) {
      const first = this.#next(this.#line);
      if (first === undefined) return;
      this.#line.splice(this.#line.indexOf(first), 1);
      first.grant(this.#occupy(first.tenant, first.skill, first.since));
    }
  }

  /** The next one to run: of the tenant whose turn it is, the execution that came first. */
  #next(queue: readonly Waiter[] = []): Waiter | undefined {
    const of = (counts: Map<string, number>, { tenant }: Waiter): number => counts.get(tenant) ?? 0;
    const order = (a: Waiter, b: Waiter): number =>
      of(this.#held, a) - of(this.#held, b) || of(this.#turns, a) - of(this.#turns, b);
    let [next] = queue;
    for (const waiter of queue) if (next !== undefined && order(waiter, next) < 0) next = waiter;
    return next;
  }

  #retryAfterS(): number {
    const rounds = (this.waiting + 1) / this.#options.concurrency;
    return Math.min(30, Math.max(1, Math.ceil((rounds * this.#averageMs) / 1000)));
  }

  #busy(): Refused {
    return new Refused("runner_busy", "All slots of the runner and of its queue are taken.", {
      retry_after_s: this.#retryAfterS(),
    });
  }

  #skillBusy(skill: string): Refused {
    const detail = `"${skill}" has as many runs as it may, and its queue is full or too slow.`;
    return new Refused("concurrency_limited", detail, { retry_after_s: this.#retryAfterS() });
  }
}

function count(counts: Map<string, number>, name: string, change: number): void {
  const changed = (counts.get(name) ?? 0) + change;
  if (changed === 0) counts.delete(name);
  else counts.set(name, changed);
}

/** Frees a place in a full queue: that of the last execution of the tenant that waits most. @throws `full` if that is `tenant` */
function makeRoom(queue: readonly Waiter[], places: number, tenant: string, full: Refused): void {
  if (queue.length < places) return;
  const waiting = Map.groupBy(queue, (waiter) => waiter.tenant);
  const own = waiting.get(tenant)?.length ?? 0;
  const most = [...waiting.values()].reduce((a, b) => (b.length > a.length ? b : a), []);
  if (most.length <= own + 1) throw full;
  most.at(-1)?.refuse(full);
}
