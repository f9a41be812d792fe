/** The keys of a tool in tools.json. The reader, the table of docs/tools.md and the JSON Schema for editors follow. */
import type { Fields } from "../field-kinds.ts";
import { DISPLAY_FIELDS, EXTENSION_FIELDS } from "../manifest.ts";

/** The keys of the format. */
export const FORMAT_FIELDS = {
  name: { kind: "text", required: true },
  description: { kind: "text", required: true },
  script: { kind: "text" },
  parameters: { kind: "map" },
} as const satisfies Fields;

export const TOOL_FIELDS = { ...FORMAT_FIELDS, ...EXTENSION_FIELDS, ...DISPLAY_FIELDS };
