/**
 * MCP servers that are processes of the runner (docs/mcp.md). To the client such a server looks like a remote one that
 * requires sessions: each session is an execution whose stdin stays open. It ends with its run, and if the connection to
 * the runner is lost.
 */
import { atMost } from "../../at-most.ts";
import { utf8 } from "../../bytes.ts";
import { firstOf, lastOf } from "../../cut.ts";
import { RunnerBusy } from "../../errors/run.ts";
import { HullError } from "../../errors.ts";
import { isObject } from "../../skill/json.ts";
import { parsedJson } from "../../skill/json-depth.ts";
import type { McpProcess, SkillRecord } from "../../skill/manifest.ts";
import { serverArgv } from "../../skill/mcp-servers.ts";
import { EMPTY_PACK, withEmptyPack } from "../../tool/empty-pack.ts";
import { executionSpec } from "../../tool/execution.ts";
import type { McpFailure } from "../../tool/mcp/failure.ts";
import type { Wire } from "../../tool/mcp/transport.ts";
import { cutShort } from "../../tool/process-end.ts";
import {
  type EndedStatus,
  type ExecutionSpec,
  MAX_UNANSWERED_BYTES,
  signTicket,
} from "../../tool/protocol.ts";
import { type Runner, runExecution } from "../../tool/runner-client.ts";
import type { RunContext } from "../context.ts";
import { runnerEndpoint, runOptions } from "../runner.ts";
import { Tail } from "../spool.ts";
import { processSettings } from "../variables.ts";

/** The longest rest of a server between two messages, in ms. */
const REST_MS = 900_000;
/** The wait for the end of a process that no longer answers, in ms. */
const ENDING_MS = 1000;
/** The characters of stderr, and of the command, that a failure shows. */
const SHOWN_CHARACTERS = 600;
const SHOWN_COMMAND = 200;

const SESSION = "mcp-session-id";

/** One process. */
interface Started {
  id: string;
  runner: Runner;
  stderr: Tail;
  /** How it ended, as a sentence; `null` while it runs. */
  end: string | null;
  /** Resolves when it has ended. */
  ended: Promise<void>;
  /** Ends it. */
  stop: () => void;
}

export class ServerProcess {
  readonly wire: Wire;
  readonly #context: RunContext;
  readonly #record: SkillRecord;
  readonly #server: McpProcess;
  readonly #env: { [name: string]: string };
  readonly #onRestart: (message: string) => void;
  /** The newest process. */
  #current: Started | null = null;
  /** Its start, for all calls that wait for it. */
  #starting: Promise<Started> | null = null;
  /** Why the last start failed; `null`: it did not. */
  #unstarted: string | null = null;
  #closed = false;

  /**
   * @param env with the values of its variables
   * @param onRestart called when a process ended before its run did, and the run starts another one
   */
  constructor(
    context: RunContext,
    record: SkillRecord,
    server: McpProcess,
    env: { [name: string]: string },
    onRestart: (message: string) => void,
  ) {
    this.#context = context;
    this.#record = record;
    this.#server = server;
    this.#env = env;
    this.#onRestart = onRestart;
    this.wire = {
      url: new URL("http://runner/"),
      headers: new Headers(),
      allowed: null,
      discover_ms: server.timeout_ms,
      fetch: (_, init) => this.#fetch(init),
    };
  }

  /** Ends the process. */
  close(): void {
    this.#closed = true;
    this.#current?.stop();
  }

  /** The failure's message, with how the process ended or what it wrote to stderr. It may hold secrets. */
  async explain({ kind, message }: McpFailure): Promise<string> {
    if (this.#unstarted !== null) return this.#unstarted;
    const current = this.#current;
    if (current === null) return message;
    if (kind !== "timeout") await atMost(current.ended, ENDING_MS, () => {});
    const runs = kind === "timeout" ? `${message} ${this.#command} still runs.` : message;
    return `${current.end ?? runs}${this.#said(current)}`;
  }

  /** Sends a message to the process; starts one for the first message of a session. */
  async #fetch({ body, headers, signal }: RequestInit): Promise<Response> {
    const session = new Headers(headers).get(SESSION);
    const message = session === null && typeof body === "string" ? parsedJson(body) : null;
    const opens = isObject(message) && message.method === "initialize";
    if (opens) {
      this.#current?.stop();
      this.#starting = null;
    }
    let current = opens ? null : this.#current;
    // A modern server has no sessions.
    if (session === null && current?.end !== null) current = null;
    if (current === null && session === null && !this.#closed) {
      current = await this.#startedOnce();
    }
    if (current === null || current.end !== null || (session !== null && session !== current.id))
      return new Response(null, { status: 404 });
    const ticket = await signTicket(current.runner.key, `execution:${current.id}`, "", Date.now());
    const answer = await current.runner.fetch(`/v1/executions/${current.id}/messages`, {
      method: "POST",
      headers: { authorization: `Bearer ${ticket}`, "content-type": "application/json" },
      body: utf8(String(body)),
      ...(signal ? { signal } : {}),
    });
    if (!opens || !answer.ok) return answer;
    const opened = new Response(answer.body, answer);
    opened.headers.set(SESSION, current.id);
    return opened;
  }

