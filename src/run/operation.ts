/**
 * What Hull runs in addition to skills: model calls and agent runs without a session. One function serves every way to
 * ask: whole, as events, idempotent or asynchronous.
 */

import type * as z from "zod/mini";
import { HullError, Internal } from "../errors.ts";
import { completionCall } from "../llm/completion.ts";
import type { LlmHost } from "../llm/host.ts";
import { type CallInput, refused } from "../llm/prepare.ts";
import type { LlmResult } from "../llm/result.ts";
import { type CallOutcome, callStructured, type StructuredEnvelope } from "../llm/structured-call.ts";
import { type Transcript, transcriptShape } from "../llm/transcript.ts";
import { once } from "../memo.ts";
import type { RunResult } from "../session/conversation/answers.ts";
import { defined } from "../skill/json.ts";
import type { JsonObject } from "../skill/manifest.ts";
import { runAnonymous } from "./agent/anonymous.ts";
import { runLlmCall } from "./agent/call.ts";
import { checkedRun, optionFaults } from "./agent/options.ts";
import { MemoryLog } from "./agent/run-log.ts";
import { countedSkill, runSlot } from "./agent/skills.ts";
import type { RunContext } from "./context.ts";
import type { RunEvent } from "./events.ts";
import type { OperationHandle, RunOutput } from "./handle.ts";
import { llmHost } from "./llm-host.ts";
import { errorDict, llmError } from "./llm-problem.ts";
import type { callBody, completionBody, structuredBody } from "./request-bodies.ts";
import { type ResponsesOperation, runResponse } from "./responses/perform.ts";
import { type CallAnswer, callInSession, sessionNamed } from "./session-call.ts";
import { decodeUtf8 } from "./utf8.ts";

/**
 * A request of one operation with a checked body. `account` names its soft ledger; `publishes`: whether the caller may
 * store skills; `tool_configs` is that option of a stored run, with sealed secrets.
 */
export type OperationRequest = { account: string } & (
  | { operation: "llm/call"; body: z.infer<typeof callBody> }
  /** `until` says when to stop driving a daemon, which nobody can reach: at its end, or at its first rest. */
  | {
      operation: "runs";
      until: "terminal" | "idle";
      body: z.infer<typeof callBody>;
      publishes?: boolean;
      tool_configs?: JsonObject;
    }
  | { operation: "llm/structured"; body: z.infer<typeof structuredBody> }
  | { operation: "llm/completion"; body: z.infer<typeof completionBody> }
  | ResponsesOperation
);

type OperationName = OperationRequest["operation"];
const NAMES: readonly OperationName[] = ["llm/call", "runs", "llm/structured", "llm/completion", "responses"];

/**
 * The operation of an execution; `null`: it calls a skill. A skill may have the name of an operation; only an operation
 * has no digest.
 */
export function operationOf({ name, digest }: { name: string; digest: string }): OperationName | null {
  return digest === "" ? (NAMES.find((one) => one === name) ?? null) : null;
}

/** The id of the agent run that an execution performs without a session. */
export const anonymousRunId = (execution: string): string => `run_${execution.replace(/^ex_/, "")}`;

/**
 * Checks what can be said of a request's options before it is stored: their names and shapes.
 * @throws InputInvalid as the operation itself
 */
export async function checkOptions(
  context: RunContext,
  { operation, body }: { operation: OperationName; body: { options?: JsonObject } },
): Promise<void> {
  const faultsOf = await optionFaults(context);
  for (const faults of faultsOf(body.options ?? {}, operation === "runs"))
    if (faults.length > 0) throw refused(faults);
}

/** The request as an execution's input. */
export function operationInput(request: OperationRequest): Uint8Array {
  return new TextEncoder().encode(JSON.stringify(request));
}

/** @throws Internal if `operationInput` did not write the input */
function requestIn({ text }: OperationHandle["input"]): OperationRequest {
  if (text === null) throw new Internal({ cause: "an operation without its request" });
  return JSON.parse(decodeUtf8(text, "The request"));
}

/**
 * @param request absent: the handle's input holds it
 * @throws HullError, failures of providers by their category
 */
