/** Asks for JSON in words, for models and modes that need it. */
import type { ModelRequest } from "../engine/messages.ts";
import type { JsonObject } from "../skill/manifest.ts";

/** The system text with the schema for the answer. */
export function withSchema(system: string, schema: JsonObject): string {
  const ask = "Answer with one JSON document, nothing else. It must conform to this JSON Schema:";
  return joined(system, `${ask}\n${JSON.stringify(schema)}`);
}

/**
 * The request without a JSON mode if the model calls tools in its text: the mode would permit no text but the answer.
 * Words ask for the answer instead.
 */
export function withFreeText(request: ModelRequest): ModelRequest {
  const { json, json_as_text, schema, tools_in_text = [], ...rest } = request;
  if (!json || tools_in_text.length === 0) return request;
  const free = { ...rest, json: false, tools_in_text };
  if (json_as_text === true) return free;
  const ask = "When you need no further tool, answer with one JSON document, nothing else.";
  const form =
    schema === undefined ? "" : ` It must conform to this JSON Schema:\n${JSON.stringify(schema.schema)}`;
  return { ...free, system: joined(request.system, `${ask}${form}`) };
}

/**
 * The system text. Adds a word about JSON if the conversation never mentions it, since providers then refuse JSON modes.
 */
export const withJsonWord = (request: ModelRequest): string =>
  mentionsJson(request) ? request.system : joined(request.system, "Answer in JSON.");

export function mentionsJson({ system, messages }: ModelRequest): boolean {
  const parts = messages.flatMap((message) => (message.role === "user" ? message.content : []));
  return /json/i.test(system) || parts.some((part) => part.type === "text" && /json/i.test(part.text));
}

const joined = (system: string, more: string): string =>
  system.trim() === "" ? more : `${system}\n\n${more}`;
