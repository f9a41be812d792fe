/**
 * The MCP servers of a run (docs/mcp.md): their tools, which an isolate remembers for a while, and calls of them.
 * Faults of a server go to the log; those of a call also go to the model. They never end a run.
 */
import { firstOf } from "../../cut.ts";
import type { Settings } from "../../env.ts";
import { HullError, Internal } from "../../errors.ts";
import { logLine } from "../../log.ts";
import { defined } from "../../skill/json.ts";
import type { JsonObject, McpProcess, McpServer } from "../../skill/manifest.ts";
import { serverArgv } from "../../skill/mcp-servers.ts";
import { allowedVariables } from "../../tool/execution.ts";
import type { AllowedHosts } from "../../tool/mcp/address.ts";
import { type ListedTool, McpClient } from "../../tool/mcp/client.ts";
import type { FailureKind, McpFailure, Reply } from "../../tool/mcp/failure.ts";
import { type RemoteTool, remoteTools, resultText } from "../../tool/mcp/remote-tool.ts";
import type { Wire } from "../../tool/mcp/transport.ts";
import type { RunContext } from "../context.ts";
import { SentVariables } from "../sent-variables.ts";
import { ServerAccess } from "./login.ts";
import type { ServerOwner } from "./owner.ts";
import { ServerProcess } from "./process.ts";

/** How long a list of tools is fresh, and how long it may be used if the server fails, in ms. */
const FRESH_MS = 60_000;
const STALE_MS = 600_000;
/** A run waits for the lists of its servers' tools at most this long, in ms. A process may first have to fetch itself. */
const LIST_TIMEOUT_MS = 15_000;
const START_TIMEOUT_MS = 60_000;
const listTimeout = (server: McpServer | McpProcess): number =>
  Math.min(server.timeout_ms, "command" in server ? START_TIMEOUT_MS : LIST_TIMEOUT_MS);
/** The most malformed tools that a line of the log names, and the most characters of a name. */
const MAX_NAMED = 20;
const MAX_TOOL_NAME = 64;
/** The most characters of a failure's message, which a server may have written. */
const MAX_MESSAGE = 1000;

export interface FoundTool extends RemoteTool {
  /** The name by which the skill knows the tool's server. */
  server: string;
}

/** A tool as a model calls it: its server, the server's own name for it, the schema of its arguments. */
type CalledTool = Pick<FoundTool, "server" | "remote" | "parameters"> & {
  /** The arguments as the model sent them. */
  raw: string;
};

/** A server that provided no tools, and why; safe for callers. */
export interface FailedServer {
  server: string;
  message: string;
}

/** The hosts that the deployment permits. */
export const allowedHosts = ({ mcp, local }: Settings): AllowedHosts => ({
  hosts: mcp.allowed_hosts,
  loopback: local && mcp.allow_loopback,
});

interface McpOutcome {
  ok: boolean;
  text: string;
  /** `null`: the server answered. */
  fault: FailureKind | null;
  /** Whether the call may have taken effect. */
  begun: boolean;
  duration_ms: number;
}

interface Client {
  client: McpClient;
  /** Under which an isolate remembers its tools. */
  key: string;
  /** `null`: it is a remote server. */
  process: ServerProcess | null;
  /** `null`: Hull does not log in there. */
  access: ServerAccess | null;
}

/**
 * The reply of a server, once Hull is logged in there. A failure also says what is known of the server's process, or of
 * the login.
 */
async function asked<T>(
  { process, access }: Client,
  limit: AbortSignal,
  ask: (limit: AbortSignal) => Promise<Reply<T>>,
): Promise<Reply<T>> {
  const failure = (await access?.ready(limit)) ?? null;
  if (failure !== null) return { ok: false, failure };
  const reply = await ask(limit);
  if (reply.ok) return reply;
  if (access !== null) return { ok: false, failure: access.explain(reply.failure) };
  if (process === null || reply.failure.kind === "error") return reply;
  return { ok: false, failure: { ...reply.failure, message: await process.explain(reply.failure) } };
}

/** The servers of one run. The run has its own sessions with them. */
export class RunServers {
  readonly #context: RunContext;
  readonly #clients = new Map<string, Client>();

  constructor(context: RunContext) {
    this.#context = context;
  }

