/** mode: llm — a call of a served skill, as a run of the engine. The input goes in, the model's last text comes out. */

import { readingOf } from "../engine/agent/reader.ts";
import { servedAnswer } from "../engine/agent/served-answer.ts";
import type { AgentSpec } from "../engine/agent/spec.ts";
import type { RunState } from "../engine/agent/state.ts";
import type { Part, Warning } from "../engine/messages.ts";
import { OutputMissing } from "../errors/run.ts";
import type { LlmHost } from "../llm/host.ts";
import { eachOnce } from "../llm/result.ts";
import { once } from "../memo.ts";
import type { ModelRegistry } from "../model/registry/definition.ts";
import { tokenCounts } from "../model/usage.ts";
import { counted } from "../plural.ts";
import { isNamed } from "../skill/interface-fields.ts";
import { asJson, defined } from "../skill/json.ts";
import type { JsonObject } from "../skill/manifest.ts";
import { type CheckedRun, checkedRun } from "./agent/options.ts";
import { MemoryLog } from "./agent/run-log.ts";
import { driveStateless } from "./agent/stateless.ts";
import { takesAnyFile } from "./agent/workspace-option.ts";
import { endHeaders, usageHeader } from "./end-headers.ts";
import type { RunHandle, RunOutput } from "./handle.ts";
import { llmHost } from "./llm-host.ts";
import { callerText, type HeldFile, holdFiles, userParts } from "./llm-input.ts";
import { emptied, producedFiles, promptText, writeInputs } from "./served-files.ts";
import { checkedText, textType } from "./served-text.ts";
import type { WorkspaceAccess } from "./workspace/access.ts";
import { TemporaryWorkspace } from "./workspace/temporary.ts";

/** Most titles in the warning about artifacts. */
const MAX_TITLES = 5;

/**
 * @param model registry the deployment's. Models that a tenant installed serve `/llm` only and never change a served
 *   skill
 */
export async function runServed(run: RunHandle, modelRegistry: ModelRegistry): Promise<RunOutput> {
  const { record, context, durable } = run;
  const { manifest } = record;
  if (!takesAnyFile(context, record)) {
    // The tools are missing because hull.toml disables them, or because an upload lacks the grant.
    if (manifest.output === "file")
      throw new OutputMissing({ location: "since its runs have no workspace tools here" });
    const files = await holdFiles(run.input.files);
    const parts = userParts(manifest, run.input, files);
    const given = { parts, files, workspace: null, inputs: {} };
    const { settled, warnings } = await driven(run, given, modelRegistry);
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
    const { settled, warnings } = await driven(run, given, modelRegistry);
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
  given: ServedInput,
  modelRegistry: ModelRegistry,
): Promise<{ settled: RunState; warnings: Warning[] }> {
  const { record, context, durable, signal, streaming } = run;
  const { slug } = record.manifest;
  const { files, workspace } = given;
  const of = { signal, session: null, skill: slug, account: null, served: modelRegistry };
  const host = await llmHost(context, of);
  const log = durable?.log ?? new MemoryLog(streaming ? (event) => void run.emit(event) : null);
  // A resumed run keeps the specification and the tools with which it began.
  const begun = log.state().run?.spec;
  const { spec, model } =
    begun === undefined ? await servedRun(run, host, given) : { spec: begunWith(begun), model: undefined };
  const warnings: Warning[] = [];
  const { run: settled } = await driveStateless(context, spec, {
    host,
    signal,
    execution: run.id,
    log,
    durable,
    own: { record, files },
    model,
    streams: streaming ? "text" : "nothing",
    admitted: once(() => run.started()),
    hear: (applied) => void warnings.push(...readingOf(applied).warnings),
    emit: (event) => run.emit(event),
    ...(workspace === null ? {} : { workspace }),
  });
  return { settled, warnings };
}

/** The run of the call, and the model that it asks. */
function servedRun(
  { id, context, record, digest, input }: RunHandle,
  host: LlmHost,
  { parts, workspace, inputs }: ServedInput,
): Promise<CheckedRun> {
  const asked = {
    own: { record, digest },
    prompt: callerText(input),
    content: parts,
    system: null,
    options: context.bot === null ? {} : { bot: context.bot },
    publishes: false,
    called: true,
    answer: workspace === null ? {} : { inputs },
  } as const;
  return checkedRun(context, host, asked, { run: id, session: null });
}

/** The specification with which a run began. Earlier versions of Hull kept what the skill says among the terms of the answer. */
function begunWith(spec: AgentSpec): AgentSpec {
  const { served, model } = spec;
  if (served === undefined || spec.called !== undefined) return spec;
  const { json = false, timeout_ms, idle_timeout_ms, max_tokens, max_tool_output_bytes, thinking } = served;
  const named = isNamed(timeout_ms);
  const limits = { timeout_ms: named ? timeout_ms : undefined, idle_timeout_ms, max_tokens, thinking };
  return {
    ...spec,
    called: { json },
    call: { provider: model.provider, model: model.model, ...asJson<JsonObject>(limits) },
    skill_limits: { max_tool_output_bytes, ...(named ? {} : defined({ first_byte_ms: timeout_ms })) },
  };
}

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
