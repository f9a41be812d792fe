/**
 * The rules of the Agent Skills format for its fields. The strict verdict rejects by these rules, and loading warns
 * about them, with the same codes.
 */

const MAX_NAME = 64;
const MAX_DESCRIPTION = 1024;
const MAX_COMPATIBILITY = 500;

export interface BrokenRule {
  code: string;
  field: string;
  message: string;
  hint?: string;
}

/** Lengths are counted in code points. */
const lengthOf = (text: string): number => Array.from(text).length;

/** @param directory the folder's name; absent: the skill has no folder, and the name need not match */
export function brokenNameRules(name: string, directory: string | undefined): BrokenRule[] {
  const text = name.trim().normalize("NFKC");
  const length = lengthOf(text);
  const rules = [
    {
      fine: length <= MAX_NAME,
      code: "name_too_long",
      what: `has ${length} characters; at most ${MAX_NAME}`,
      hint: "Shorten it.",
    },
    {
      fine: text === text.toLowerCase(),
      code: "name_not_lowercase",
      what: "is not in lower case",
      hint: "Use lower-case letters.",
    },
    {
      fine: !text.startsWith("-") && !text.endsWith("-"),
      code: "name_edge_hyphen",
      what: "begins or ends with a hyphen",
      hint: "Remove that hyphen.",
    },
    {
      fine: !text.includes("--"),
      code: "name_double_hyphen",
      what: "has two hyphens in a row",
      hint: "Remove one of them.",
    },
    {
      fine: /^[\p{L}\p{Nd}\p{Nl}\p{No}-]*$/u.test(text),
      code: "name_characters",
      what: "has other characters than letters, digits and hyphens",
      hint: "Join the words with single hyphens.",
    },
    {
      fine: directory === undefined || directory.normalize("NFKC") === text,
      code: "name_directory_mismatch",
      what: `is not that of its folder, ${JSON.stringify(directory)}`,
      hint: "Rename one of the two.",
    },
  ];
  return rules.flatMap(({ fine, code, what, hint }) =>
    fine ? [] : [{ code, field: "name", message: `The name ${JSON.stringify(text)} ${what}.`, hint }],
  );
}

/** @param description trimmed or not: the strict verdict counts blanks at the ends too */
export function brokenDescriptionRules(description: string): BrokenRule[] {
  const length = lengthOf(description);
  if (length <= MAX_DESCRIPTION) return [];
  const message = `The description has ${length} characters; at most ${MAX_DESCRIPTION}.`;
  const hint = "Say what the skill does and when to use it; move the rest into the body.";
  return [{ code: "description_too_long", field: "description", message, hint }];
}

/** @param text `null`: it is a list or mapping */
export function brokenCompatibilityRules(text: string | null): BrokenRule[] {
  const field = "compatibility";
  if (text === null) {
    const message = "The field compatibility is a list or mapping, not a string.";
    return [{ code: "compatibility_type", field, message, hint: "Write it as one string." }];
  }
  const length = lengthOf(text);
  if (length <= MAX_COMPATIBILITY) return [];
  const message = `The field compatibility has ${length} characters; at most ${MAX_COMPATIBILITY}.`;
  return [{ code: "compatibility_too_long", field, message, hint: "Shorten it." }];
}

/** Whether a text has an opening or closing tag, which uploads refuse. */
function hasTag(text: string): boolean {
  const start = text.search(/<\/?[a-zA-Z]/);
  return start !== -1 && text.includes(">", start);
}

const RESERVED = /claude|anthropic/i;

/** What an upload through `/v1/skills` may not contain. */
export function brokenUploadRules(name: string, description: string): BrokenRule[] {
  const shown = `The name ${JSON.stringify(name)}`;
  const rules = [
    {
      fine: /^[a-z0-9-]+$/.test(name),
      code: "name_characters",
      field: "name",
      message: `${shown} has other characters than a-z, 0-9 and hyphens.`,
    },
    {
      fine: !RESERVED.test(name),
      code: "name_reserved",
      field: "name",
      message: `${shown} holds a reserved word: claude or anthropic.`,
    },
    { fine: !hasTag(name), code: "name_tags", field: "name", message: `${shown} holds an XML tag.` },
    {
      fine: !hasTag(description),
      code: "description_tags",
      field: "description",
      message: "The description holds an XML tag.",
    },
  ];
  const broken = rules.flatMap(({ fine, ...rule }) => (fine ? [] : [rule]));
  const long = brokenNameRules(name, undefined).filter(({ code }) => code === "name_too_long");
  return [...broken, ...long, ...brokenDescriptionRules(description)];
}
