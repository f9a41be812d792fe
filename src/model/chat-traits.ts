/** The parameters, besides OpenAI's own, that the providers of the chat protocol accept. */
import type { WireTarget } from "./wire.ts";

interface ChatTraits {
  /** The member that requests reasoning; `none`: the model reasons on its own. */
  thinking: "reasoning_effort" | "reasoning" | "think" | "chat_template_kwargs" | "none";
  top_k: boolean;
  penalties: boolean;
  /**
   * How to make an answer begin with a given text: with a trailing assistant message, with one and the template's own
   * parameters, or not at all.
   */
  prefill: "message" | "template" | "none";
}

export function chatTraits({ variant, capabilities }: WireTarget): ChatTraits {
  switch (variant) {
    case "openrouter":
      return { thinking: "reasoning", top_k: false, penalties: true, prefill: "message" };
    case "ollama":
      return { thinking: "think", top_k: true, penalties: false, prefill: "message" };
    case undefined: {
      const template = capabilities.honors_chat_template_kwargs === true;
      return {
        thinking: template ? "chat_template_kwargs" : takesEffort(capabilities) ? "reasoning_effort" : "none",
        top_k: false,
        penalties: true,
        prefill: template ? "template" : "none",
      };
    }
  }
}

/** Whether a model accepts `reasoning_effort`. Hull assumes so for unknown models. */
const takesEffort = ({ matched, reasoning_effort_supported, thinking_modes }: WireTarget["capabilities"]) =>
  !matched || reasoning_effort_supported === true || (thinking_modes ?? []).includes("effort");
