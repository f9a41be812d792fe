/** Executes a call of a workspace tool. */
import { plainResult } from "../../engine/agent/call-results.ts";
import type { AgentToolResult } from "../../engine/agent/records.ts";
import { skillsWithFoldersOf } from "../../engine/agent/skill-text.ts";
import type { AgentSkill, AgentSpec } from "../../engine/agent/spec.ts";
import type { AgentEffectContext, PlannedCall } from "../../engine/agent/step.ts";
import { argumentsFault, declaredArguments, ignoredNote } from "../../engine/workspace-tools/arguments.ts";
import { codeCommand, codeHandler, copiesOf } from "../../engine/workspace-tools/code-tools.ts";
import {
  bothOutputs,
  commandParts,
  joinedCommand,
  stderrOf,
} from "../../engine/workspace-tools/command-result.ts";
import { EDITOR_TOOL } from "../../engine/workspace-tools/editor-tool.ts";
import { defined, objectOf } from "../../skill/json.ts";
import type { Json, JsonObject, SkillRecord } from "../../skill/manifest.ts";
import { WORKSPACE_TOOLS, type WorkspaceTool } from "../../skill/tool-names.ts";
import { executionIdOf } from "../agent/execution-id.ts";
import { watchMade } from "../container.ts";
import { LITELLM_TOOL } from "../whole-skills.ts";
import { type BashEnvironment, type Command, runBash } from "./bash.ts";
import { type FileAnswer, FileTools } from "./files.ts";
import { PLUGINS, SkillFolders } from "./skill-folders.ts";
import { skillsFolder, workFolder } from "./where.ts";

interface WorkspaceToolsOptions extends Omit<BashEnvironment, "skills" | "skillsKey"> {
  spec: AgentSpec;
  /** The served skill that the run is, if already loaded. */
  own: SkillRecord | null;
}

/** The workspace tools of a run. */
export class WorkspaceTools {
  readonly #options: WorkspaceToolsOptions;
  readonly #skills: SkillFolders;

  constructor(options: WorkspaceToolsOptions) {
    this.#options = options;
    this.#skills = new SkillFolders(options.context, options.spec, options.own);
  }

  /** Runs a command that no call of the model asked for, in the work folder. */
  async ran({
    skill,
    ...command
  }: Pick<Command, "args" | "execution" | "own_stderr" | "signal"> & {
    skill: string;
  }): Promise<AgentToolResult> {
    const { run_id } = this.#options.spec;
    const call = {
      call_id: command.execution,
      run: run_id,
      again: false,
      cwd: "",
      skill: this.#skill(skill),
    };
    return this.#bash({ ...command, ...call });
  }

  #skill(named: string | undefined): AgentSkill | null {
    return skillsWithFoldersOf(this.#options.spec).find(({ name }) => name === named) ?? null;
  }

  #bash(command: Command): Promise<AgentToolResult> {
    const { context, spec, workspace, known, emit } = this.#options;
    const { key } = skillsFolder(context, spec);
    const { variables, session_id } = spec;
    const own = { ...command, ...defined({ variables, session_id: session_id ?? undefined }) };
    return runBash(own, { context, workspace, known, emit, skills: this.#skills, skillsKey: key });
  }

  /** The initial content of the skill's copy in which Python starts: digests by path. */
  async #copies(): Promise<Map<string, string>> {
    const folders = await this.#skills.all();
    return copiesOf(folders.filter(({ name }) => !name.startsWith(PLUGINS)));
  }

  /** Executes one call. Every fault of the call is a result. @throws HullError for faults of the runner */
  async call(planned: PlannedCall, at: AgentEffectContext): Promise<AgentToolResult> {
    const { call, tool } = planned;
    const args = declaredArguments(tool.handler, call.arguments ?? {});
    const result = await this.#call(planned, args, at);
    const own = WORKSPACE_TOOLS.some((name) => name === tool.handler);
    const note = own ? ignoredNote(call.name, tool.definition.parameters, args) : "";
    return note === "" ? result : { ...result, content: result.content + note };
  }

