/** Decides which executions run now, which wait, and which are refused. First come, first served. */
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
   * for none: other things that run may have the skill's name.
   * @throws Refused 503 `runner_busy`, 429 `concurrency_limited`, or the reason with which the queue was closed
   */
  enter(name: string, limit: number | undefined): Slot | Waiting {
    if (this.#closed !== null) throw this.#closed;
    const skill = limit === undefined ? "" : name;
    const atLimit = limit !== undefined && (this.#load.get(skill) ?? 0) >= limit;
    if (!atLimit && this.#line.length === 0 && this.#running < this.#options.concurrency) {
      this.#count(skill, 1);
      return this.#occupy(skill, performance.now());
    }
    if (atLimit) {
      const waiters = this.#bySkill.get(skill) ?? [];
      if (waiters.length >= SKILL_QUEUE) throw this.#skillBusy(skill);
      this.#bySkill.set(skill, waiters);
      return this.#wait(skill, limit, waiters);
    }
    if (this.#line.length >= this.#options.queue) throw this.#busy();
    this.#count(skill, 1);
    return this.#wait(skill, limit, this.#line);
  }

  /** Refuses all present and future waiters. */
  close(reason: Refused): void {
    this.#closed = reason;
    for (const waiter of [...this.#line, ...[...this.#bySkill.values()].flat()]) waiter.refuse(reason);
  }

  #wait(skill: string, limit: number | undefined, queue: Waiter[]): Waiting {
    const { promise, resolve, reject } = Promise.withResolvers<Slot>();
    const timer = setTimeout(() => {
      waiter.refuse(this.#line.includes(waiter) ? this.#busy() : this.#skillBusy(skill));
    }, this.#options.queueTimeoutMs);
    const waiter: Waiter = {
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
      this.#count(waiter.skill, -1);
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

  #occupy(skill: string, since: number): Slot {
    this.#running += 1;
    const started = performance.now();
    let held = true;
    return {
      queueMs: Math.round(started - since),
      release: () => {
        if (!held) return;
        held = false;
        this.#averageMs += NEWEST * (performance.now() - started - this.#averageMs);
        this.#running -= 1;
        this.#count(skill, -1);
        this.#advance(skill);
      },
    };
  }

  /** Lets waiting executions of a skill join the line as far as its limit permits, then gives free slots to the line. */
  #advance(skill: string): void {
    const waiters = this.#bySkill.get(skill);
    let first = waiters?.[0];
    while (waiters !== undefined && first !== undefined) {
      if (first.limit !== undefined && (this.#load.get(skill) ?? 0) >= first.limit) break;
      waiters.shift();
      this.#count(skill, 1);
      this.#line.push(first);
      first = waiters[0];
    }
    if (waiters?.length === 0) this.#bySkill.delete(skill);
    while (this.#running < this.#options.concurrency) {
      const next = this.#line.shift();
      if (next === undefined) return;
      next.grant(this.#occupy(next.skill, next.since));
    }
  }

  #count(skill: string, change: number): void {
    const count = (this.#load.get(skill) ?? 0) + change;
    if (count === 0) this.#load.delete(skill);
    else this.#load.set(skill, count);
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
