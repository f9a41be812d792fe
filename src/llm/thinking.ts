/** The forms of the option `thinking`. */
import type { Thinking } from "../engine/messages.ts";
import { InvalidRequest } from "../errors/llm.ts";
import type { Json } from "../skill/manifest.ts";

const FORMS =
  'true, false, "enabled", "adaptive", "low", "medium", "high", "off", {budget_tokens}, {enabled: false} or {mode, budget_tokens?, level?}';
const LEVELS = ["low", "medium", "high"] as const;

/** `null`: off. @throws InvalidRequest for any other form */
export function readThinking(value: Json | undefined): Thinking | null {
  switch (value) {
    case undefined:
    case null:
    case false:
    case "off":
      return null;
    case true:
    case "enabled":
    case "on":
      return { mode: "enabled" };
    case "adaptive":
      return { mode: "adaptive" };
  }
  const level = levelOf(value);
  if (level !== undefined) return { mode: "effort", level };
  if (typeof value !== "object" || Array.isArray(value)) throw refused();
  const { mode, budget_tokens, enabled, level: named, ...rest } = value;
  if (Object.keys(rest).length > 0) throw refused();
  if (enabled === false) return null;
  if (enabled !== undefined && enabled !== true) throw refused();
  switch (mode) {
    case undefined:
    case "enabled":
      if (named !== undefined) throw refused();
      return { mode: "enabled", ...budget(budget_tokens) };
    case "adaptive":
      if (named !== undefined || budget_tokens !== undefined) throw refused();
      return { mode };
    case "effort": {
      const chosen = levelOf(named ?? "medium");
      if (chosen === undefined || budget_tokens !== undefined) throw refused();
      return { mode, level: chosen };
    }
    default:
      throw refused();
  }
}

/** The option `reasoning_effort`; absent: `null`. */
export function readEffort(value: "low" | "medium" | "high" | undefined): Thinking | null {
  return value === undefined ? null : { mode: "effort", level: value };
}

function budget(value: Json | undefined): { budget_tokens?: number } {
  if (value === undefined || value === null) return {};
  if (typeof value !== "number" || !Number.isInteger(value) || value <= 0) throw refused();
  return { budget_tokens: value };
}

const levelOf = (value: Json): (typeof LEVELS)[number] | undefined => LEVELS.find((level) => level === value);

const refused = () => new InvalidRequest({ option: "thinking", detail: `thinking must be one of ${FORMS}.` });
