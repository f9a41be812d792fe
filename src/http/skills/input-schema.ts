/** `input_schema` of a manifest: JSON Schema 2020-12, interpreted (Workers refuse generated code). */
import { Validator } from "@cfworker/json-schema";
import { InputSchemaMismatch } from "../../errors/request.ts";
import type { Json, JsonObject } from "../../skill/manifest.ts";

/** Most findings reported of one input. */
const MAX_ERRORS = 20;

/** @throws InputSchemaMismatch with a JSON pointer per finding */
export function checkInputSchema(schema: JsonObject, value: Json): void {
  const result = new Validator(schema, "2020-12", false).validate(value);
  if (result.valid) return;
  const errors = result.errors
    .slice(0, MAX_ERRORS)
    .map((e) => ({ pointer: e.instanceLocation.replace(/^#/, ""), message: e.error }));
  throw new InputSchemaMismatch({ errors });
}