  /** A new process, the same one for all calls that wait for it. @throws HullError if the runner is not there */
  async #startedOnce(): Promise<Started> {
    const starting = this.#starting ?? this.#start();
    this.#starting = starting;
    try {
      const started = await starting;
      this.#unstarted = null;
      return started;
    } catch (error) {
      if (error instanceof HullError) this.#unstarted = error.message;
      throw error;
    } finally {
      if (this.#starting === starting) this.#starting = null;
    }
  }

  async #start(): Promise<Started> {
    const context = this.#context;
    const before = this.#current;
    if (before !== null && before.end !== null)
      this.#onRestart(context.redacted(`${before.end} Hull starts it anew, without what it held in memory.`));
    const id = `mcp-${crypto.randomUUID()}`;
    const spec = await this.#spec(id);
    const runner = await runnerEndpoint(context, id);
    const leaving = new AbortController();
    const admitted = Promise.withResolvers<void>();
    const options = runOptions(context, leaving.signal, null);
    const started: Started = {
      id,
      runner,
      stderr: new Tail(),
      end: null,
      ended: Promise.resolve(),
      stop: () => leaving.abort(),
    };
    const follow = async (): Promise<void> => {
      const pack = withEmptyPack(options.pack);
      try {
        for await (const event of runExecution(runner, spec, {}, { ...options, pack })) {
          if (event.kind === "started") admitted.resolve();
          else if (event.kind === "stderr") started.stderr.push(event.bytes);
          else if (event.kind === "ended") started.end = this.#endOf(event.status, spec);
        }
      } catch (error) {
        if (!(error instanceof HullError)) throw error;
        started.end = error instanceof RunnerBusy ? NO_PLACE : error.message;
      } finally {
        started.end ??= "Its process was lost.";
        admitted.resolve();
      }
    };
    started.ended = follow();
    context.background(started.ended);
    this.#current = started;
    await admitted.promise;
    // It was closed, or another session began, while it started.
    if (this.#closed || this.#current !== started) started.stop();
    return started;
  }

  async #spec(id: string): Promise<ExecutionSpec> {
    const spec = executionSpec({
      id,
      // Its own: the end of a server must not end anything else.
      runId: id,
      record: this.#record,
      digest: this.#record.pack ?? EMPTY_PACK,
      argv: serverArgv(this.#server),
      env: this.#env,
      timeoutMs: REST_MS,
      maxOutputBytes: MAX_UNANSWERED_BYTES,
      input: { mode: "none" },
      output: "text",
      detach: false,
      settings: await processSettings(this.#context),
    });
    return { ...spec, server: true };
  }

  #endOf(status: EndedStatus, spec: ExecutionSpec): string {
    const cut = cutShort(status, spec);
    const command = this.#command;
    if (status.cause === "command_not_found")
      return `${command} was ${cut?.remark} Install the program where the runner is, or name another one.`;
    if (status.cause === "timed_out") return `${command} ended after ${REST_MS} ms without a message.`;
    return `${command} ${cut === null ? `ended with the exit code ${status.exit_code}.` : `was ${cut.remark}`}`;
  }

  get #command(): string {
    return `The process \`${firstOf(serverArgv(this.#server).join(" "), SHOWN_COMMAND)}\``;
  }

  /** What the process wrote to stderr last, as a further sentence. */
  #said({ stderr }: Started): string {
    // Redacted before it is cut: the redactor does not recognise half of a secret.
    const text = lastOf(this.#context.redacted(stderr.text().trim()), SHOWN_CHARACTERS);
    return text === "" ? "" : ` Its stderr ends with "${text}".`;
  }
}

const NO_PLACE =
  "The runner already has as many MCP servers as it may (--mcp-servers); each run holds its own until it ends.";
