/** The strict verdict on a SKILL.md: what the reference validator of Agent Skills accepts and rejects. */
import {
  type BrokenRule,
  brokenCompatibilityRules,
  brokenDescriptionRules,
  brokenNameRules,
} from "./field-rules.ts";
import type { Findings } from "./findings.ts";
import { readStrictly, type StrictFault, type StrictFields } from "./frontmatter/strict.ts";
import { FORMAT_FIELDS } from "./manifest-fields.ts";
import { byteOrder } from "./path.ts";
import type { Position } from "./tree.ts";

/** Enters the validator's rejections as errors, in its order. @param text a byte order mark is ignored */
export function validateStrictly(findings: Findings, text: string, directory: string | undefined): void {
  const reading = readStrictly(text);
  if ("fault" in reading) {
    const message = `The Agent Skills format does not accept the frontmatter: ${reading.why.replace(/\.$/, "")}.`;
    findings.error(reading.fault, { at: { line: 1, column: 1 } }, message, HINTS[reading.fault]);
    return;
  }
  for (const { code, field, message, hint } of brokenRules(reading.fields, directory))
    findings.error(code, { path: field, at: locationOf(text, field) }, message, hint);
}

const HINTS: { [fault in StrictFault]: string } = {
  frontmatter_missing: "Begin the file, at its first character, with a line that holds only ---.",
  frontmatter_unclosed: "Close the frontmatter with a line that holds only ---.",
  frontmatter_yaml: "Write one field to a line, and strings with special characters in quotes.",
  frontmatter_not_mapping: "Write one field to a line: its name, a colon, a space and its value.",
};

/** The position of a field: the first of several; the beginning of the text for a missing one. */
function locationOf(text: string, field: string): Position {
  const [first = ""] = field.split(", ");
  const line = text.split(/\r\n?|\n/).findIndex((each) => each.startsWith(`${first}:`));
  return { line: Math.max(1, line + 1), column: 1 };
}

function brokenRules(fields: StrictFields, directory: string | undefined): BrokenRule[] {
  const unknown = Array.from(fields.keys())
    .filter((key) => !FORMAT_FIELDS.includes(key))
    .sort(byteOrder);
  const names = unknown.join(", ");
  const others = `The format has no fields ${names}; it has ${FORMAT_FIELDS.join(", ")}.`;
  const hint = "Put your own fields below metadata.";
  const compatibility = fields.get("compatibility");
  return [
    ...(unknown.length === 0 ? [] : [{ code: "unknown_fields", field: names, message: others, hint }]),
    ...required("name", fields, (text) => brokenNameRules(stripped(text), directory)),
    ...required("description", fields, brokenDescriptionRules),
    ...(compatibility === undefined ? [] : brokenCompatibilityRules(compatibility)),
  ];
}

/** As the reference strips a text: U+0085 is a blank too. */
const stripped = (text: string): string => text.replaceAll("\x85", " ").trim();

function required(field: string, fields: StrictFields, rules: (text: string) => BrokenRule[]): BrokenRule[] {
  const value = fields.get(field);
  if (value === undefined)
    return [
      {
        code: `${field}_missing`,
        field,
        message: `The field ${field} is required.`,
        hint: `Add ${field}: and a string.`,
      },
    ];
  if (value === null || stripped(value) === "")
    return [
      {
        code: `${field}_empty`,
        field,
        message: `The field ${field} must be a string that is not blank.`,
        hint: `Write a string after ${field}:, in quotes if it begins with a special character.`,
      },
    ];
  return rules(value);
}
