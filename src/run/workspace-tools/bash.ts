/** `Bash`: a command as an execution in the runner, in the run's work folder. */

import { utf8 } from "../../bytes.ts";
import { lastOf } from "../../cut.ts";
import { plainResult } from "../../engine/agent/call-results.ts";
import type { AgentToolResult } from "../../engine/agent/records.ts";
import type { AgentSkill } from "../../engine/agent/spec.ts";
import { categoryOf } from "../../engine/tool-fault.ts";
import { CODE_FOLDERS, type CodeTerms, inOrder } from "../../engine/workspace-tools/code-tools.ts";
import { commandText } from "../../engine/workspace-tools/command-result.ts";
import { DEFAULT_BASH_MS, MAX_BASH_MS, MAX_OUTPUT_CHARS } from "../../engine/workspace-tools/definitions.ts";
import { shownOutput } from "../../engine/workspace-tools/lines.ts";
import { ConcurrencyLimited } from "../../errors/request.ts";
import { ExecutionLost, RunnerBusy } from "../../errors/run.ts";
import type { Redactor, StreamRedactor } from "../../redact.ts";
import { defined } from "../../skill/json.ts";
import type { JsonObject } from "../../skill/manifest.ts";
import { reaches } from "../../skill/workspace-settings.ts";
import { EMPTY_PACK, withEmptyPack } from "../../tool/empty-pack.ts";
import { allowedVariables, withheldKeys } from "../../tool/execution.ts";
import { LOST, toolCutShort } from "../../tool/process-end.ts";
import { type EndedStatus, type ExecutionSpec, PROTOCOL_VERSION } from "../../tool/protocol.ts";
import type { KnownExecutions } from "../../tool/runner-client.ts";
import { runWithWorkspace } from "../../tool/with-workspace.ts";
import type { RunContext } from "../context.ts";
import type { RunEvent } from "../events.ts";
import { ToolOutput } from "../handler/output.ts";
import { runnerEndpoint, runOptions } from "../runner.ts";
import { processSettings } from "../variables.ts";
import type { WorkspaceAccess } from "../workspace/access.ts";
import { ArrivingContent, keyFor } from "../workspace/store.ts";
import { toolWorkspace } from "../workspace/transfer.ts";
import type { SkillFolders } from "./skill-folders.ts";
import { type Variables, withVariables } from "./variables.ts";
import { skillPath, skillsFolder } from "./where.ts";

/** Bytes that a command may write. */
const MAX_OUTPUT_BYTES = 32 * 1024 * 1024;
/** The name under which commands count as executions, in place of a skill's slug. */
const NAME = "workspace-tools";

export interface Command extends CodeTerms {
  args: JsonObject;
  call_id: string;
  /** Unique to run and call. The same call in a later run attempt has the same id. */
  execution: string;
  /** Names the commands that the runner stops together. */
  run: string;
  /** An earlier run attempt began it. */
  again: boolean;
  /** The folder where it begins: relative to the work folder, or absolute. */
  cwd: string;
  /** Variables to set for it. Absent: none. */
  variables?: Variables;
  /** The session that its run is part of. */
  session_id?: string;
  /** The skill whose folder HULL_SKILL_DIR names; `null`: none. */
  skill: Pick<AgentSkill, "name" | "plugin_path" | "plugin_linked"> | null;
  signal: AbortSignal;
  /** It is code execution: Python finds the packages that the run's skills need, and the skills are at /skills too. */
  code?: true;
  /** Its stderr follows its stdout in the text, and is in the result's `value`. Absent: both come as they were written. */
  own_stderr?: true;
}

export interface BashEnvironment {
  context: RunContext;
  /** The files of the session, or of the run. */
  workspace: WorkspaceAccess;
  /** Remembered detached executions; `null`: the run does not outlive its process. */
  known: KnownExecutions | null;
  skills: Pick<SkillFolders, "toRun">;
  /** Names the folder of the run's skills in the runner. */
  skillsKey: string;
  emit: (event: RunEvent) => void;
}

const UNKNOWN = `The command was ${LOST} Look at what is there before you go on.`;

