/**
 * A session's object whose processes die: its storage stops accepting writes, and the world outlives each process's
 * life.
 */
import { runInDurableObject } from "cloudflare:test";
import { Deployment } from "../../src/deployment.ts";
import type { AgentRecord, AgentToolResult, Delivery } from "../../src/engine/agent/records.ts";
import type { AgentSpec } from "../../src/engine/agent/spec.ts";
import type { AgentRequest } from "../../src/engine/agent/step.ts";
import { type Block, type ModelTurn, NO_USAGE } from "../../src/engine/messages.ts";
import type { Bindings } from "../../src/env.ts";
import type { ErrorData } from "../../src/errors.ts";
import { HullError } from "../../src/errors.ts";
import type { AgentRuntime } from "../../src/run/agent/runtime.ts";
import type { RunEvent } from "../../src/run/events.ts";
import { RunArtifacts } from "../../src/run/handler/artifacts.ts";
import { readText } from "../../src/run/long-text.ts";
import type { Conversation } from "../../src/session/conversation/conversation.ts";
import type { SessionDispatcher } from "../../src/session/conversation/operations.ts";
import type {
  LongText,
  SessionAnswer,
  SessionOperation,
  SessionOperations,
} from "../../src/session/conversation/rpc.ts";
import { ConversationStore } from "../../src/session/conversation/store.ts";
import { Session } from "../../src/session/session.ts";
import type { JsonObject } from "../../src/skill/manifest.ts";
import { checkEvent } from "../support/sse.ts";
import { SPEC } from "../unit/engine/agent/harness.ts";
import { bindings } from "./file-bindings.ts";
import { mortal } from "./session-storage.ts";

export { DAEMON, SPEC, tool } from "../unit/engine/agent/harness.ts";

/** A model's answer in one iteration: text, or calls as `[tool, arguments]`. So many ms pass after each word. */
export type Reply = string | { text?: string; calls: [string, JsonObject][]; pace?: number } | HullError;

export interface Script {
  spec?: Partial<AgentSpec>;
  /** By iteration, so that a repeated call gets the same answer. */
  replies: Reply[];
  /** Called while a tool runs, before its result exists. */
  during?: (tool: string, world: World) => void | Promise<void>;
  /** The artifacts that a tool makes in each call, by the tool's name. */
  makes?: Record<string, JsonObject[]>;
  /** Called during a model call. */
  asked?: (iteration: number, world: World) => Promise<unknown>;
  /** Bindings in place of the test's own. */
  env?: Partial<Bindings>;
  /** Executes the runs. Absent: `replies` and `during` determine what they do. */
  runtime?: AgentRuntime;
  /** The session's id. Absent: a new one. */
  id?: string;
}

/** Sends a message, with the same name however often it is sent. */
export function said(text: string, delivery: Delivery = "finish_step") {
  const message = { role: "user" as const, content: [{ type: "text" as const, text }] };
  return { message, delivery, request: { name: `say ${text.length} ${text.slice(0, 100)}`, hash: "h" } };
}

interface Life {
  session: Session;
  /** Resolves when this life has no work left. */
  over: () => Promise<void>;
  kill: () => void;
  /** Whether nothing happened outside between its last two writes, of which the second was not stored. */
  quiet: () => boolean;
}

const IMMORTAL = { writes: Number.POSITIVE_INFINITY, after: false };

let names = 0;
export const newName = (): string => `s${++names}`;

/** One session, whatever happens to the processes that have it. */
export class World {
  readonly id: string;
  readonly script: Script;
  readonly #storage: DurableObjectStorage;
  #life: Life;
  #mortal = true;
  /** Unix ms, so far in the future that no alarm fires by itself. */
  now = 4_000_000_000_000;
  /** Effects of tools, by run and effect, in the order in which they happened. */
  readonly performed: string[] = [];
  readonly requests: AgentRequest[] = [];
  readonly stopped: string[] = [];
  /** Answers to clients, and alarms. */
  #exchanged = 0;
  /** Whether the first death finds what it would have found right after the write before. */
  readonly diesAsBefore: () => boolean;
  deaths = 0;

  constructor(
    id: string,
    storage: DurableObjectStorage,
    script: Script,
    death: { writes: number; after: boolean },
  ) {
    this.id = id;
    this.script = script;
    this.#storage = storage;
    this.#life = this.#born(storage, death);
    this.diesAsBefore = this.#life.quiet;
  }

  get desk(): SessionDispatcher {
    return this.#life.session.dispatcher;
  }

  get session(): Session {
    return this.#life.session;
  }

  get conversation(): Conversation {
    return this.#life.session.conversation;
  }

