/** Structured answers: what a request expects, and what is wrong with an answer. */

import { firstOf } from "../cut.ts";
import { InvalidRequest, SchemaValidation } from "../errors/llm.ts";
import { isObject } from "../skill/json.ts";
import type { Json, JsonObject } from "../skill/manifest.ts";
import { extractJson } from "./extract.ts";
import type { CallOptions } from "./options.ts";
import type { CallTurn } from "./result.ts";
import { checkSchema, readSchema } from "./schema.ts";
import { schemaErrors } from "./validate.ts";

/** A schema, and the option that holds it. */
interface Named {
  option: string;
  schema: JsonObject;
}

export interface Structured {
  /** The schema for the provider; `null` means any JSON. */
  wire: { schema: JsonObject; strict: boolean } | null;
  /** The schema that Hull checks the answer against. */
  check: JsonObject | null;
  /** Both. */
  schemas: readonly Named[];
  validation: "off" | "warn" | "error";
  /** Attempts after the first. */
  retries: number;
  nudge: boolean | string;
}

const FORMATS = ["text", "json", "json_object"];
const KINDS = ["text", "json_object", "json_schema"];
const VALIDATIONS = ["off", "warn", "error"] as const;

/**
 * The form of the answer that the options demand; `null`: text.
 * @throws InvalidRequest naming the option
 */
export function readStructured(options: CallOptions): Structured | null {
  const { response_format = "text", output_format } = options;
  if (!FORMATS.includes(response_format)) throw notOneOf("response_format", FORMATS, response_format);
  const format = readFormat(output_format);
  const validation = VALIDATIONS.find((name) => name === (options.output_validation ?? "off"));
  if (validation === undefined) {
    throw notOneOf("output_validation", [...VALIDATIONS], String(options.output_validation));
  }
  const { output_schema, json_schema, schema } = options;
  const own = named("output_schema", output_schema);
  const given =
    named("output_format", format?.schema) ?? named("json_schema", json_schema) ?? named("schema", schema);
  const [checked, wire] = [own ?? given, given ?? own];
  if (response_format === "text" && checked === null && (format === null || format.kind === "text"))
    return null;
  if (format?.kind === "json_schema" && wire === null) {
    throw new InvalidRequest({
      option: "output_format.schema",
      detail: 'output_format of kind "json_schema" needs a schema.',
    });
  }
  const sent = format?.kind === "json_object" ? null : read(wire);
  const check = read(checked);
  return {
    wire: sent && { schema: sent.schema, strict: format?.strict ?? true },
    check: check?.schema ?? null,
    schemas: [check, sent].filter((one) => one !== null),
    validation,
    retries: options.schema_retries ?? options.retries ?? 1,
    nudge: options.schema_retry_nudge ?? true,
  };
}

const named = (option: string, schema: JsonObject | undefined): Named | null =>
  schema === undefined ? null : { option, schema };

const read = (given: Named | null): Named | null =>
  given && { ...given, schema: readSchema(given.schema, given.option) };

/** Refuses schemas of a new request that no answer can match. @throws InputInvalid */
export function checkSchemas(structured: Structured | null): void {
  for (const { option, schema } of structured?.schemas ?? []) checkSchema(schema, `options.${option}`);
}

interface Format {
  kind: string;
  schema: JsonObject | undefined;
  strict: boolean;
}

function readFormat(value: string | JsonObject | undefined): Format | null {
  if (value === undefined) return null;
  const { kind, schema, strict = true, ...rest } = typeof value === "string" ? { kind: value } : value;
  if (typeof kind !== "string" || !KINDS.includes(kind)) {
    throw notOneOf("output_format.kind", KINDS, JSON.stringify(kind) ?? "nothing");
  }
  const [unknown] = Object.keys(rest);
  if (unknown !== undefined) throw notOneOf("output_format", ["kind", "schema", "strict"], unknown);
  if (typeof strict !== "boolean")
    throw notOneOf("output_format.strict", ["true", "false"], JSON.stringify(strict));
  if (schema !== undefined && !isObject(schema)) {
    throw new InvalidRequest({
      option: "output_format.schema",
      detail: "output_format.schema must be an object.",
    });
  }
  return { kind, schema, strict };
}

/** The answer's JSON, and why it does not match. No errors: it matches. */
export interface Checked {
  data: Json | undefined;
  /** Whether the JSON was cut out of prose or a fence. */
  extracted: boolean;
  errors: string[];
  /** `missing_json` if nothing parsed. */
  category: "missing_json" | "schema_validation" | null;
}

export function checkAnswer(structured: Structured, turn: CallTurn): Checked {
  const found = extractJson(turn.text, turn.blocks, turn.text_format?.prose ?? null);
  if (found === null) {
    const violations = turn.text_format?.protocol_violations ?? [];
    const errors = ["no JSON could be parsed from the answer", ...endOf(turn), ...violations];
    return { data: undefined, extracted: false, errors, category: "missing_json" };
  }
  const errors = structured.check === null ? [] : schemaErrors(structured.check, found.value);
  const category = errors.length > 0 ? "schema_validation" : null;
  return { data: found.value, extracted: found.cut, errors, category };
}

/** Why an answer may lack its JSON. */
function endOf({ stop_reason }: CallTurn): string[] {
  switch (stop_reason) {
    case "max_tokens":
      return ["the answer was cut off by max_tokens"];
    case "refusal":
    case "content_filter":
      return ["the model refused, or a filter of the provider ended the answer"];
    default:
      return [];
  }
}

/** An answer that does not match after the last attempt. */
export function schemaFailure(
  { retries }: Structured,
  { provider, model }: { provider: string; model: string },
  errors: readonly string[],
  attempts: number,
) {
  const hint =
    retries === 0
      ? "Set schema_retries to let the model correct itself."
      : "Raise schema_retries, or loosen the schema.";
  return new SchemaValidation({ provider, model, errors, attempts, hint });
}

export function notOneOf(option: string, accepted: readonly string[], got: string) {
  return new InvalidRequest({
    option,
    detail: `${option} must be one of ${accepted.map((word) => JSON.stringify(word)).join(", ")}; got ${firstOf(got, 80)}.`,
  });
}