export async function runOperation(
  handle: OperationHandle,
  request: OperationRequest = requestIn(handle.input),
): Promise<RunOutput> {
  if (request.operation === "responses") return runResponse(handle, request);
  const { context, signal } = handle;
  let release = (): void => {};
  try {
    const { account } = request;
    // A mock that an earlier run attempt used is not used again.
    const left = request.operation === "runs" ? handle.durable?.memo : null;
    const mock = left ?? request.body.options?.mock;
    const isRun = request.operation === "runs";
    const session = isRun ? null : sessionNamed(request.body.options);
    const begun = handle.durable?.log.state().run?.spec;
    const skill = isRun ? await countedSkill(context, begun, request.body.options?.skill) : null;
    release = await runSlot(context, skill, begun, handle.id);
    const host = await llmHost(context, { signal, session, skill, account, single: !isRun }, mock);
    const result = await perform(handle, request, host);
    if ("usage" in result) context.log.usage = result.usage;
    const { redactor } = context.settings;
    return {
      body: handle.keep ? redactor.jsonText(result) : "",
      headers: { "content-type": "application/json", "cache-control": "no-store" },
      done: handle.streaming ? { ...redactor.json(result) } : {},
    };
  } catch (error) {
    throw error instanceof HullError ? llmError(error, context) : error;
  } finally {
    release();
  }
}

async function perform(
  handle: OperationHandle,
  request: Exclude<OperationRequest, ResponsesOperation>,
  host: LlmHost,
): Promise<LlmResult | StructuredEnvelope | RunResult> {
  const { context, signal } = handle;
  const outcome = (input: CallInput): Promise<CallOutcome> => {
    const streams = handle.streaming ? { emit: (event: RunEvent) => handle.emit(event) } : {};
    const environment = { host, signal, started: () => handle.started(), ...streams };
    return runLlmCall(context, input, environment);
  };
  const answer = async (input: CallInput): Promise<CallAnswer<LlmResult>> => {
    const { result, refused_searches } = await outcome(input);
    return { result, transcript: result.transcript, refused_searches };
  };
  async function called<Result extends LlmResult | StructuredEnvelope>(
    input: CallInput,
    call: (input: CallInput) => Promise<CallAnswer<Result>>,
  ): Promise<Result> {
    const session = sessionNamed(input.options);
    if (session === null) return (await call(input)).result;
    return callInSession(context, { input, session, name: handle.id, durable: handle.durable }, call);
  }
  switch (request.operation) {
    case "llm/call":
      return called(plain(request.body), answer);
    case "llm/completion": {
      const { prefix, suffix = null, system = null, options = {} } = request.body;
      return called(completionCall({ prefix, suffix, system, options }), answer);
    }
    case "llm/structured": {
      // Its calls replace some of the options.
      await checkOptions(context, request);
      const started = once(() => handle.started());
      const quietly = (input: CallInput) => runLlmCall(context, input, { host, signal, started });
      return called(plain(request.body), async (input) => {
        const { envelope, outcome } = await callStructured(input, request.body.schema, quietly, (error) =>
          errorDict(error, context),
        );
        // An envelope may say why no model was asked.
        started();
        const { transcript = null } = outcome?.result ?? {};
        const { refused_searches = [] } = outcome ?? {};
        return { result: { ...envelope, ...host.further() }, transcript, refused_searches };
      });
    }
    case "runs": {
      const run = anonymousRunId(handle.id);
      context.log.run_id = run;
      const { durable, room } = handle;
      // A failure before the first event and the first model call has its own status.
      const started = once(() => handle.started({ run_id: run, session_id: null }));
      const emit = (event: RunEvent): Promise<void> => {
        started();
        return handle.emit(event);
      };
      const log = durable?.log ?? new MemoryLog(handle.streaming ? (event) => void emit(event) : null);
      const { tool_configs: toolConfigs, publishes = false } = request;
      const input = { ...plain(request.body), publishes, ...defined({ toolConfigs }) };
      // A resumed run keeps the specification with which it began.
      const begun = log.state().run?.spec;
      const { spec, model } =
        begun === undefined
          ? await checkedRun(context, host, input, { run, session: null })
          : { spec: begun, model: undefined };
      const result = await runAnonymous(context, spec, {
        model,
        execution: handle.id,
        host,
        signal,
        streams: handle.streaming ? "text and reasoning" : "nothing",
        until: request.until,
        transcript: transcriptIn(input.options),
        admitted: started,
        emit,
        room,
        log,
        durable,
      });
      // A budget may end a run before it asks a model.
      started();
      context.log.run_status = result.status;
      return result;
    }
  }
}

/** The transcript, which has been checked together with the other options. */
const transcriptIn = ({ transcript }: JsonObject): Transcript | null =>
  transcript === undefined || transcript === null ? null : transcriptShape.parse(transcript);

const plain = ({ prompt = null, system = null, options = {} }: z.infer<typeof callBody>): CallInput => ({
  prompt,
  system,
  options,
});
