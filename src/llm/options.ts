/** The options of a model call: this file checks known names and types (422); their users check the meaning (400). */
import * as z from "zod/mini";
import { checked, type Fault, faultsIn, MAX_FAULTS } from "../engine/fault.ts";
import { once } from "../memo.ts";
import { reservedMembers } from "../model/reserved.ts";
import { MAX_MS } from "../skill/field-kinds.ts";
import { isObject, withoutNulls } from "../skill/json.ts";
import { anyJson, jsonObject } from "../skill/json-shape.ts";
import type { JsonObject } from "../skill/manifest.ts";
import { nearest } from "../skill/match.ts";
import { messageShape } from "./messages.ts";
import { thinkingShape } from "./thinking.ts";
import { transcriptShape } from "./transcript.ts";

const maybe = z.exactOptional;
/** The fault of a value that is neither a text nor a list of texts. */
export const TEXTS = "must be a string or a list of strings";

/** What Hull takes if a call does not say it. */
export const CALL_DEFAULTS = { max_tokens: 16_384, llm_backoff_ms: 2000 } as const;

/** The shape of every option. Any other key is a provider's name, with that provider's own part of the request. */
function shapes() {
  const text = z.string();
  const texts = z.array(text);
  const number = z.number();
  const count = z.int().check(z.nonnegative());
  const flag = z.boolean();
  const json = anyJson();
  const object = jsonObject();
  const amount = number.check(z.nonnegative());
  return {
    provider: maybe(text),
    model: maybe(text),
    model_tier: maybe(text),
    max_tokens: maybe(z.int()),
    temperature: maybe(number),
    top_p: maybe(number),
    top_k: maybe(z.int()),
    seed: maybe(z.int()),
    frequency_penalty: maybe(number),
    presence_penalty: maybe(number),
    stop: maybe(z.union([texts, text], TEXTS)),
    response_format: maybe(text),
    schema: maybe(object),
    json_schema: maybe(object),
    output_schema: maybe(object),
    output_format: maybe(z.union([text, object], "must be a kind, or {kind, schema?, strict?}")),
    output_validation: maybe(text),
    schema_retries: maybe(count),
    schema_retry_nudge: maybe(z.union([flag, text], "must be true, false or a string")),
    llm_retries: maybe(count),
    llm_backoff_ms: maybe(count),
    thinking: maybe(thinkingShape()),
    reasoning_effort: maybe(z.enum(["low", "medium", "high"])),
    interleaved_thinking: maybe(flag),
    anthropic_beta_features: maybe(texts),
    vision: maybe(flag),
    audio: maybe(flag),
    pdf: maybe(flag),
    tools: maybe(
      z.union([z.array(json), object], "must be a list of tools, or an object whose tools is one"),
    ),
    tool_choice: maybe(
      z.union([text, z.strictObject({ name: text })], "must be auto, none, required or {name}"),
    ),
    tool_search: maybe(json),
    tool_format: maybe(z.enum(["native", "text"])),
    tool_examples: maybe(text),
    cache: maybe(flag),
    stream: maybe(flag),
    timeout_ms: maybe(z.int().check(z.positive(), z.maximum(MAX_MS))),
    idle_timeout_ms: maybe(z.int().check(z.positive(), z.maximum(MAX_MS))),
    // The same two in seconds, under Harn's names.
    timeout: maybe(number.check(z.positive(), z.maximum(MAX_MS / 1000))),
    idle_timeout: maybe(number.check(z.positive(), z.maximum(MAX_MS / 1000))),
    prefill: maybe(text),
    messages: maybe(z.array(messageShape)),
    transcript: maybe(transcriptShape),
    session_id: maybe(text),
    budget: maybe(
      z.strictObject({
        max_cost_usd: maybe(amount),
        total_budget_usd: maybe(amount),
        max_input_tokens: maybe(count),
        max_output_tokens: maybe(count),
      }),
    ),
    route_policy: maybe(
      z.union(
        [text, z.strictObject({ mode: text, target: maybe(text) })],
        "must be a mode, or {mode, target?}",
      ),
    ),
    fallback_chain: maybe(z.union([texts, text], TEXTS)),
    metadata: maybe(object),
    mock: maybe(z.array(json)),
    retries: maybe(count),
    repair: maybe(
      z.union([flag, z.looseObject({ enabled: maybe(flag) })], "must be true, false or {enabled}"),
    ),
  };
}

