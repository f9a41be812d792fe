/** mode: llm — a call of a served skill, as a run of the engine. The input goes in, the model's last text comes out. */

import { readingOf } from "../engine/agent/reader.ts";
import { servedAnswer } from "../engine/agent/served-answer.ts";
import { READ_SKILL_RESOURCE } from "../engine/agent/skill-resource.ts";
import type { AgentSpec } from "../engine/agent/spec.ts";
import type { RunState } from "../engine/agent/state.ts";
import type { Part, Warning } from "../engine/messages.ts";
import { OutputMissing } from "../errors/run.ts";
import { Internal } from "../errors.ts";
import type { Reached } from "../llm/host.ts";
import { eachOnce } from "../llm/result.ts";
import { once } from "../memo.ts";
import type { ModelRegistry } from "../model/registry/definition.ts";
import { tokenCounts } from "../model/usage.ts";
import { counted } from "../plural.ts";
import type { Manifest } from "../skill/manifest.ts";
import { specModel } from "./agent/options.ts";
import { MemoryLog } from "./agent/run-log.ts";
import { toolRounds, withServedTerms } from "./agent/served-terms.ts";
import { effortOf, ignoredEffort } from "./agent/skill-terms.ts";
import { toolsOfSkill, withSkillTools } from "./agent/skill-tools.ts";
import { skillOf, toolsOf } from "./agent/skills.ts";
import { profileOf, specOf } from "./agent/spec-of.ts";
import { driveStateless } from "./agent/stateless.ts";
import { skillsWithFolders, takesAnyFile, workspaceToolsOf } from "./agent/workspace-option.ts";
import { endHeaders, usageHeader } from "./end-headers.ts";
import type { RunHandle, RunOutput } from "./handle.ts";
import { llmHost } from "./llm-host.ts";
import { type HeldFile, holdFiles, userParts } from "./llm-input.ts";
import { withRemoteTools } from "./mcp/agent-tools.ts";
import { ownFiles, ownInstructions } from "./own-skill.ts";
import { emptied, producedFiles, promptText, writeInputs } from "./served-files.ts";
import { checkedText, textType } from "./served-text.ts";
import { decodeUtf8 } from "./utf8.ts";
import type { WorkspaceAccess } from "./workspace/access.ts";
import { TemporaryWorkspace } from "./workspace/temporary.ts";

/** Most titles in the warning about artifacts. */
const MAX_TITLES = 5;

type LlmSettings = NonNullable<Manifest["llm"]>;

/**
 * @param model registry the deployment's. Models that a tenant installed serve `/llm` only and never change a served
 *   skill
 */
export async function runServed(run: RunHandle, modelRegistry: ModelRegistry): Promise<RunOutput> {
  const { record, context, durable } = run;
  const { manifest } = record;
  const { llm, slug } = manifest;
  if (llm === undefined) throw new Internal({ cause: `the llm skill ${slug} has no llm settings` });
  if (!takesAnyFile(context, record)) {
    // The tools are missing because hull.toml disables them, or because an upload lacks the grant.
    if (manifest.output === "file")
      throw new OutputMissing({ location: "since its runs have no workspace tools here" });
    const files = await holdFiles(run.input.files);
    const parts = userParts(manifest, run.input, files);
    const given = { parts, files, workspace: null, inputs: {} };
    const { settled, warnings } = await driven(run, llm, given, modelRegistry);
    return outputOf(run, settled, warnings);
  }
  // Here, the request's files are the initial files of the work folder.
  const workspace = durable?.workspace() ?? new TemporaryWorkspace(context, run.id);
  try {
    const before = durable?.log.state().run?.spec.served?.inputs;
    if (before === undefined) await emptied(workspace);
    const inputs = before ?? (await writeInputs(context, workspace, run.input.files));
    const parts: Part[] = [{ type: "text", text: promptText(manifest, run.input, Object.keys(inputs)) }];
    const given = { parts, files: [], workspace, inputs };
    const { settled, warnings } = await driven(run, llm, given, modelRegistry);
    const { files, headers, ...made } = await producedFiles(context, workspace, {
      isMade: ({ path, sha256 }) => inputs[path] !== sha256,
      required: manifest.output === "file",
    });
    const output = outputOf(run, settled, [...warnings, ...made.warnings]);
    return { ...output, headers: { ...output.headers, ...headers }, done: { ...output.done, files } };
  } finally {
    if (workspace instanceof TemporaryWorkspace) context.background(workspace.destroy());
  }
}

/** The input and files of a served skill's run. */
interface ServedInput {
  parts: Part[];
  /** Files of the request that its tools get. */
  files: HeldFile[];
  /** `null`: the run has no workspace tools. */
  workspace: WorkspaceAccess | null;
  /** SHA-256 of the workspace's initial files, by path. */
  inputs: { [path: string]: string };
}

