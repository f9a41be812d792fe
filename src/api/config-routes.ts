/** The routes of a tenant's configuration of skills' tools. */
import * as z from "zod/mini";
import { shapesOf } from "../skill/field-kinds.ts";
import type { JsonObject } from "../skill/manifest.ts";
import { CONFIG_PARAM_FIELDS } from "../skill/tools-json/tool-fields.ts";
import { configShape } from "./answers/skills.ts";
import { configBody } from "./bodies/publishing.ts";
import { query } from "./openapi-parts.ts";
import { body, type Operations, reads } from "./operation.ts";
import { bodySchema, schemaOf } from "./shape-schema.ts";

const BOT: JsonObject = { type: "string", pattern: "^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$" };
const parameters = [query("bot", "A profile's values instead of those that count for every profile.", BOT)];
const outcome = "The values that count now";

export const CONFIG_OPERATIONS = {
  getConfig: reads(
    "skills",
    "What the tenant configured of the skill's tools; of secrets only whether they are set",
    "ToolConfig",
    { outcome, parameters },
  ),
  putConfig: reads(
    "skills",
    "Sets the values that it names; null resets one to the layer below",
    "ToolConfig",
    { outcome, parameters, body: body("ToolConfigChange") },
  ),
} satisfies Operations;

const byName = (value: JsonObject): JsonObject => ({ type: "object", additionalProperties: value });

/** Shapes of configuration, as JSON Schema 2020-12. */
export function configSchemas(): JsonObject {
  const param = schemaOf(z.object(shapesOf(CONFIG_PARAM_FIELDS)));
  return {
    ConfigParam: { ...param, description: "As the tool declares it." },
    ToolConfig: schemaOf(configShape),
    ToolConfigChange: bodySchema(configBody, {
      tools: { ...byName(byName({})), description: "Values by tool and parameter." },
    }),
  };
}