  /** Fires the alarm. */
  alarm(): void {
    this.#exchanged += 1;
    this.#life.session.alarm();
  }

  /** The stored state, read without any life of the session. */
  get store(): ConversationStore {
    return new ConversationStore(this.#storage);
  }

  get storage(): DurableObjectStorage {
    return this.#storage;
  }

  #born(real: DurableObjectStorage, death = IMMORTAL): Life {
    const outside = (): number =>
      this.performed.length + this.requests.length + this.stopped.length + this.#exchanged;
    const { storage, kill, quiet } = mortal(real, death.writes, death.after, outside);
    const work: Promise<unknown>[] = [];
    const session = new Session({
      storage,
      deployment: new Deployment(Object.assign({}, bindings, this.script.env)),
      background: (promise) => void work.push(promise),
      runtime: this.script.runtime ?? this.#runtime(),
      die: () => this.revive(),
      now: () => ++this.now,
    });
    const over = async (): Promise<void> => {
      for (let seen = -1; seen !== work.length; ) {
        seen = work.length;
        await Promise.all(work);
      }
    };
    return { session, over, kill, quiet };
  }

  /** The process dies, another one loads the session, and its alarm fires after a while. */
  async revive(death = IMMORTAL, storage = this.#storage): Promise<void> {
    this.#life.kill();
    this.#life = this.#born(storage, death);
    this.now += 20_000;
    try {
      this.alarm();
    } catch {
      // The platform tries again, and finally gives up.
    }
  }

  over(): Promise<void> {
    return this.#life.over();
  }

  /** Sends a request as a client does that repeats it after a failure. */
  async ask<K extends SessionOperation>(
    type: K,
    input: SessionOperations[K]["in"],
  ): Promise<SessionOperations[K]["out"]> {
    for (;;) {
      const answer = await this.tryAsk(type, input);
      if (answer.ok) return answer.value;
      if (answer.error.code !== "internal" || !this.#mortal) throw new HullError(answer.error, {});
      this.#mortal = false;
      this.deaths += 1;
      await this.revive();
    }
  }

  async tryAsk<K extends SessionOperation>(
    type: K,
    input: SessionOperations[K]["in"],
  ): Promise<{ ok: true; value: SessionOperations[K]["out"] } | { ok: false; error: ErrorData }> {
    const caller = { tenant: "t", id: this.id, request_id: "request-1", mock_scope: "" };
    const text = await this.desk.ask(JSON.stringify({ caller, type, input }));
    this.#exchanged += 1;
    const answer: SessionAnswer = JSON.parse(await readText(text));
    if (answer.ok) return JSON.parse(JSON.stringify(answer));
    return answer;
  }

  open(): Promise<unknown> {
    return this.ask("open", { metadata: {}, request_hash: null, imported: null });
  }

  /** Begins a run and waits for its end. */
  async run(run_id: string, prompt: string, spec: Partial<AgentSpec> = {}): Promise<JsonObject> {
    await this.start(run_id, prompt, spec);
    const { result = {}, error } = await this.ask("answer", { run_id, wait: "terminal" });
    return error === undefined ? result : { ...result, error };
  }

  start(run_id: string, prompt: string, spec: Partial<AgentSpec> = {}): Promise<unknown> {
    const whole: AgentSpec = {
      ...SPEC,
      ...this.script.spec,
      ...spec,
      run_id,
      session_id: this.id,
      prompt: [{ role: "user", content: [{ type: "text", text: prompt }] }],
    };
    const request = { name: `start ${run_id}`, hash: "h" };
    return this.ask("start", { run_id, work: { spec: whole }, request, wait: "none" });
  }

  say(text: string, delivery: Delivery = "finish_step") {
    return this.ask("message", said(text, delivery));
  }

  /** Every stored event, in order. */
  events(): (RunEvent & { seq: number })[] {
    const all: (RunEvent & { seq: number })[] = [];
    for (;;) {
      const more = this.store.events(all.at(-1)?.seq ?? 0);
      if (more.length === 0) return all;
      for (const { event, data } of more) checkEvent(event, data);
      all.push(...more);
    }
  }

  records(): AgentRecord[] {
    return [...this.store.records()];
  }

  #runtime(): AgentRuntime {
    const world = this;
    return {
      prepare: async () => Promise.reject(new TypeError("what carries out these runs reads no requests")),
      async begin(spec, environment) {
        const artifacts = new RunArtifacts((id) => environment.artifact(id));
        return {
          vault: null,
          further: () => ({}),
          close: () => {},
          effects: {
            async callModel({ iteration, request }) {
              world.requests.push(request);
              await world.script.asked?.(iteration, world);
              const reply = world.script.replies[iteration] ?? "";
              if (reply instanceof Error) throw reply;
              const text = typeof reply === "string" ? reply : (reply.text ?? "");
              for (const word of text.match(/\S+ ?/g) ?? []) {
                environment.emit({ event: "delta", data: { text: word, round: iteration + 1 } });
                const pace = typeof reply === "string" ? 0 : (reply.pace ?? 0);
                await new Promise((resolve) => setTimeout(resolve, pace));
              }
              return { turn: turnOf(reply, `${spec.run_id}_${iteration}`), cost_usd: 0, warnings: [] };
            },
            async runTool({ call, tool, again }, { run, effect, signal }) {
              const key = `${run} ${effect} ${call.name}`;
              // A tool with a journal is recognised by its effect. One without a journal runs a second time only if that
              // is permitted.
              const journalled = tool.handler === "journal";
              if (!journalled && again && tool.annotations.idempotent !== true) {
                return result("interrupted", "error", "cancelled");
              }
              const fresh = !journalled || !world.performed.includes(key);
              if (fresh) world.performed.push(key);
              if (fresh) await world.script.during?.(call.name, world);
              signal.throwIfAborted();
              const made = artifacts.call(effect);
              for (const value of world.script.makes?.[call.name] ?? []) await made.keep(value);
              return made.settle(result(`did ${call.name}`));
            },
            attemptOf: () => 0,
            callHook: async () => null,
            pause: async () => {},
            summarize: async (_, messages) => ({
              text: `${messages.length} summarised`,
              spent: { ...NO_USAGE, cost_usd: 0 },
              fault: null,
              warnings: [],
            }),
            bindServers: async ({ servers }) => ({ servers, tools: [], failed: [] }),
            searchTools: async ({ state }) => ({ state, result: "{}", events: [] }),
          },
        };
      },
      async stop(_, executions) {
        world.stopped.push(...executions);
      },
    };
  }
}

