/** The forms of the option `thinking`. */
import * as z from "zod/mini";
import type { Thinking } from "../engine/messages.ts";
import { isObject } from "../skill/json.ts";
import type { Json, JsonObject } from "../skill/manifest.ts";

const FORMS =
  'true, false, "enabled", "adaptive", "low", "medium", "high", "off", {budget_tokens}, {enabled: false} or {mode, budget_tokens?, level?, adaptive?}';
const LEVELS = ["low", "medium", "high"] as const;

/** The shape of the option. */
export const thinkingShape = () =>
  z.custom<Json>((value) => formOf(value) !== undefined, `must be one of ${FORMS}`);

/** What the option says, once its shape is checked; `null`: off. */
export const readThinking = (value: Json | undefined): Thinking | null => formOf(value) ?? null;

/** `null`: off; `undefined`: there is no such form. */
function formOf(value: unknown): Thinking | null | undefined {
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
  return isObject(value) ? formOfObject(value) : undefined;
}

function formOfObject(given: JsonObject): Thinking | null | undefined {
  const { mode, budget_tokens, enabled, level, adaptive, ...rest } = given;
  if (Object.keys(rest).length > 0) return undefined;
  if (adaptive !== undefined && (adaptive !== true || mode !== "effort")) return undefined;
  if (enabled === false) return null;
  if (enabled !== undefined && enabled !== true) return undefined;
  switch (mode) {
    case undefined:
    case "enabled":
      return level === undefined ? withBudget(budget_tokens) : undefined;
    case "adaptive":
      return level === undefined && budget_tokens === undefined ? { mode } : undefined;
    case "effort": {
      const chosen = levelOf(level ?? "medium");
      if (chosen === undefined || budget_tokens !== undefined) return undefined;
      return { mode, level: chosen, ...(adaptive === true ? { adaptive } : {}) };
    }
    default:
      return undefined;
  }
}

function withBudget(value: Json | undefined): Thinking | undefined {
  if (value === undefined || value === null) return { mode: "enabled" };
  const whole = typeof value === "number" && Number.isInteger(value) && value > 0;
  return whole ? { mode: "enabled", budget_tokens: value } : undefined;
}

const levelOf = (value: unknown): (typeof LEVELS)[number] | undefined =>
  LEVELS.find((level) => level === value);
