/**
 * Fits a request to a target: leaves out or changes what the target cannot accept, with a warning each, and refuses
 * before the call what the model is known to lack. Pure.
 */
import type { ModelRequest, Part, Sampling, Warning } from "../engine/messages.ts";
import { ModelLacks } from "../errors/provider.ts";
import type { Capabilities } from "./capabilities.ts";
import { chatTraits } from "./chat-traits.ts";
import { Draft } from "./fit-draft.ts";
import { fitAnthropic, fitEffort, fitReasoningBudget, fitThinkingSwitch } from "./fit-thinking.ts";
import { withFreeText } from "./json-instruction.ts";
import { claudeVersion, isAtLeast } from "./model-version.ts";
import type { ProtocolName } from "./protocols.ts";
import type { ResolvedTarget } from "./providers.ts";

/** The abilities that the caller declares to need, whatever the messages contain. */
export interface Declared {
  vision?: boolean | undefined;
  audio?: boolean | undefined;
  pdf?: boolean | undefined;
}

interface Fitted {
  request: ModelRequest;
  warnings: Warning[];
}

const PENALTIES = ["frequency_penalty", "presence_penalty"] as const satisfies (keyof Sampling)[];
const ANTHROPIC_ONLY = ["interleaved_thinking", "beta_features"] as const;

/**
 * The request in a form that the target accepts. The mock accepts everything; a verbatim request stays unchanged.
 * @throws ModelLacks for thinking or media that the request needs and the model is known not to support
 */
export function fitRequest(request: ModelRequest, target: ResolvedTarget, declared: Declared = {}): Fitted {
  const asWritten = request.verbatim !== undefined && request.verbatim.protocol === target.protocol;
  if (target.protocol === "mock" || asWritten) return { request, warnings: [] };
  checkCapabilities(request, target, declared);
  const draft = new Draft(withFreeText(request), target);
  if (cannotThink(target.capabilities)) draft.drop(["thinking"], "this model does not think");
  if (request.thinking !== undefined && !target.capabilities.matched) {
    draft.warn(
      "capability_unknown",
      "thinking",
      "Hull does not know whether this model can think, and asks it to",
    );
  }
  FITS[target.protocol](draft);
  fitLastTurn(draft);
  return { request: draft.request, warnings: draft.warnings };
}

/** What each protocol cannot carry: a warning each. */
const FITS: Record<Exclude<ProtocolName, "mock">, (draft: Draft) => void> = {
  anthropic(draft) {
    draft.dropSampling(["seed", ...PENALTIES]);
    fitAnthropic(draft);
  },
  "openai-chat"(draft) {
    const traits = chatTraits(draft.target);
    draft.dropSampling([...(traits.top_k ? [] : ["top_k" as const]), ...(traits.penalties ? [] : PENALTIES)]);
    draft.drop(["cache", ...ANTHROPIC_ONLY, ...(traits.prefill === "none" ? ["prefill" as const] : [])]);
    fitParallelCalls(draft);
    if (traits.thinking === "reasoning_effort") fitEffort(draft);
    else if (traits.thinking === "reasoning") fitReasoningBudget(draft);
    else fitThinkingSwitch(draft);
  },
  "openai-responses"(draft) {
    draft.dropSampling(["top_k", "stop", "seed", ...PENALTIES]);
    draft.drop(["cache", "prefill", ...ANTHROPIC_ONLY]);
    fitParallelCalls(draft);
    fitEffort(draft);
  },
  ollama(draft) {
    draft.dropSampling(PENALTIES);
    draft.drop(["cache", "tool_search", "parallel_tool_calls", ...ANTHROPIC_ONLY]);
    draft.freeChoice("Ollama lets the model choose");
    fitThinkingSwitch(draft);
  },
  "workers-ai"(draft) {
    draft.dropSampling(["stop"]);
    draft.drop(["cache", "prefill", "tool_search", "parallel_tool_calls", ...ANTHROPIC_ONLY]);
    fitEffort(draft);
  },
};

/** OpenAI's models of the o series refuse the switch. They make one call at a time. */
const ONE_CALL_AT_A_TIME = /^(?:openai\/)?o[134](?:-|$)/;

function fitParallelCalls(draft: Draft): void {
  if (ONE_CALL_AT_A_TIME.test(draft.target.model))
    draft.drop(["parallel_tool_calls"], "this model takes none");
}

/** Claude from 4.6 on refuses a conversation that ends with its own turn, whichever provider serves it. */
function fitLastTurn(draft: Draft): void {
  if (!isAtLeast(claudeVersion(draft.target.model), [4, 6])) return;
  draft.drop(["prefill"], "this model continues no answer that the request begins");
  draft.askForMore("this model continues no turn of its own");
}

/** Refuses only capabilities that a rule of the matrix denies; unknown ones pass. */
function checkCapabilities(request: ModelRequest, target: ResolvedTarget, declared: Declared): void {
  const { provider, model, capabilities } = target;
  const lacks = (option: string, what: string) => new ModelLacks({ provider, model, option, what });
  if (mustThink(request) && cannotThink(capabilities)) throw lacks("thinking", "thinking");
  const media: [option: "vision" | "audio" | "pdf", type: Part["type"], what: string][] = [
    ["vision", "image", "images"],
    ["audio", "audio", "audio"],
    ["pdf", "document", "PDF documents"],
  ];
  for (const [option, type, what] of media) {
    if (capabilities[option] !== false) continue;
    if (declared[option] === true || holds(request, type)) throw lacks(option, what);
  }
}

const mustThink = ({ thinking }: ModelRequest): boolean =>
  thinking?.mode === "enabled" || (thinking?.mode === "effort" && thinking.adaptive !== true);

/** Whether a model is known not to think. A model with adjustable effort thinks, whatever else its rule says. */
export const cannotThink = ({ matched, thinking, reasoning_effort_supported }: Capabilities): boolean =>
  matched && !thinking && reasoning_effort_supported !== true;

const holds = ({ messages }: ModelRequest, type: Part["type"]): boolean =>
  messages.some((message) => message.role === "user" && message.content.some((part) => part.type === type));
