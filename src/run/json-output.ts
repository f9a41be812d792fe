/** `output: json`. Pure. */
import { OutputInvalidJson } from "../errors/run.ts";
import { parseWithOffset } from "./json.ts";

/** The text itself if it is JSON; empty text counts as `{}`. @throws OutputInvalidJson */
export function checkedJson(text: string): string {
  if (text.trim() === "") return "{}";
  const parsed = parseWithOffset(text);
  if (parsed.ok) return text;
  throw new OutputInvalidJson({ position: parsed.offset, reason: parsed.reason });
}

/** A model's answer without a code fence around it. */
export function withoutFence(text: string): string {
  const fenced = /^```[A-Za-z0-9_-]*[ \t]*\n([\s\S]*?)\n?```$/.exec(text.trim());
  return fenced?.[1] ?? text.trim();
}
