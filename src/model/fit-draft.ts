/** A request while it is fitted to a target: copied at the first change, with the warnings so far. */
import type { Message, ModelRequest, Sampling, Thinking, Warning } from "../engine/messages.ts";
import type { ResolvedTarget } from "./providers.ts";

/** Parts of a request that some provider does not accept. */
type Droppable =
  | "cache"
  | "prefill"
  | "tool_search"
  | "parallel_tool_calls"
  | "interleaved_thinking"
  | "beta_features"
  | "thinking";

/** Options whose name differs from that of their part of the request. */
const OPTION_NAMES: { [key in Droppable]?: string } = { beta_features: "anthropic_beta_features" };

type WarningCode =
  /** Hull left it out. */
  | "option_ignored"
  /** Hull sent it in another form. */
  | "option_changed"
  /** Hull sent it although the model may not support it. */
  | "capability_unknown";

const GO_ON = "Continue where your last message ends.";

export class Draft {
  request: ModelRequest;
  readonly target: ResolvedTarget;
  readonly warnings: Warning[] = [];

  constructor(request: ModelRequest, target: ResolvedTarget) {
    this.request = request;
    this.target = target;
  }

  /** @param message a phrase; its subject is put before it */
  warn(code: WarningCode, option: string, message: string): void {
    const { provider, model } = this.target;
    this.warnings.push({ code, option, message: `${provider}/${model}: ${message}.` });
  }

  /**
   * Removes the members among these that are set, with a warning for each that asked for something.
   */
  drop(keys: readonly Droppable[], why = "this provider does not take it"): void {
    for (const key of keys) {
      const value = this.request[key];
      if (value === undefined) continue;
      const left = { ...this.request };
      delete left[key];
      this.request = left;
      const option = OPTION_NAMES[key] ?? key;
      // The default: a caller who asks for it loses nothing.
      const usual = key === "parallel_tool_calls";
      if (value !== usual) this.warn("option_ignored", option, `${option} was left out, ${why}`);
    }
  }

  /** Like `drop`; with `together` one warning for all. */
  dropSampling(
    keys: readonly (keyof Sampling)[],
    why = "this provider does not take it",
    together = false,
  ): void {
    const { sampling } = this.request;
    const there = keys.filter((key) => sampling?.[key] !== undefined);
    const [first] = there;
    if (first === undefined) return;
    const left = Object.entries(sampling ?? {}).filter(([key]) => !there.some((gone) => gone === key));
    this.request = { ...this.request, sampling: Object.fromEntries(left) };
    if (together) this.warn("option_ignored", first, `${there.join(", ")} left out, ${why}`);
    else for (const key of there) this.warn("option_ignored", key, `${key} was left out, ${why}`);
  }

  /** A tool choice that forces a call becomes `auto`. */
  freeChoice(why: string): void {
    const { tool_choice, tools } = this.request;
    if (tool_choice === undefined || tool_choice === "auto" || tool_choice === "none") return;
    if (tools.length === 0) return;
    this.request = { ...this.request, tool_choice: "auto" };
    this.warn("option_changed", "tool_choice", `tool_choice is sent as auto, ${why}`);
  }

  /** Adds a user message that asks for more, if the conversation ends with a text of the model. */
  askForMore(why: string): void {
    const { messages } = this.request;
    const last = messages.at(-1);
    if (last?.role !== "assistant" || last.content.at(-1)?.type !== "output_text") return;
    const asks: Message = { role: "user", content: [{ type: "text", text: GO_ON }] };
    this.request = { ...this.request, messages: [...messages, asks] };
    this.warn("option_changed", "messages", `a user message asks the model to continue, since ${why}`);
  }

  setThinking(thinking: Thinking, changed: string | null): void {
    this.request = { ...this.request, thinking };
    if (changed !== null) this.warn("option_changed", "thinking", changed);
  }
}
