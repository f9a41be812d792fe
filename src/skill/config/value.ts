/** Whether a value fits a configuration parameter. Pure. */
import { firstOf } from "../../cut.ts";
import { memo } from "../../memo.ts";
import { counted } from "../../plural.ts";
import { MIN_SECRET_LENGTH } from "../../redact.ts";
import type { ConfigParam, ConfigType, Json } from "../manifest.ts";

/** A fault of a value. */
interface ConfigFault {
  /** Relative to the parameter: empty, or `.2` for a member of a list, `.key` for one of a map. */
  path: string;
  message: string;
}

/** UTF-8 bytes of one value; of a list or a map as JSON. */
const MAX_BYTES = 64 * 1024;

/** The first fault of a value; `null`: it fits. */
export function configFault(param: ConfigParam, value: Json): ConfigFault | null {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  if (new TextEncoder().encode(text).length > MAX_BYTES) return fault(`is longer than ${MAX_BYTES} bytes`);
  return CHECKS[param.type](param, value);
}

const fault = (message: string, path = ""): ConfigFault => ({ path, message });
const must = (what: string, value: Json): ConfigFault => fault(`must be ${what}, not ${named(value)}`);

type Check = (param: ConfigParam, value: Json) => ConfigFault | null;

const CHECKS: { [type in ConfigType]: Check } = {
  string: aText,
  text: aText,
  code: aText,
  number: aNumber,
  boolean: (_, value) => (typeof value === "boolean" ? null : must("true or false", value)),
  select: anOption,
  multiselect: (param, value) => aList(param, value, anOption) ?? repeated(value),
  "string[]": (param, value) => aList(param, value, aText),
  "number[]": (param, value) => aList(param, value, aNumber),
  secret: aSecret,
  path: aPath,
  map: aMap,
  url: aUrl,
};

function aText(_: ConfigParam, value: Json): ConfigFault | null {
  return typeof value === "string" ? null : must("a string", value);
}

function aNumber({ min, max, step }: ConfigParam, value: Json): ConfigFault | null {
  if (typeof value !== "number" || !Number.isFinite(value)) return must("a number", value);
  if (min !== undefined && value < min) return fault(`must be at least ${min}, not ${value}`);
  if (max !== undefined && value > max) return fault(`must be at most ${max}, not ${value}`);
  if (step !== undefined && step > 0 && !isMultiple(value, step)) {
    return fault(`must be a multiple of ${step}, not ${value}`);
  }
  return null;
}

/** Counted from 0. Rounding of binary fractions does not count: 0.3 is three times 0.1. */
function isMultiple(value: number, step: number): boolean {
  const times = value / step;
  const tolerance = Math.min(1e-6, 1e-9 * Math.max(1, Math.abs(times)));
  return Math.abs(times - Math.round(times)) <= tolerance;
}

/** A list may name all of many options. */
const setOf = memo((options: readonly string[]) => new Set(options));

function anOption({ options = [] }: ConfigParam, value: Json): ConfigFault | null {
  if (typeof value === "string" && setOf(options).has(value)) return null;
  return must(`one of ${options.join(", ") || "no options"}`, value);
}

function aList(param: ConfigParam, value: Json, member: Check): ConfigFault | null {
  if (!Array.isArray(value)) return must("a list", value);
  const { minItems = 0, maxItems = Number.POSITIVE_INFINITY } = param;
  if (value.length < minItems)
    return fault(`must have at least ${counted(minItems, "item")}, not ${value.length}`);
  if (value.length > maxItems)
    return fault(`must have at most ${counted(maxItems, "item")}, not ${value.length}`);
  for (const [index, item] of value.entries()) {
    const wrong = member(param, item);
    if (wrong !== null) return { ...wrong, path: `.${index}` };
  }
  return null;
}

function repeated(value: Json): ConfigFault | null {
  if (!Array.isArray(value)) return null;
  const known = new Set<Json>();
  const index = value.findIndex((item) => {
    const isKnown = known.has(item);
    known.add(item);
    return isKnown;
  });
  return index === -1 ? null : fault(`repeats ${named(value[index] ?? null)}`, `.${index}`);
}

/** The message never shows its value. */
function aSecret(_: ConfigParam, value: Json): ConfigFault | null {
  if (typeof value !== "string") return fault("must be a string");
  if (value === "") return fault("must not be empty; null clears it");
  if (value.length >= MIN_SECRET_LENGTH) return null;
  return fault(
    `must have at least ${MIN_SECRET_LENGTH} characters: Hull could not remove a shorter secret from outputs and logs`,
  );
}

function aPath(_: ConfigParam, value: Json): ConfigFault | null {
  if (typeof value !== "string") return must("a path", value);
  if (value.includes("\0")) return fault("must not contain NUL");
  if (/^[\\/]|^[A-Za-z]:/.test(value)) return must("a relative path", value);
  return value.split(/[\\/]/).includes("..") ? fault("must not contain ..") : null;
}

function aMap(_: ConfigParam, value: Json): ConfigFault | null {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return must("a map", value);
  for (const [key, item] of Object.entries(value)) {
    if (key === "") return fault("must not have an empty key");
    if (typeof item !== "string") return { ...must("a string", item), path: `.${key}` };
  }
  return null;
}

function aUrl(_: ConfigParam, value: Json): ConfigFault | null {
  const url = typeof value === "string" && URL.canParse(value) ? new URL(value) : null;
  return url?.protocol === "https:" || url?.protocol === "http:"
    ? null
    : must("an absolute http or https URL", value);
}

function named(value: Json): string {
  const text = JSON.stringify(value);
  return text.length > 80 ? `${firstOf(text, 80)}…` : text;
}
