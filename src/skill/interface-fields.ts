/** How to call a skill and what it answers: input, output, method, route, limits. */

import { checkFile, type SkillFiles } from "./command.ts";
import type { Values } from "./field-kinds.ts";
import { readText, wrongType } from "./fields.ts";
import type { Findings } from "./findings.ts";
import { isObject } from "./json.ts";
import { parsedFile } from "./json-depth.ts";
import { schemaFaults } from "./json-schema.ts";
import type { JsonObject, Manifest, Mode } from "./manifest.ts";
import { COMMON_FIELDS } from "./manifest-fields.ts";
import { isMediaPattern, isMediaType, isTextType, mediaTypeOf } from "./media.ts";
import { normaliseRoute, reservedBy } from "./route.ts";
import { items, mapToJson, partOf, type Slot, stringOf } from "./tree.ts";

type Read = Values<typeof COMMON_FIELDS>;

/** Whether a manifest names this `timeout_ms`, and one other than the default. */
export const isNamed = (timeout_ms: number | undefined): boolean =>
  timeout_ms !== undefined && timeout_ms !== COMMON_FIELDS.timeout_ms.default;

/** The `deadline_ms` of a manifest, if the manifest names one. */
export const namedDeadline = ({
  deadline_ms,
  deadline_named = false,
  timeout_ms,
}: Manifest): number | undefined =>
  deadline_named || deadline_ms !== usualDeadline(timeout_ms) ? deadline_ms : undefined;

/** The `deadline_ms` of a manifest that names none. */
const usualDeadline = (timeout_ms: number): number => Math.max(300_000, timeout_ms);

/** What depends on other fields where the manifest does not say it. */
export function interfaceOf(
  read: Read,
  mode: Mode,
): Pick<Manifest, "method" | "input" | "output" | "deadline_ms" | "deadline_named"> {
  const { serve, output_mime = serve === undefined ? "text/plain" : mediaTypeOf(serve), timeout_ms } = read;
  return {
    method: read.method ?? (mode === "static-file" ? "GET" : "POST"),
    input: inputOf(read, mode),
    output: read.output ?? (isTextType(output_mime) ? "text" : "file"),
    deadline_ms: read.deadline_ms ?? usualDeadline(timeout_ms),
    ...(read.deadline_ms === usualDeadline(timeout_ms) ? { deadline_named: true } : {}),
  };
}

function inputOf(
  { input, input_mime = [] }: Partial<Read>,
  mode: Mode | undefined,
): NonNullable<Read["input"]> {
  if (input !== undefined) return input;
  if (mode === "static-file") return "none";
  return input_mime.some((type) => !isTextType(type)) ? "file" : "text";
}

/** The `route` field in its exact form. @param own the path that the skill has without it */
export function readRoute(findings: Findings, slot: Slot, own: string): string | undefined {
  const text = readText(findings, slot)?.trim();
  if (text === undefined) return undefined;
  const form = normaliseRoute(text);
  if ("problem" in form) {
    findings.error(
      "route_form",
      slot,
      `The route ${text} is not accepted: ${form.problem}.`,
      "Write a plain path of letters, digits, -, _ and /, for example /weather/today.",
    );
    return undefined;
  }
  const reserved = reservedBy(form.path);
  if (reserved === null) return form.path;
  findings.error(
    "reserved_route",
    slot,
    `The route ${form.path} is not free: Hull itself serves ${reserved}.`,
    `Choose another path, or remove route to use ${own}.`,
  );
  return undefined;
}

/** Types that each skill of text input takes. */
const TAKEN_AS_TEXT = /^(?:text\/|application\/json$)/;

/** @param read the fields that say what a call sends */
export function readInputMime(
  findings: Findings,
  slot: Slot,
  read: Partial<Read>,
  mode: Mode | undefined,
): string[] {
  const slots = slot.node.kind === "list" ? items(slot.node, slot.path) : [slot];
  const types = slots.flatMap((item) => {
    const type = stringOf(item.node)?.trim().toLowerCase() ?? "";
    if (isMediaPattern(type)) return [type];
    findings.error(
      "media_type",
      item,
      `${item.path} must be a media type without parameters; type/* means all of a kind.`,
      "Write for example image/png, image/* or a list of them; leave input_mime out to accept anything.",
    );
    return [];
  });
  const input = inputOf({ ...read, input_mime: types }, mode);
  if (input === "none" || (input === "text" && types.every((type) => TAKEN_AS_TEXT.test(type)))) {
    const message = `input_mime has no effect with input: ${input}; it limits the types of files.`;
    findings.info("input_mime_without_file", slot, message, "Set input: file, or remove input_mime.");
  }
  return types;
}

export function readOutputMime(findings: Findings, slot: Slot): string | undefined {
  const type = readText(findings, slot)?.trim();
  if (type === undefined || isMediaType(type)) return type;
  findings.error(
    "media_type",
    slot,
    "output_mime must be a media type.",
    "Write for example text/csv or image/png.",
  );
  return undefined;
}

/** @param read the fields that say what a call sends */
export function readSchema(
  findings: Findings,
  slot: Slot,
  read: Partial<Read>,
  mode: Mode | undefined,
  files: SkillFiles | undefined,
): JsonObject | undefined {
  const input = inputOf(read, mode);
  if (mode === "proxy") {
    findings.warning(
      "schema_without_text",
      slot,
      "input_schema has no effect on a proxy skill, whose upstream gets each body as it is.",
      "Let the upstream check its input, and remove input_schema.",
    );
  } else if (input !== "text") {
    findings.warning(
      "schema_without_text",
      slot,
      `input_schema applies to JSON input and has no effect with input: ${input}.`,
      "Set input: text, or remove input_schema.",
    );
  }
  const schema = schemaValue(findings, slot, files);
  const fault = schema === undefined ? undefined : schemaFaults(schema)[0];
  if (fault === undefined) return input === "text" && mode !== "proxy" ? schema : undefined;
  findings.error(
    "schema_invalid",
    partOf(slot, fault),
    `input_schema is not a JSON Schema 2020-12: the value at "${fault}" is not allowed there.`,
    'Write for example {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}.',
  );
  return undefined;
}

/** The schema as written: a mapping, or the content of the named file. */
function schemaValue(findings: Findings, slot: Slot, files: SkillFiles | undefined): JsonObject | undefined {
  if (slot.node.kind === "map") return mapToJson(slot.node);
  const text = stringOf(slot.node);
  if (text === null) {
    wrongType(findings, slot, "a JSON Schema as a mapping, or the path of a JSON file");
    return undefined;
  }
  const path = checkFile(findings, slot, text, files ?? new Map());
  const bytes = path === undefined ? undefined : files?.get(path);
  if (bytes === undefined) return undefined;
  const value = parsedFile(bytes);
  if (isObject(value)) return value;
  findings.error(
    "schema_file",
    slot,
    `The file ${path} does not hold a JSON object${value === undefined ? ": it is not valid JSON, or nests too deep" : ""}.`,
    'Put a JSON Schema into it, for example {"type": "object"}.',
  );
  return undefined;
}
