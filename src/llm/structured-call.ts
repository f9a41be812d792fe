/** `POST /llm/structured`: JSON or the reason why there is none, in one envelope. */
import * as z from "zod/mini";
import { about, count, flag, json, type Shaped, text } from "../answer-shape.ts";
import { warnings } from "../engine/messages.ts";
import { isObject } from "../skill/json.ts";
import type { Json, JsonObject } from "../skill/manifest.ts";
import type { CallInput } from "./prepare.ts";
import {
  added,
  type CallFigures,
  type CallTurn,
  callExtras,
  callFigures,
  eachOnce,
  type LlmResult,
  shownFigures,
} from "./result.ts";
import { checkSchema, readSchema } from "./schema.ts";
import type { Checked } from "./structured.ts";

/** A call's result and the figures of its structured answer. */
export interface CallOutcome {
  result: LlmResult;
  turn: CallTurn;
  figures: CallFigures;
  /** Attempts made, including the first. */
  attempts: number;
  /** `null`: the request did not ask for JSON. */
  checked: Checked | null;
  /** Models whose providers refused to search tools. */
  refused_searches: string[];
}

type Call = (input: CallInput) => Promise<CallOutcome>;

/** JSON, or the reason why there is none. */
export type StructuredEnvelope = Shaped<typeof structuredResult>;
export const structuredResult = () =>
  z.object({
    ok: flag(),
    data: json(),
    raw_text: text(),
    error: json(),
    error_category: about(
      z.nullable(text()),
      "`missing_json`, `schema_validation`, `repair_failed` or the category of a failed call.",
    ),
    attempts: count(),
    repaired: flag(),
    extracted_json: flag(),
    usage: z.nullable(callFigures()),
    model: z.nullable(text()),
    provider: z.nullable(text()),
    warnings: warnings(),
    ...callExtras().shape,
  });

/** The envelope, and the call that it began with; `null`: no model answered. */
interface StructuredAnswer {
  envelope: StructuredEnvelope;
  outcome: CallOutcome | null;
}

const DEFAULT_RETRIES = 3;

/**
 * Calls until the answer matches; with `repair`, a last call asks to turn the text into conforming JSON.
 * @param describe makes the caller's view of a failure
 * @throws errors of the request itself
 */
export async function callStructured(
  input: CallInput,
  schema: JsonObject,
  call: Call,
  describe: (error: unknown) => { error: Json; category: string } | null,
): Promise<StructuredAnswer> {
  checkSchema(readSchema(schema, "schema"), "schema");
  const { repair, retries, ...options } = input.options;
  const asked: JsonObject = {
    response_format: "json",
    schema_retries: retries ?? DEFAULT_RETRIES,
    ...options,
    output_schema: schema,
    json_schema: options.json_schema ?? schema,
    output_validation: "off",
  };
  let outcome: CallOutcome;
  try {
    outcome = await call({ ...input, options: asked });
  } catch (error) {
    const described = describe(error);
    if (described === null) throw error;
    const envelope = { ...EMPTY, error: described.error, error_category: described.category };
    return { envelope, outcome: null };
  }
  const envelope = envelopeOf(outcome);
  if (envelope.ok || !wantsRepair(repair)) return { envelope, outcome };
  return { envelope: await repaired(schema, asked, repair, outcome, call, describe), outcome };
}

const EMPTY: StructuredEnvelope = {
  ok: false,
  data: null,
  raw_text: "",
  error: null,
  error_category: null,
  attempts: 1,
  repaired: false,
  extracted_json: false,
  usage: null,
  model: null,
  provider: null,
};

function envelopeOf({ checked, turn, figures, attempts, result }: CallOutcome): StructuredEnvelope {
  const errors = checked?.errors ?? [];
  const ok = errors.length === 0;
  return {
    ok,
    data: ok ? (checked?.data ?? null) : null,
    raw_text: turn.text,
    error: ok ? null : errors.join("; "),
    error_category: ok ? null : (checked?.category ?? "schema_validation"),
    attempts,
    repaired: false,
    extracted_json: checked?.extracted ?? false,
    usage: shownFigures(figures),
    model: turn.model,
    provider: turn.provider,
    ...(result.warnings === undefined ? {} : { warnings: result.warnings }),
  };
}

const wantsRepair = (repair: Json | undefined): repair is JsonObject | true =>
  repair === true || (isObject(repair) && repair.enabled === true);

/** Options of the first call that say nothing about a text that is to become JSON. */
const CONVERSATION = new Set([
  "messages",
  "transcript",
  "tools",
  "tool_choice",
  "tool_search",
  "tool_format",
  "tool_examples",
]);
const withoutConversation = (options: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(options).filter(([name]) => !CONVERSATION.has(name)));

async function repaired(
  schema: JsonObject,
  asked: JsonObject,
  repair: JsonObject | true,
  first: CallOutcome,
  call: Call,
  describe: (error: unknown) => { error: Json; category: string } | null,
): Promise<StructuredEnvelope> {
  const { enabled: _, ...overrides } = repair === true ? {} : repair;
  const options = {
    ...withoutConversation(asked),
    ...overrides,
    schema_retries: 0,
    output_validation: "off",
  };
  const prompt = [
    "Turn the text below into JSON that matches this schema. Keep its facts, add none. Answer with the JSON only.",
    `Schema:\n${JSON.stringify(schema)}`,
    `Text:\n${first.turn.text}`,
  ].join("\n\n");
  const before = envelopeOf(first);
  const failed = { ...before, error_category: "repair_failed" };
  try {
    const outcome = await call({ prompt, system: null, options });
    const second = envelopeOf(outcome);
    const usage = shownFigures(added(first.figures, outcome.figures));
    const attempts = first.attempts + 1;
    const warned = [...(before.warnings ?? []), ...(second.warnings ?? [])];
    const both = { raw_text: first.turn.text, usage, attempts, ...eachOnce(warned) };
    if (!second.ok) return { ...failed, error: second.error, ...both };
    return { ...second, repaired: true, ...both };
  } catch (error) {
    const described = describe(error);
    if (described === null) throw error;
    return { ...failed, error: described.error };
  }
}
