/** The routes of a tenant's configuration of skills' tools. */
import { CONFIG_LAYERS } from "../skill/config/effective.ts";
import type { JsonObject } from "../skill/manifest.ts";
import { CONFIG_SCOPES, CONFIG_TYPES } from "../skill/tools-json/tool-fields.ts";
import { configBody } from "./bodies/publishing.ts";
import { answer, MAYBE_TEXT, object, query, TEXT } from "./openapi-parts.ts";
import { body, json, type Operations, schema, slug } from "./operation.ts";
import { bodySchema } from "./shape-schema.ts";

const BOT: JsonObject = { type: "string", pattern: "^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$" };
const parameters = [
  slug,
  query("bot", "A profile's values instead of those that count for every profile.", BOT),
];
const answers = { 200: answer("The values that count now", json(schema("ToolConfig"))) };

export const CONFIG_OPERATIONS = {
  getConfig: {
    tag: "skills",
    summary: "What the tenant configured of the skill's tools; of secrets only whether they are set",
    parameters,
    answers,
    faults: [400, 404],
  },
  putConfig: {
    tag: "skills",
    summary: "Sets the values that it names; null resets one to the layer below",
    parameters,
    body: body(schema("ToolConfigChange")),
    answers,
    faults: [400, 404, 408, 413, 422],
  },
} satisfies Operations;

const byName = (value: JsonObject): JsonObject => ({ type: "object", additionalProperties: value });

/** Shapes of configuration, as JSON Schema 2020-12. */
export function configSchemas(): JsonObject {
  const param = {
    ...object({ name: TEXT, type: { enum: [...CONFIG_TYPES] }, scope: { enum: [...CONFIG_SCOPES] } }),
    description: "As the tool declares it.",
  };
  const layers = CONFIG_LAYERS.filter((name) => name !== "per_call");
  return {
    ToolConfig: object({
      skill: TEXT,
      bot: MAYBE_TEXT,
      tools: byName(
        object({
          params: { type: "array", items: param },
          values: { ...byName({}), description: "Of secrets `{set}`; without value and default: nothing." },
          sources: byName({ enum: ["default", ...layers] }),
          diagnostics: {
            type: "array",
            items: object({ code: TEXT, param: TEXT, source: { enum: layers }, message: TEXT }),
          },
        }),
      ),
    }),
    ToolConfigChange: bodySchema(configBody, {
      tools: { ...byName(byName({})), description: "Values by tool and parameter." },
    }),
  };
}