  /** The tools of an owner's servers. A failing server provides none. */
  async toolsOf(owner: ServerOwner): Promise<{ tools: FoundTool[]; failed: FailedServer[] }> {
    const lists = await Promise.all(
      owner.servers.map(async (server) => ({ server, listed: await this.#listed(owner, server) })),
    );
    const tools: FoundTool[] = [];
    const failed: FailedServer[] = [];
    for (const { server, listed } of lists) {
      if (listed.ok) {
        tools.push(...remoteTools(server, listed.value).map((tool) => ({ ...tool, server: server.name })));
      } else {
        this.#note(owner, server, listed.failure);
        failed.push({ server: server.name, message: listed.failure.message });
      }
    }
    return { tools, failed };
  }

  /** Calls a tool. */
  async call(
    owner: ServerOwner,
    tool: CalledTool,
    args: JsonObject,
    signal: AbortSignal,
  ): Promise<McpOutcome> {
    const started = Date.now();
    const { server: name } = tool;
    const server = owner.servers.find((known) => known.name === name);
    const reply = this.#safe(await this.#called(owner, server, tool, args, signal));
    signal.throwIfAborted();
    const duration_ms = Date.now() - started;
    const content = reply.ok ? resultText(reply.value) : null;
    if (content !== null) {
      const text = this.#context.redacted(content.text);
      return { ok: content.ok, text, fault: null, begun: true, duration_ms };
    }
    const failure: McpFailure = reply.ok
      ? { kind: "protocol", message: "Its result is not an MCP result.", begun: "perhaps" }
      : reply.failure;
    if (server !== undefined) this.#note(owner, server, failure);
    const { kind, message, begun } = failure;
    const text =
      begun === undefined
        ? `The MCP server ${name} did not execute the call. ${message}`
        : `The MCP server ${name} gave no usable answer to the call. ${message} The call may or may not have taken effect.`;
    return { ok: false, text, fault: kind, begun: begun !== undefined, duration_ms };
  }

  /** Logs that a skill names a server that does not exist. */
  noteUnknown(skill: string, name: string): string {
    const message = `There is no MCP server ${name}: neither under [mcp.servers] in hull.toml nor in mcp_servers of the run.`;
    this.#note({ skill }, { name }, { kind: "refused", message });
    return message;
  }

  /** Ends the sessions. */
  close(): void {
    for (const { client, process } of this.#clients.values()) (process ?? client).close();
    this.#clients.clear();
  }

  async #called(
    owner: ServerOwner,
    server: McpServer | McpProcess | undefined,
    { remote, parameters, raw }: CalledTool,
    args: JsonObject,
    signal: AbortSignal,
  ): Promise<Reply<JsonObject>> {
    if (server === undefined) {
      return { ok: false, failure: { kind: "refused", message: "The run no longer has it." } };
    }
    const opened = this.#client(owner, server);
    if (!opened.ok) return opened;
    const { client, key } = opened.value;
    const time = AbortSignal.any([signal, AbortSignal.timeout(server.timeout_ms)]);
    const reply = await asked(opened.value, time, (limit) =>
      client.callTool(remote, { args, raw }, parameters, limit),
    );
    // The tool may be gone, or may take other arguments: the next run asks for the list again.
    if (!reply.ok && reply.failure.kind === "error") this.#context.deployment.mcpServers.delete(key);
    return reply;
  }

  async #listed(owner: ServerOwner, server: McpServer | McpProcess): Promise<Reply<readonly ListedTool[]>> {
    const opened = this.#client(owner, server);
    if (!opened.ok) return opened;
    const { client, key } = opened.value;
    const known = this.#context.deployment.mcpServers.get(key);
    const age = Date.now() - (known?.at ?? 0);
    if (known !== undefined && age < FRESH_MS) return { ok: true, value: known.tools };
    const time = AbortSignal.timeout(listTimeout(server));
    const reply = this.#safe(await asked(opened.value, time, (limit) => client.listTools(limit)));
    if (reply.ok) {
      const { malformed, ...found } = reply.value;
      const tools = this.#context.redacted(found.tools);
      this.#context.deployment.mcpServers.set(key, { ...found, tools, at: Date.now() });
      if (malformed.length > 0) {
        // Cut only when redacted, as in `#safe`.
        const named = this.#context.redacted(malformed.slice(0, MAX_NAMED));
        const names = named.map((name) => name.slice(0, MAX_TOOL_NAME));
        const message = `${malformed.length} of its tools are malformed, so Hull leaves them out: ${names.join(", ")}.`;
        this.#note(owner, server, { kind: "protocol", message });
      }
      return { ok: true, value: tools };
    }
    if (known === undefined || age > STALE_MS) return reply;
    this.#note(owner, server, reply.failure);
    return { ok: true, value: known.tools };
  }

  /**
   * A reply whose failure no longer holds a secret: a server may repeat what it was sent, even a key of the deployment.
   * Neither the model nor a caller may read it.
   */
  #safe<T>(reply: Reply<T>): Reply<T> {
    if (reply.ok) return reply;
    // Cut only now, since the redactor does not recognise half of a secret.
    const message = firstOf(this.#context.redacted(reply.failure.message), MAX_MESSAGE);
    return { ok: false, failure: { ...reply.failure, message } };
  }

  #client(owner: ServerOwner, server: McpServer | McpProcess): Reply<Client> {
    const { settings, background } = this.#context;
    const name = `${owner.skill ?? ""} ${server.name}`;
    const open = this.#clients.get(name);
    if (open !== undefined) return { ok: true, value: open };
    const filled = this.#filled(owner, "command" in server ? server.env : server.headers);
    if (!filled.ok) return filled;
    let key: string;
    let process: ServerProcess | null = null;
    let access: ServerAccess | null = null;
    let wire: Wire;
    if ("command" in server) {
      if (owner.record === null) throw new Internal({ cause: `the process ${server.name} has no skill` });
      key = JSON.stringify([owner.record.pack, serverArgv(server), filled.value]);
      process = new ServerProcess(this.#context, owner.record, server, filled.value, (message) =>
        this.#note(owner, server, { kind: "unavailable", message }),
      );
      wire = process.wire;
    } else {
      const headers = new Headers(filled.value);
      headers.set("user-agent", "hull");
      const url = new URL(server.url);
      const login = owner.logins?.get(server.name);
      access = login === undefined ? null : new ServerAccess(this.#context, server.name, url, login);
      // Nobody else may see what the server lists for this login.
      key = `${server.url} ${JSON.stringify([...headers])} ${access?.key ?? ""}`;
      wire = {
        url,
        headers,
        allowed: allowedHosts(settings),
        // The rest of the time is for an older server's opening and its list.
        discover_ms: Math.ceil(listTimeout(server) / 3),
        fetch: (to, init) => access?.fetch(to, init) ?? fetch(to, init),
      };
    }
    const dialect = this.#context.deployment.mcpServers.get(key)?.dialect ?? null;
    const client = new McpClient(wire, dialect, background, () =>
      this.#context.deployment.mcpServers.delete(key),
    );
    const made = { client, key, process, access };
    this.#clients.set(name, made);
    return { ok: true, value: made };
  }

  /** The texts with the values of their variables. */
  #filled(
    { granted }: ServerOwner,
    templates: { [name: string]: string },
  ): Reply<{ [name: string]: string }> {
    const { settings } = this.#context;
    // No tool gets a provider's key, even if a skill names it.
    const read = (name: string) => allowedVariables([name], settings, null)[name];
    const variables = new SentVariables(read, granted);
    const filled: { [name: string]: string } = {};
    try {
      for (const [name, template] of Object.entries(templates)) {
        filled[name] = variables.fill(template);
      }
    } catch (error) {
      if (!(error instanceof HullError)) throw error;
      const message =
        "One of its headers or variables needs a variable of the Worker that is not set or that it may not have; the log names it.";
      return { ok: false, failure: { kind: "refused", message, hint: error.message } };
    }
    // A run keeps its version of a skill even after nothing serves it any more. Then no catalog names its variables.
    settings.eventRedactor.learn(variables.used);
    return { ok: true, value: filled };
  }

  /** Writes a line to the log, since the run continues without the server. */
  #note(
    { skill }: Pick<ServerOwner, "skill">,
    { name }: Pick<McpServer, "name">,
    { kind, message, status, code, hint }: McpFailure,
  ): void {
    const failure = { kind, message, ...defined({ status, code, hint }) };
    const line = { event: "mcp_failure", skill, server: name, ...failure };
    logLine(this.#context, line);
  }
}
