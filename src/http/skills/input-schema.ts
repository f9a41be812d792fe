/** `input_schema` of a manifest: JSON Schema 2020-12, interpreted (Workers refuse generated code). */
import { Validator } from "@cfworker/json-schema";
import { InputSchemaMismatch } from "../../errors/request.ts";
import type { Json, JsonObject } from "../../skill/manifest.ts";

/** Most findings reported of one input. */
const MAX_ERRORS = 20;

/** @throws InputSchemaMismatch with a JSON pointer per finding */
export function checkInputSchema(schema: JsonObject, value: Json): void {
  const result = validated(schema, value);
  if (result.valid) return;
  const errors = result.errors
    .slice(0, MAX_ERRORS)
    .map((e) => ({ pointer: e.instanceLocation.replace(/^#/, ""), message: e.error }));
  throw new InputSchemaMismatch({ errors });
}

/** A schema that refers to itself is followed as deep as the input nests, in steps that take much stack. */
function validated(schema: JsonObject, value: Json): ReturnType<Validator["validate"]> {
  try {
    return new Validator(schema, "2020-12", false).validate(value);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    const message = "The input nests deeper than the schema can be followed.";
    throw new InputSchemaMismatch({ errors: [{ pointer: "", message }] });
  }
}