/** Drives the run to its end. @throws the HullError that ended it */
async function driven(
  run: RunHandle,
  llm: LlmSettings,
  { parts, files, workspace, inputs }: ServedInput,
  modelRegistry: ModelRegistry,
): Promise<{ settled: RunState; warnings: Warning[] }> {
  const { record, context, durable, signal, streaming } = run;
  const { slug } = record.manifest;
  const of = { signal, session: null, skill: slug, account: null, served: modelRegistry };
  const host = await llmHost(context, of);
  const reached = host.reach(llm.target);
  const log = durable?.log ?? new MemoryLog(streaming ? (event) => void run.emit(event) : null);
  // A resumed run keeps the specification and the tools with which it began.
  const spec = log.state().run?.spec ?? (await servedSpec(run, llm, { parts, inputs }, reached));
  const warnings: Warning[] = [];
  const { run: settled } = await driveStateless(context, spec, {
    host,
    signal,
    execution: run.id,
    log,
    durable,
    own: { record, files },
    streams: streaming ? "text" : "nothing",
    admitted: once(() => run.started()),
    hear: (applied) => void warnings.push(...readingOf(applied).warnings),
    emit: (event) => run.emit(event),
    ...(workspace === null ? {} : { workspace }),
  });
  return { settled, warnings };
}

async function servedSpec(
  { id, context, record, input }: RunHandle,
  llm: LlmSettings,
  { parts, inputs }: Pick<ServedInput, "parts" | "inputs">,
  { model, capabilities }: Reached,
): Promise<AgentSpec> {
  const { settings, bot, startedAt } = context;
  const { manifest } = record;
  const ofSkill = withSkillTools(toolsOf(record), toolsOfSkill(settings, record, false));
  const forFiles = workspaceToolsOf(context, undefined, [record], ofSkill);
  const own = [...ofSkill, ...forFiles];
  const remote = await withRemoteTools(context, own, { asked: [], records: [record], served: record });
  const warnings = [...remote.warnings, ...ignoredEffort(record, { model, capabilities })];
  const native = capabilities.native_tools || !capabilities.matched;
  const reads = llm.tools.every(({ name }) => name !== READ_SKILL_RESOURCE);
  const skill = { ...skillOf(context, record, record.pack ?? undefined), files: ownFiles(record) };
  const { own_skill, skills_key } = skillsWithFolders(context, null, {
    skills: [],
    own: skill,
    tools: forFiles.length > 0,
  });
  const self = own_skill ?? skill;
  const { reasoning_effort: effort } = effortOf(record, capabilities);
  const max_tool_rounds = toolRounds(llm.max_tool_rounds, forFiles.length > 0);
  const base = specOf(
    {},
    {
      run_id: id,
      session_id: null,
      system: ownInstructions(self, { session_id: null, input: callerText(input), skills: [self] }),
      prompt: [{ role: "user", content: parts }],
      tools: remote.tools,
      tool_format: "native",
      skills: [],
      profile: profileOf(undefined),
      policies: { policy: settings.policy ?? null },
      model: specModel({ target: { ...llm.target, model }, capabilities, context_window: null }),
      call: {},
    },
  );
  const spec: AgentSpec = {
    ...base,
    agent: manifest.slug,
    // A model without tools cannot read files, so the instructions must do without them.
    ...(reads && native ? { own_skill: self } : {}),
    ...(skills_key === undefined ? {} : { skills_key }),
    ...(bot === null ? {} : { bot }),
    ...(warnings.length === 0 ? {} : { warnings }),
    ...(llm.fallback.length === 0 ? {} : { fallback: llm.fallback }),
  };
  const { timeout_ms, idle_timeout_ms, deadline_ms } = manifest;
  const served = {
    max_tool_rounds,
    max_tool_output_bytes: llm.max_tool_output_bytes,
    json: manifest.output === "json",
    max_tokens: llm.max_tokens,
    ...(effort === undefined ? {} : { thinking: { mode: "effort" as const, level: effort } }),
    timeout_ms,
    idle_timeout_ms,
    ...(forFiles.length === 0 ? {} : { inputs }),
  };
  return withServedTerms(spec, served, { at: startedAt + deadline_ms, ms: deadline_ms });
}

/** The caller's own text, without the description of the files that Hull adds for the model. */
const callerText = ({ text }: RunHandle["input"]): string =>
  text === null ? "" : decodeUtf8(text, "The input");

function outputOf(
  { record, context, streaming }: RunHandle,
  run: RunState,
  warnings: readonly Warning[],
): RunOutput {
  const warned = context.redacted(eachOnce([...warnings, ...(streaming ? [] : withoutArtifacts(run))]));
  const answer = servedAnswer(run);
  const text = context.settings.redactor.text(answer.text);
  const usage = { ...tokenCounts(run.totals), rounds: run.iterations, tools: run.tools_used.length };
  return {
    body: checkedText(context.settings, record.manifest, text),
    headers: {
      ...textType(record.manifest),
      ...endHeaders(run.answered ?? {}, warned.warnings ?? []),
      ...usageHeader(usage),
    },
    done: { finish_reason: answer.finish_reason, usage, ...warned },
  };
}

/** The warning of an answer that is a text alone: its events would have the artifacts. */
function withoutArtifacts({ artifacts = [] }: RunState): Warning[] {
  if (artifacts.length === 0) return [];
  const titles = artifacts.slice(0, MAX_TITLES).map(({ title }) => JSON.stringify(title));
  const names = [...titles, ...(artifacts.length > MAX_TITLES ? ["…"] : [])].join(", ");
  const message = `The answer lacks ${counted(artifacts.length, "artifact")}: ${names}. Ask for events (Accept: text/event-stream), or call the skill in a session.`;
  return [{ code: "artifacts_left_out", message }];
}