function result(
  content: string,
  status: "ok" | "error" = "ok",
  category: AgentToolResult["error_category"] = null,
): AgentToolResult {
  return { status, content, value: null, error_category: category, exit_code: null, duration_ms: 1 };
}

function turnOf(reply: Exclude<Reply, HullError>, ids: string): ModelTurn {
  const { text = "", calls } = typeof reply === "string" ? { text: reply, calls: [] } : reply;
  const blocks: Block[] = [
    ...(text === "" ? [] : [{ type: "output_text" as const, text }]),
    ...calls.map(([name, args], n): Block => {
      return { type: "tool_call", id: `call_${ids}_${n}`, name, arguments: args, raw: JSON.stringify(args) };
    }),
  ];
  return {
    blocks,
    stop_reason: calls.length > 0 ? "tool_use" : "end_turn",
    raw_stop_reason: null,
    usage: { input_tokens: 1, output_tokens: 1, cache_read_tokens: 0, cache_write_tokens: 0 },
    provider: "mock",
    model: "mock",
  };
}

/**
 * Lets a process die at each of its writes, until one lives on; returns the number of deaths. Two deaths find the same:
 * right after a write, and before the next one if nothing happened outside in between. Only one of them is played.
 */
export function eachWrite(
  life: (death: { writes: number; after: boolean }) => Promise<World>,
): (after: boolean) => Promise<number> {
  /** The numbers of writes after which nothing happens outside before the next one. */
  const same = new Set<number>();
  return async (after) => {
    for (let writes = 1; writes < 200; writes += 1) {
      if (after && same.has(writes)) continue;
      const world = await life({ writes, after });
      if (!after && world.diesAsBefore()) same.add(writes);
      if (world.deaths === 0) return writes - 1;
    }
    throw new RangeError("no process lived on");
  };
}

/** A world with the storage of a new object. @param writes after which its first process dies */
export async function inWorld<T>(
  script: Script,
  test: (world: World) => Promise<T>,
  death = IMMORTAL,
  wrap = (storage: DurableObjectStorage): DurableObjectStorage => storage,
): Promise<T> {
  const { SESSIONS } = bindings;
  const id = script.id ?? newName();
  return runInDurableObject(SESSIONS.get(SESSIONS.idFromName(`t/${id}`)), async (object, state) => {
    const world = new World(id, wrap(state.storage), script, death);
    // Questions from other sessions go to the life that the session has at that time.
    const ask = { value: (question: LongText) => world.desk.ask(question) };
    Object.setPrototypeOf(object, Object.create(Object.getPrototypeOf(object), { ask }));
    const value = await test(world);
    await world.over();
    return value;
  });
}