  async #call(planned: PlannedCall, args: JsonObject, at: AgentEffectContext): Promise<AgentToolResult> {
    const { run, signal } = at;
    const started = Date.now();
    const { call, tool, again, from } = planned;
    const fault = argumentsFault(tool.definition.parameters, args);
    if (fault !== null) return plainResult("error", `${call.name}: ${fault}`, "schema_validation");
    const { cwd = "", active = [] } = from ?? {};
    const { context, spec, workspace } = this.#options;
    const { path } = skillsFolder(context, spec);
    // Also of a skill inside its plugin's folder: the copy that code starts in has the skill's name.
    const modules = spec.skills.flatMap(({ name, dir }) => (dir === undefined ? [] : [`${path}/${name}`]));
    const asked = codeHandler(tool.handler);
    const { code_timeout_ms: most } = context.settings.limits;
    const code =
      asked === null
        ? null
        : {
            command: codeCommand(asked.code, args, await workFolder(context, workspace), modules),
            timeout_ms: typeof args.timeout_ms === "number" ? Math.min(args.timeout_ms, most) : most,
          };
    if (tool.handler === "Bash" || code !== null) {
      const made = asked?.code === LITELLM_TOOL ? await watchMade(workspace, await this.#copies()) : null;
      const result = await this.#bash({
        args: code ?? args,
        call_id: call.id,
        execution: executionIdOf(at),
        run,
        again,
        cwd,
        skill: this.#skill(active.at(-1) ?? spec.own_skill?.name),
        signal,
        ...asked?.terms,
        ...(code === null ? {} : { code: true as const, own_stderr: true as const }),
      });
      return made === null ? result : withFiles(result, await made());
    }
    const files = new FileTools({
      bucket: context.env.FILES,
      contents: context.deployment.contents,
      redactor: context.settings.redactor,
      workspace,
      skills: this.#skills,
      folders: { work: await workFolder(context, workspace), skills: path },
      cwd,
      sees: { images: spec.model.vision !== false, pdf: spec.model.pdf === true },
    });
    const { ok, content, parts, value } = await fileCall(files, planned);
    const shown = context.settings.redactor.text(content);
    return {
      ...plainResult(ok ? "ok" : "error", shown, ok ? null : "tool_error"),
      retryable: false,
      ...(value === undefined ? {} : { value: objectOf(context.settings.redactor.json(value)) }),
      ...(parts === undefined ? {} : { parts }),
      duration_ms: Date.now() - started,
    };
  }
}

/** The result of a command, with lines about the files that it made after its stdout. */
function withFiles(result: AgentToolResult, files: string): AgentToolResult {
  if (files === "") return result;
  const parts = commandParts(result.content, result.exit_code, stderrOf(result.value));
  return { ...result, content: joinedCommand({ ...parts, stdout: bothOutputs(parts.stdout, files) }) };
}

type FileCall = (files: FileTools, args: JsonObject, since: number | null) => Promise<FileAnswer>;

/** How Hull executes each tool that is no command. */
const FILE_CALLS: Record<Exclude<WorkspaceTool, "Bash"> | typeof EDITOR_TOOL, FileCall> = {
  Read: (files, args) => files.read(args),
  Write: (files, args) => files.write(args),
  Edit: (files, args, since) => files.edit(args, since),
  [EDITOR_TOOL]: (files, args, since) => files.editor(args, since),
  Glob: (files, args) => files.glob(args),
  Grep: (files, args) => files.grep(args),
};
const CALLS: ReadonlyMap<Json, FileCall> = new Map<Json, FileCall>(Object.entries(FILE_CALLS));

async function fileCall(
  files: FileTools,
  { call, tool, again, started_at }: PlannedCall,
): Promise<FileAnswer> {
  /** When an earlier run attempt began the call; `null`: none did. */
  const since = again ? (started_at ?? null) : null;
  const execute = CALLS.get(tool.handler);
  // A run that another version of Hull began can name a tool that this one lacks.
  if (execute === undefined) return { ok: false, content: `Hull cannot execute ${call.name} here.` };
  return execute(files, call.arguments ?? {}, since);
}
