/**
 * Makes one model call for a client of a vendor's API, through the same host as all model calls, and answers it whole or
 * with events.
 */
import type { ModelRequest, ModelTurn } from "../../engine/messages.ts";
import type { HullError } from "../../errors.ts";
import type { Reached } from "../../llm/host.ts";
import { eachOnce } from "../../llm/result.ts";
import { namesSkill } from "../../llm/skill-model.ts";
import { once } from "../../memo.ts";
import type { Sink } from "../../model/wire.ts";
import { ignoredHeader, warningsHeader } from "../../run/end-headers.ts";
import { llmError } from "../../run/llm-problem.ts";
import { type VendorModel, vendorModel, vendorTurn } from "../../run/vendor-model.ts";
import type { RequestContext } from "../context.ts";
import { eventAnswer } from "../event-answer.ts";
import { accountOf } from "../llm/account.ts";

/** Looks up the model of a request when it is first needed. @throws as `vendorModel` */
export type ModelLookup = () => Promise<VendorModel>;

/** @param single as of `vendorModel` */
export const modelLookup = (context: RequestContext, model: string, single: boolean): ModelLookup =>
  once(async () => {
    const { signal } = context.request;
    const found = await vendorModel(context, model, { signal, account: accountOf(context, null), single });
    context.log.model = `${found.choice.target.provider}/${found.reached.model}`;
    return found;
  });

/** The model of a run, looked up; `null`: the request names a skill instead. */
export const modelOfRun = async (name: string, model: ModelLookup): Promise<VendorModel | null> =>
  namesSkill(name) ? null : model();

interface Sending {
  /** Aborted when nobody wants the answer any more. */
  signal: AbortSignal;
  stream: boolean;
  sink?: Sink;
}

/** Makes the call. @throws HullError, failures of providers by their category */
export async function sendCall(
  context: RequestContext,
  model: VendorModel,
  request: ModelRequest,
  { signal, stream, sink = {} }: Sending,
): Promise<ModelTurn> {
  try {
    const { turn, figures } = await vendorTurn(model, { request, signal, stream, sink });
    context.log.usage = figures;
    return turn;
  } catch (error) {
    throw llmError(error, context);
  }
}

/** The headers of a whole answer of one model call. @param names members that did not reach the provider */
export function callHeaders(
  names: readonly string[],
  { choice }: VendorModel,
  { warnings = [] }: ModelTurn,
): Record<string, string> {
  const ignored = ignoredHeader([...names, ...warnings.flatMap(({ option }) => option ?? [])]);
  return { ...ignored, ...warningsHeader([...choice.warnings, ...warnings]) };
}

/** The warnings of one model call, as a member of its answer. */
export const callWarnings = ({ choice }: VendorModel, { warnings = [] }: ModelTurn) =>
  eachOnce([...choice.warnings, ...warnings]);

/**
 * `tools.strict` for `x-hull-ignored`, if a tool is strict but the provider does not get the member.
 * @param protocol `null`: Hull runs the tools, so no provider gets it
 */
export function ignoredStrict(tools: readonly object[], protocol: Reached["protocol"] | null): string[] {
  const asked = tools.some((tool) => "strict" in tool && tool.strict === true);
  const gets = protocol === "mock" || protocol?.startsWith("openai-") === true;
  return asked && !gets ? ["tools.strict"] : [];
}

/**
 * `tool_choice` for `x-hull-ignored`, if Hull runs tools and the choice demands a call: the model could then never end
 * with a text.
 */
export const ignoredChoice = (choice: unknown): string[] =>
  ["auto", "none"].some((kept) => kept === (choice ?? "auto")) ? [] : ["tool_choice"];

interface Streamed {
  headers: Record<string, string>;
  /** Makes the call and writes its events. */
  run: (write: (event: string) => void, signal: AbortSignal) => Promise<void>;
  /** The last event of a stream that failed. */
  failed: (error: HullError) => string;
}

/**
 * Begins the answer with its first event, or with its end if there is none, or after 30 s.
 * @throws a failure before that, which then has its own status
 */
export function streamedAnswer(
  context: RequestContext,
  { headers, run, failed }: Streamed,
): Promise<Response> {
  return eventAnswer(context, headers, ({ body, begin, signal }) => ({
    run() {
      const write = (event: string): void => {
        begin();
        void body.write(event);
      };
      return run(write, signal);
    },
    failed: (error) => body.write(failed(error)),
  }));
}
