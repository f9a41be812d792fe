/** Schemas of the parameters of Hull's own tools. Pure. */
import type { JsonObject } from "../skill/manifest.ts";

export const text = (description: string) => ({ type: "string", description });
export const texts = (description: string) => ({ type: "array", items: { type: "string" }, description });
export const whole = (description: string, minimum = 0) => ({ type: "integer", minimum, description });

/** An object with these members and no others. */
export const closedObject = (properties: JsonObject, required: string[]): JsonObject => ({
  type: "object",
  properties,
  required,
  additionalProperties: false,
});
