/** `output: json` (serving.md §3.1, §3.4). Pure. */
import { OutputInvalidJson } from "../../errors/run.ts";

/** The text itself when it is JSON; nothing at all counts as `{}`. @throws OutputInvalidJson */
export function checkedJson(text: string): string {
  if (text.trim() === "") return "{}";
  try {
    JSON.parse(text);
    return text;
  } catch (error) {
    const reason = error instanceof Error ? error.message : "not JSON";
    const position = /position (\d+)/.exec(reason)?.[1];
    throw new OutputInvalidJson({
      reason,
      ...(position === undefined ? {} : { position: Number(position) }),
    });
  }
}

/** A model's answer without one surrounding code fence. */
export function withoutFence(text: string): string {
  const fenced = /^```[A-Za-z0-9_-]*[ \t]*\n([\s\S]*?)\n?```$/.exec(text.trim());
  return fenced?.[1] ?? text.trim();
}
