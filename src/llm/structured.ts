/** Structured answers: what a request expects, and what is wrong with an answer. */

import { InvalidRequest, SchemaValidation } from "../errors/llm.ts";
import { isObject } from "../skill/json.ts";
import type { Json, JsonObject } from "../skill/manifest.ts";
import { extractJson } from "./extract.ts";
import type { CallOptions } from "./options.ts";
import type { CallTurn } from "./result.ts";
import { checkSchema, readSchema } from "./schema.ts";
import { schemaErrors } from "./validate.ts";

export interface Structured {
  /** The schema for the provider; `null`: any JSON. */
  wire: { schema: JsonObject; strict: boolean } | null;
  /** The schema that Hull checks the answer against. */
  check: JsonObject | null;
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
  const given = options.json_schema ?? options.schema;
  const format = readFormat(output_format);
  const wireSchema = format?.schema ?? given;
  const checked = options.output_schema ?? format?.schema ?? given;
  const wanted =
    response_format !== "text" || checked !== undefined || (format !== null && format.kind !== "text");
  const validation = VALIDATIONS.find((name) => name === (options.output_validation ?? "off"));
  if (validation === undefined) {
    throw notOneOf("output_validation", [...VALIDATIONS], String(options.output_validation));
  }
  if (!wanted) return null;
  const source = sourceOf(options);
  const wire = wireSchema ?? options.output_schema;
  if (format?.kind === "json_schema" && wire === undefined) {
    throw new InvalidRequest({
      option: "output_format.schema",
      detail: 'output_format of kind "json_schema" needs a schema.',
    });
  }
  const sent = format?.kind === "json_object" ? undefined : wire;
  return {
    wire: sent === undefined ? null : { schema: readSchema(sent, source), strict: format?.strict ?? true },
    check:
      checked === undefined
        ? null
        : readSchema(checked, options.output_schema === undefined ? source : "output_schema"),
    validation,
    retries: options.schema_retries ?? options.retries ?? 1,
    nudge: options.schema_retry_nudge ?? true,
  };
}

/** The option that holds the schema for the provider. */
function sourceOf({ json_schema, schema }: CallOptions): string {
  if (json_schema !== undefined) return "json_schema";
  return schema === undefined ? "output_format" : "schema";
}

/** Refuses schemas of a new request that no answer can match. @param structured of these options @throws InputInvalid */
export function checkSchemas(options: CallOptions, structured: Structured | null): void {
  const { check = null, wire = null } = structured ?? {};
  const source = sourceOf(options);
  const checked = options.output_schema === undefined ? source : "output_schema";
  if (check !== null) checkSchema(check, `options.${checked}`);
  if (wire !== null) checkSchema(wire.schema, `options.${source}`);
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
    const cut = turn.stop_reason === "max_tokens" ? ["the answer was cut off by max_tokens"] : [];
    const violations = turn.text_format?.protocol_violations ?? [];
    const errors = ["no JSON could be parsed from the answer", ...cut, ...violations];
    return { data: undefined, extracted: false, errors, category: "missing_json" };
  }
  const errors = structured.check === null ? [] : schemaErrors(structured.check, found.value);
  const category = errors.length > 0 ? "schema_validation" : null;
  return { data: found.value, extracted: found.cut, errors, category };
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
    detail: `${option} must be one of ${accepted.map((word) => JSON.stringify(word)).join(", ")}; got ${got.slice(0, 80)}.`,
  });
}
