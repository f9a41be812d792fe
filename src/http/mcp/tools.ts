/** Skills as MCP tools. */
import { closedObject, text } from "../../engine/parameters.ts";
import { rootObject } from "../../model/root-schema.ts";
import { takesAnyFile } from "../../run/agent/workspace-option.ts";
import type { JsonObject, Manifest, SkillRecord, SkillTool } from "../../skill/manifest.ts";
import { type Exchange, listedSkills, type Served, skillOf, staleMeta } from "./exchange.ts";
import type { Outcome } from "./message.ts";

/** Separates the name of a skill from that of one of its own tools, which begins with a letter. */
const SEPARATOR = "__";
/** Replaces the `--` between the namespace and the name of a slug in a tool's name. */
const NAMESPACE = "___";

/** `tools/list`: each skill, followed by its own tools. */
export const listTools = (exchange: Exchange, params: JsonObject): Promise<Outcome> =>
  listedSkills(exchange, params, "tools", ({ card, record }) =>
    [
      skillAsTool(exchange, record),
      ...(record.tools ?? []).filter(({ hidden }) => !hidden).map((tool) => ownTool(exchange, record, tool)),
    ].map((tool) => ({ ...tool, ...staleMeta(card) })),
  );

/** What a tool's name refers to; `null` if nothing has this name. */
export type Named = Served & { tool: SkillTool | null };

export async function toolNamed(exchange: Exchange, name: string): Promise<Named | null> {
  const [, skill = "", own] = /^([a-z0-9]+(?:_(?:__)?[a-z0-9]+)*)(?:__([a-z].*))?$/.exec(name) ?? [];
  const slug = skill.replaceAll(NAMESPACE, "--").replaceAll("_", "-");
  const served = slug === "" ? null : await skillOf(exchange, slug);
  if (served === null || own === undefined) return served === null ? null : { ...served, tool: null };
  const tool = served.record.tools?.find((known) => known.name === own);
  return tool === undefined ? null : { ...served, tool };
}

const toolName = ({ slug }: Manifest): string => slug.replaceAll("--", NAMESPACE).replaceAll("-", "_");

function skillAsTool({ context }: Exchange, record: SkillRecord): JsonObject {
  const { manifest } = record;
  const still = manifest.mode === "static-file";
  return {
    name: toolName(manifest),
    title: manifest.name,
    description: manifest.description,
    inputSchema: inputSchema(manifest, takesAnyFile(context, record)),
    ...(still ? { annotations: { readOnlyHint: true, idempotentHint: true, openWorldHint: false } } : {}),
  };
}

/** The schema of a tool's structured results; `null` if this revision supports none for the tool. */
export function structuredSchema({ protocol }: Exchange, { output_schema }: SkillTool): JsonObject | null {
  if (output_schema === undefined) return null;
  // Up to 2025-11-25 they must be objects.
  return protocol.modern || output_schema.type === "object" ? output_schema : null;
}

function ownTool(exchange: Exchange, { manifest }: SkillRecord, tool: SkillTool): JsonObject {
  const { display } = tool;
  const outputSchema = structuredSchema(exchange, tool);
  return {
    name: `${toolName(manifest)}${SEPARATOR}${tool.name}`,
    ...(display?.display_name === undefined ? {} : { title: display.display_name }),
    description: tool.description,
    inputSchema: rootObject({ ...tool.parameters, type: "object" }),
    ...(outputSchema === null ? {} : { outputSchema }),
    annotations: {
      readOnlyHint: !tool.side_effects,
      idempotentHint: tool.idempotent,
      destructiveHint: tool.risk === "dangerous" || tool.risk === "critical",
      openWorldHint: tool.network !== null,
    },
  };
}

const ID_OR_CONTENT: JsonObject = {
  anyOf: [
    text("Id of a stored file (POST /files)."),
    closedObject(
      {
        filename: { type: "string" },
        mime_type: { type: "string" },
        data: text("The content in Base64."),
      },
      ["mime_type", "data"],
    ),
  ],
};

/**
 * The schema of a tool's arguments. MCP requires an object, so an input of another kind becomes its member `input`. Clients
 * pass the schema on to providers, or leave out the tool, so it is one that every provider accepts.
 * @param anyFile the skill accepts files in addition to its input
 */
function inputSchema({ input, input_schema }: Manifest, anyFile: boolean): JsonObject {
  if (input_schema !== undefined && takesWhole(input_schema)) return rootObject(input_schema);
  const properties: JsonObject =
    input === "none"
      ? {}
      : {
          input: input_schema ?? text("What the skill is asked."),
          ...(input === "file" || anyFile
            ? { files: { type: "array", items: ID_OR_CONTENT, minItems: 1 } }
            : {}),
        };
  const required = input === "none" ? [] : [input === "file" ? "files" : "input"];
  return closedObject(properties, required);
}

/** Whether a tool's arguments are the whole input of a skill with this schema. */
export function takesWhole(schema: JsonObject): boolean {
  return schema.type === "object";
}
