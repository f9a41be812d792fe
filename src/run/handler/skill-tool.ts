/**
 * A model's call of a skill's tool, from its arguments to the answer for the model. It is the same in served skills,
 * runs and sessions.
 */

import { firstWords } from "../../cut.ts";
import { numericArguments } from "../../engine/arguments.ts";
import { isArtifact } from "../../engine/artifact.ts";
import type { ToolCallBlock } from "../../engine/messages.ts";
import { HullError } from "../../errors.ts";
import { readSchema } from "../../llm/schema.ts";
import { schemaErrors } from "../../llm/validate.ts";
import { memo } from "../../memo.ts";
import type { Redactor } from "../../redact.ts";
import { isObject } from "../../skill/json.ts";
import type { Json, JsonObject, SkillTool } from "../../skill/manifest.ts";
import { allowedVariables } from "../../tool/execution.ts";
import {
  failedCall,
  type HandlerCall,
  type HandlerNote,
  type HandlerOutcome,
} from "../../tool/handler/call.ts";
import { grantsOf, processSettings } from "../variables.ts";
import { logToolCall } from "./log.ts";
import { ToolOutput } from "./output.ts";
import type { HandlerEnvironment, SkillToolResult } from "./ports.ts";
import { lostCall, type Runtime, runHandler } from "./run.ts";

export interface SkillToolCall
  extends Pick<
    HandlerCall,
    "record" | "tool" | "executionId" | "runId" | "sessionId" | "bot" | "models" | "signal"
  > {
  /** Text of a handler that the session defined; `null`: the record has it. */
  source: string | null;
  call: ToolCallBlock;
  /** Remaining ms, if there is a deadline. */
  leftMs: number;
  /** An earlier run attempt began the call and did not see it end. */
  again: boolean;
}

/** Longest value that is recorded together with the model's text, as UTF-16 units of text. */
const MAX_VALUE = 262_144;

/** Executes the call. Every fault of the call is a result. @throws HullError for faults of Hull's own stores */
export async function callSkillTool(
  asked: SkillToolCall,
  environment: HandlerEnvironment,
): Promise<SkillToolResult> {
  const { call, leftMs, again: _, source: __, ...of } = asked;
  const { tool, record } = of;
  const { context } = environment;
  const settings = await processSettings(context);
  const checked = checkedArguments(call, tool);
  if ("error" in checked) {
    const refused = failedCall("schema_validation", checked.error, 0);
    await noteCall(asked, environment, { ...refused, runtime: "none" });
    return { ...resultOf(refused, [], null), artifact: false };
  }
  const { values, secrets, diagnostics } = await environment.config(record, tool);
  const output = new ToolOutput(call.id, settings.eventRedactor.with(secrets), environment.emit);
  const redactor = settings.redactor.with(secrets);
  const shelved = new Shelved(environment, redactor);
  const handled: HandlerCall = {
    ...of,
    args: checked.args,
    raw: call.raw,
    callId: call.id,
    config: values,
    env: allowedVariables(tool.env, settings, grantsOf(settings, record)),
    timeoutMs: Math.max(1, Math.min(tool.timeout_ms, leftMs)),
    note: (note: HandlerNote) => {
      if (note.kind === "output") output.push(note.stream, note.text);
      else shelved.add(note.value);
    },
  };
  const { outcome, runtime } = await carriedOut(handled, asked, environment);
  await output.end();
  const checkedOutcome = withSchema(outcome, tool, settings.local);
  const ended: HandlerOutcome = redactor.json({
    ...checkedOutcome,
    diagnostics: [...diagnostics, ...checkedOutcome.diagnostics],
  });
  const result = await shelved.result(ended);
  await noteCall(asked, environment, { ...result, runtime });
  return {
    ...resultOf(result, shelved.lines, runtime),
    artifact: ended.fault === null && isArtifact(ended.value),
  };
}

async function carriedOut(
  call: HandlerCall,
  { again, source }: SkillToolCall,
  environment: HandlerEnvironment,
): Promise<{ outcome: HandlerOutcome; runtime: Runtime }> {
  const { tool } = call;
  const harmless = tool.idempotent || !tool.side_effects;
  // The runner recognises a call by its id. An isolate is gone with its process.
  if (again && tool.tier === "isolate" && !harmless) return { outcome: lostCall(), runtime: "isolate" };
  return runHandler(call, environment, source);
}

/**
 * Applies the declared schema. A returned object with `error` is a failure. An answer that does not match the schema is
 * the author's fault. The schema does not apply to artifacts.
 */