/** Runs a command to its end. Every fault of the command is a result. @throws HullError for faults of the runner */
export async function runBash(command: Command, environment: BashEnvironment): Promise<AgentToolResult> {
  const { context, known, emit } = environment;
  const { env } = context;
  if (command.again && known === null) return unknown(0);
  const settings = await processSettings(context);
  const workspace = await toolWorkspace(env.FILES, environment.workspace);
  const list = await environment.skills.toRun();
  const text = withVariables(String(command.args.command), command.variables);
  const spec = specOf(command, environment, workspace, list);
  const outputOf = (name: string) =>
    new BashOutput(env.FILES, environment.workspace, name, settings.redactor);
  const output = outputOf(command.execution);
  const errors = outputOf(`${command.execution}.stderr`);
  const abandon = () => Promise.all([output.abandon(), errors.abandon()]);
  const live = new ToolOutput(command.call_id, settings.eventRedactor, emit);
  const options = runOptions(context, command.signal, known);
  try {
    const { status, notKept } = await runWithWorkspace(
      {
        runner: await runnerEndpoint(context, workspace.id),
        spec,
        input: { stdin: utf8(text) },
        options: { ...options, pack: withEmptyPack(options.pack) },
        workspace,
      },
      async (event) => {
        if (event.kind === "stdout") live.push("stdout", await output.push(event.bytes));
        else if (event.kind === "stderr") live.push("stderr", await errors.push(event.bytes));
      },
    );
    if (status.cause === "lost") {
      await abandon();
      return unknown(status.duration_ms);
    }
    const stdout = await output.end();
    const stderr = (await errors.end()).replace(/\n$/, "");
    const cut = toolCutShort(status, spec);
    const remark = cut === null ? null : cut.remark + adviceOn(status.cause, command);
    const exit_code = status.cause === "exit" ? status.exit_code : null;
    const offline = settings.workspace_tools.network === false;
    const { path: folder } = skillsFolder(context, { skills_key: environment.skillsKey });
    const entered = [command.cwd, status.cwd ?? ""].some((path) => path.startsWith(folder));
    const content = commandText(text, inOrder(stdout, stderr), {
      exit_code,
      remark,
      notKept,
      offline,
      skills: { folder, entered },
      memory_bytes: command.memory_bytes ?? null,
    });
    const ok = exit_code === 0;
    const lost = notKept.some(({ path, why }) => path.startsWith(OUTPUT) && TOO_LARGE.includes(why));
    const category = categoryOf(cut?.code ?? "exit_nonzero");
    const value = { stderr, ...(lost ? { error_code: "output_file_too_large" } : {}) };
    return {
      ...plainResult(ok ? "ok" : "error", content, ok ? null : category),
      exit_code: status.exit_code,
      duration_ms: status.duration_ms,
      retryable: false,
      ...(lost || stderr !== "" ? { value } : {}),
      ...(status.cwd === undefined ? {} : { cwd: status.cwd }),
    };
  } catch (error) {
    await abandon();
    if (error instanceof ExecutionLost) return unknown(0);
    if (error instanceof RunnerBusy || error instanceof ConcurrencyLimited) return tooMany(error);
    throw error;
  } finally {
    await live.end();
  }
}

function specOf(
  { args, execution, run, cwd, session_id, skill, code, own_stderr, memory_bytes, network: own }: Command,
  { context, known, skillsKey }: BashEnvironment,
  workspace: { id: string; version: number },
  list: { name: string; digest: string }[],
): ExecutionSpec {
  const { settings } = context;
  const { network, env } = settings.workspace_tools;
  const wanted = Number(args.timeout_ms ?? DEFAULT_BASH_MS);
  const active = list.some(({ name }) => name === skill?.name) ? skill : null;
  const skill_path = active?.plugin_linked === undefined ? undefined : skillPath(active);
  return {
    version: PROTOCOL_VERSION,
    id: execution,
    request_id: run,
    skill: NAME,
    digest: EMPTY_PACK,
    argv: ["bash"],
    env: { ...allowedVariables(env, settings, null), ...defined({ CLAUDE_SESSION_ID: session_id }) },
    ...withheldKeys(env, settings.providerKeys),
    timeout_ms: Math.min(Math.max(1, wanted), MAX_BASH_MS),
    grace_ms: settings.grace_ms,
    limits: { max_output_bytes: MAX_OUTPUT_BYTES, ...(memory_bytes === undefined ? {} : { memory_bytes }) },
    input: { mode: "stdin" },
    output: "text",
    detach: known !== null,
    workspace: { id: workspace.id, version: workspace.version, cwd: true },
    handler: {
      language: "bash",
      config: "{}",
      context: "{}",
      network: networkOf(network, own),
      ...(cwd === "" ? {} : { cwd }),
      ...defined({ skill: active?.name, skill_path, packages: code, skills_path: code, own_stderr }),
    },
    ...(list.length === 0 ? {} : { skills: { key: skillsKey, list } }),
  };
}

