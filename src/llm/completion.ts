/** `POST /llm/completion`: the continuation, and the chat that asks for it if the provider has no completions. */
import { InvalidRequest } from "../errors/llm.ts";
import { present } from "../skill/json.ts";
import type { JsonObject } from "../skill/manifest.ts";
import type { CallInput } from "./prepare.ts";

interface CompletionInput {
  prefix: string;
  suffix: string | null;
  system: string | null;
  options: JsonObject;
}

const INSTRUCTION = [
  "You continue texts. The user message contains the text before a gap, and maybe the text after it.",
  "Answer with exactly the text that fills the gap and nothing else: no comment, no code fences, no quotes around it.",
  "Do not repeat the text before or after the gap.",
].join(" ");

/** @throws InvalidRequest for `messages`, which would replace the gap */
export function completionCall({ prefix, suffix, system, options }: CompletionInput): CallInput {
  if (options.messages != null) {
    const detail = "messages is not for completions: prefix and suffix say what to complete.";
    throw new InvalidRequest({ option: "messages", detail });
  }
  const after = suffix === null || suffix === "" ? "" : `\n\n<after_gap>\n${suffix}\n</after_gap>`;
  return {
    prompt: `<before_gap>\n${prefix}\n</before_gap>${after}`,
    system: system === null ? INSTRUCTION : `${system}\n\n${INSTRUCTION}`,
    options,
    completion: { prefix, ...present({ suffix, system }) },
  };
}
