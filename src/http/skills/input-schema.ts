/** `input_schema` of a manifest: JSON Schema 2020-12. */
import { InputSchemaMismatch } from "../../errors/request.ts";
import { validate } from "../../llm/validate.ts";
import type { Json, JsonObject } from "../../skill/manifest.ts";

/** Most findings reported of one input. */
const MAX_ERRORS = 20;

/** @throws InputSchemaMismatch with a JSON pointer per finding, or where the input cannot be checked */
export function checkInputSchema(schema: JsonObject, value: Json): void {
  const verdict = validate(schema, value, true);
  if ("refused" in verdict) {
    const message = `The input cannot be checked: ${verdict.refused}.`;
    throw new InputSchemaMismatch({ errors: [{ pointer: "", message }] });
  }
  const errors = verdict.findings.slice(0, MAX_ERRORS).map(({ pointer, message }) => ({ pointer, message }));
  if (errors.length > 0) throw new InputSchemaMismatch({ errors });
}