/** What a command may reach; `null`: nothing. @param own hosts that the container's creator chose, within the deployment's */
function networkOf(
  deployment: boolean | readonly string[],
  own: readonly string[] | undefined,
): { hosts: string[] | null } | null {
  if (own === undefined && deployment === true) return { hosts: null };
  // The deployment may allow fewer hosts than it did when the container was made.
  const listed = typeof deployment === "boolean" ? [] : deployment;
  const hosts = (own ?? listed).filter((host) => reaches(deployment, host));
  return hosts.length === 0 ? null : { hosts };
}

/** What the model can do next, by the cause of the command's end. The limit of code execution is the deployment's. */
function adviceOn(cause: EndedStatus["cause"], { code }: Pick<Command, "code">): string {
  if (cause === "output_too_large") return " Write large results to files.";
  if (cause !== "timed_out") return "";
  const more = code === undefined ? ` timeout_ms may be up to ${MAX_BASH_MS}.` : "";
  return ` Hull keeps what it has changed so far.${more}`;
}

/** Where files for the user lie, and the reasons why a file was too much. */
const OUTPUT = `${CODE_FOLDERS.output}/`;
const TOO_LARGE = ["too_large", "too_many", "full"];

const tooMany = ({ message }: Error): AgentToolResult => ({
  ...plainResult("error", `The command was not run: ${message}`, "network"),
  value: { error_code: "too_many_requests" },
});

const unknown = (duration_ms: number): AgentToolResult => ({
  ...plainResult("error", UNKNOWN, "cancelled"),
  retryable: false,
  duration_ms,
});

/** Where long outputs go in the work folder. */
const OUTPUT_FOLDER = ".hull/output";

/** The beginning and the end of a text. */
class Ends {
  head = "";
  tail = "";
  length = 0;

  push(text: string): void {
    const room = MAX_OUTPUT_CHARS - this.head.length;
    this.length += text.length;
    this.head += text.slice(0, Math.max(0, room));
    const rest = text.slice(Math.max(0, room));
    if (rest === "") return;
    this.tail += rest;
    if (this.tail.length > 2 * MAX_OUTPUT_CHARS) this.tail = lastOf(this.tail, MAX_OUTPUT_CHARS);
  }

  shown(file: string | null): string {
    return shownOutput(this, file);
  }
}

/**
 * A command's output without secrets: the model gets its beginning and end, and a long output goes completely into a
 * file.
 */
class BashOutput {
  readonly #bucket: R2Bucket;
  readonly #workspace: WorkspaceAccess;
  readonly #path: string;
  readonly #clean: StreamRedactor;
  readonly #decoder = new TextDecoder();
  readonly #ends = new Ends();
  /** The output so far, while all of it can be shown. */
  #held: Uint8Array[] = [];
  #file: ArrivingContent | null = null;

  /** @param name of the call, for its file */
  constructor(bucket: R2Bucket, workspace: WorkspaceAccess, name: string, redactor: Redactor) {
    this.#bucket = bucket;
    this.#workspace = workspace;
    this.#path = `${OUTPUT_FOLDER}/${name}.txt`;
    this.#clean = redactor.stream();
  }

  /** Takes bytes as they arrive; returns the text that is free of secrets by now. */
  async push(bytes: Uint8Array): Promise<string> {
    return this.#take(this.#clean.push(bytes), true);
  }

  /** The text for the model, after the last byte. From then on the file of a long output exists. */
  async end(): Promise<string> {
    await this.#take(this.#clean.end(), false);
    const file = this.#file;
    if (file === null) return this.#ends.shown(null);
    const kept = { path: this.#path, executable: false, expected: null };
    const write = { kind: "write" as const, key: file.key, ...(await file.end()), ...kept };
    const [outcome] = await this.#workspace.changeFiles([write]);
    const stays = outcome !== undefined && !("refused" in outcome);
    return this.#ends.shown(stays ? this.#path : null);
  }

  /** Drops what arrived. */
  async abandon(): Promise<void> {
    await this.#file?.abandon();
  }

  async #take(bytes: Uint8Array, stream: boolean): Promise<string> {
    const text = this.#decoder.decode(bytes, { stream });
    this.#ends.push(text);
    if (this.#file === null && this.#ends.length <= MAX_OUTPUT_CHARS) this.#held.push(bytes.slice());
    else await this.#write(bytes);
    return text;
  }

  async #write(bytes: Uint8Array): Promise<void> {
    const workspace = this.#workspace;
    this.#file ??= new ArrivingContent(this.#bucket, workspace, await keyFor(workspace));
    for (const piece of [...this.#held.splice(0), bytes.slice()]) await this.#file.write(piece);
  }
}