function withSchema(outcome: HandlerOutcome, tool: SkillTool, local: boolean): HandlerOutcome {
  const { value, fault, duration_ms } = outcome;
  if (fault !== null) return outcome;
  if (isObject(value) && value.error !== undefined && value.error !== null) {
    return { ...outcome, fault: "tool_error" };
  }
  const schema = isArtifact(value) ? undefined : tool.output_schema;
  const errors = schema === undefined ? [] : faultsOf(schema, value);
  if (errors.length === 0) return outcome;
  const message = `The result of ${tool.name} does not fit its output schema. ${errors.join("; ")}`;
  if (local) return failedCall("tool_error", message, duration_ms);
  return { ...outcome, diagnostics: [...outcome.diagnostics, { code: "output_schema", message }] };
}

/** The artifacts of one call, in order of arrival. */
class Shelved {
  readonly #environment: HandlerEnvironment;
  readonly #redactor: Redactor;
  #kept: Promise<void> = Promise.resolve();
  #findings: HandlerOutcome["diagnostics"] = [];
  /** What the model should know about artifacts that arrived while the handler was running. */
  readonly lines: string[] = [];

  constructor(environment: HandlerEnvironment, redactor: Redactor) {
    this.#environment = environment;
    this.#redactor = redactor;
  }

  add(value: JsonObject): void {
    this.#kept = this.#kept.then(async () => {
      const kept = await this.#keep(value);
      this.lines.push("line" in kept ? kept.line : JSON.stringify(kept));
    });
  }

  /** The outcome. The text for the model replaces an artifact that the handler returned. */
  async result(outcome: HandlerOutcome): Promise<HandlerOutcome> {
    await this.#kept;
    const { value, fault } = outcome;
    const returned = fault === null && isArtifact(value) ? await this.#keep(value) : null;
    const whole = { ...outcome, diagnostics: [...outcome.diagnostics, ...this.#findings] };
    if (returned === null) return whole;
    return "line" in returned
      ? { ...whole, value: returned.line }
      : { ...whole, value: returned, fault: "tool_error" };
  }

  async #keep(value: JsonObject): Promise<{ line: string } | { error: string }> {
    const kept = await this.#environment.artifacts.keep(this.#redactor.json(value));
    if ("error" in kept) return kept;
    this.#findings = [...this.#findings, ...kept.findings];
    return { line: kept.line };
  }
}

function resultOf(
  outcome: HandlerOutcome,
  lines: readonly string[],
  runtime: Runtime | null,
): Omit<SkillToolResult, "artifact"> {
  const { value, fault, duration_ms, exit_code, diagnostics } = outcome;
  const json = typeof value === "string" ? value : JSON.stringify(value);
  const notKept = diagnostics.flatMap(({ code, message }) =>
    code === "files_not_kept" ? [`[${message}]`] : [],
  );
  return {
    value: json.length <= MAX_VALUE ? value : null,
    text: [json, ...lines, ...notKept].join("\n"),
    fault,
    duration_ms,
    exit_code,
    metadata: {
      ...(runtime === null ? {} : { runtime }),
      ...(diagnostics.length === 0 ? {} : { diagnostics }),
    },
  };
}

function noteCall(
  { record, call, runId }: SkillToolCall,
  { context }: HandlerEnvironment,
  { fault, duration_ms, diagnostics, operator = {}, runtime }: HandlerOutcome & { runtime: Runtime | "none" },
): Promise<void> {
  const ended = { duration_ms, outcome: fault ?? "ok", error: operator, diagnostics };
  return logToolCall(context, { run: runId, skill: record.manifest.slug, call, runtime, ...ended });
}

/** The parsed schemas of tools. The records that hold them never change. */
const schemaOf = memo((schema: JsonObject): { schema: JsonObject } | { error: string } => {
  try {
    return { schema: readSchema(schema, "parameters") };
  } catch (error) {
    if (!(error instanceof HullError)) throw error;
    return { error: error.message };
  }
});

/**
 * The arguments for the handler, or a text that tells the model what is wrong with them. Keys that begin with `__` are
 * Hull's own, so they are dropped. Numbers in text form become numbers. Nothing else changes.
 */
function checkedArguments(call: ToolCallBlock, tool: SkillTool): { args: JsonObject } | { error: string } {
  if (call.arguments === null) {
    const got = firstWords(call.raw, 200);
    return { error: `The arguments of ${tool.name} are not a JSON object: ${got}` };
  }
  const own = Object.entries(call.arguments).filter(([name]) => !name.startsWith("__"));
  const args = numericArguments(Object.fromEntries(own), tool.parameters);
  const errors = faultsOf(tool.parameters, args);
  if (errors.length === 0) return { args };
  return { error: `The arguments do not fit the parameters of ${tool.name}. ${errors.join("; ")}` };
}

/** The faults of a value according to the schema: one sentence each, which begins with the path. */
function faultsOf(schema: JsonObject, value: Json): string[] {
  const read = schemaOf(schema);
  return "error" in read ? [read.error] : schemaErrors(read.schema, value);
}