/** Options whose members also count as absent when they are `null`. */
const STRUCTURES = new Set(["budget", "route_policy", "output_format", "tool_choice"]);

const schema = once(() => z.object(shapes()));
/** A call's options without the parts for providers. */
export const callOptions = z.lazy(schema);
const optionNames = once((): ReadonlySet<string> => new Set(Object.keys(schema().shape)));
/** Options with time limits in ms, whatever unit was given. */
export type CallOptions = Omit<z.infer<typeof callOptions>, "timeout" | "idle_timeout">;

/** The options of a call: by name, and the additional ones for each provider. */
interface ReadOptions {
  options: CallOptions;
  /** By provider name. */
  own: Record<string, JsonObject>;
}

/**
 * Checks given options; `null` counts as absent.
 * @param isProvider whether a name is a provider's, so that its value may be an object
 * @param further more names to suggest for a misspelt one
 */
export function readOptions(
  given: JsonObject,
  isProvider: (name: string) => boolean,
  further: readonly string[] = [],
): ReadOptions | { faults: Fault[] } {
  const known: Record<string, unknown> = {};
  const own: Record<string, JsonObject> = {};
  const faults: Fault[] = [];
  const names = optionNames();
  for (const [name, value] of Object.entries(given)) {
    if (faults.length >= MAX_FAULTS) return { faults };
    if (value === null) continue;
    const path = `options.${name}`;
    if (names.has(name)) known[name] = STRUCTURES.has(name) ? withoutNulls(value) : value;
    else if (!isProvider(name)) {
      const message = `there is no option "${name}"${suggestion(name, [...names, ...further])}`;
      faults.push({ path, message });
    } else if (isObject(value)) {
      own[name] = value;
      faults.push(...reservedIn(path, value));
    } else faults.push({ path, message: `${path} must be an object` });
  }
  const parsed = parseSparse(schema(), known);
  if (!parsed.success) faults.push(...faultsIn(parsed.error, known, ["options"]));
  return faults.length > 0 || !parsed.success ? { faults } : { options: inMilliseconds(parsed.data), own };
}

/** A limit in whole ms; below 1 ms, it is 1 ms. */
const toMs = (seconds: number): number => Math.max(1, Math.round(seconds * 1000));

/** Converts limits in seconds to ms; a limit given in ms wins. */
function inMilliseconds({ timeout, idle_timeout, ...options }: z.infer<typeof callOptions>): CallOptions {
  return {
    ...(timeout === undefined ? {} : { timeout_ms: toMs(timeout) }),
    ...(idle_timeout === undefined ? {} : { idle_timeout_ms: toMs(idle_timeout) }),
    ...options,
  };
}

/** The members that a caller may not add to a provider's request. @param option that holds them */
function reservedIn(option: string, part: JsonObject): Fault[] {
  return reservedMembers(part).map(({ path, reason }) => {
    const member = `${option}.${path}`;
    return { path: member, message: `${member} cannot be set: ${reason}` };
  });
}

/** @param known names of options */
export function suggestion(name: string, known: readonly string[]): string {
  const [near] = nearest(name, known);
  return near === undefined ? "" : `; did you mean "${near}"?`;
}

/**
 * Like `schema.safeParse`, for an object whose members are all optional and whose unknown members are ignored. zod
 * checks every member of the shape, even absent ones; checking only those present is faster.
 */
export function parseSparse<Shape extends { readonly [name: string]: z.ZodMiniType }>(
  schema: z.ZodMiniObject<Shape>,
  given: Record<string, unknown>,
): ReturnType<typeof checked<z.infer<typeof schema>>> {
  const { shape } = schema;
  const read: unknown[][] = [];
  for (const [name, value] of Object.entries(given)) {
    const member = Object.hasOwn(shape, name) ? shape[name] : undefined;
    if (member === undefined) continue;
    const parsed = checked(member, value);
    // The whole schema reports the faults, in its order and words.
    if (!parsed.success) return checked(schema, given);
    read.push([name, parsed.data]);
  }
  return { success: true, data: Object.fromEntries(read) };
}
