/**
 * Shapes of frontmatter as public skills have them, each in our own words: what loads, with which findings, and what is
 * refused because its meaning is ambiguous. Strict judges by the format alone.
 */
import { describe, expect, test } from "vitest";
import { parseSkill } from "../../../src/skill/parse-skill.ts";

const DIRECTORY = "tidy-notes";
const NAMED = "name: tidy-notes\n";
const yaml = ["frontmatter_yaml"];
const repaired = ["yaml_quoted_retry"];
const missing = ["frontmatter_missing"];
const SORTS = "Sorts notes. Use when notes pile up.";

interface Shape {
  /** All of the file; else the lines below `name`. */
  text?: string;
  fields?: string;
  /** Codes that strict rejects for. */
  strict: string[];
  /** Codes of warnings and errors of the lenient reading. */
  lenient: string[];
  /** As loaded; absent: it does not load. */
  description?: string;
  has?: object;
}

const SHAPES: Record<string, Shape> = {
  // Values that YAML takes for something else.
  "a colon in the description": {
    fields: "description: Sorts notes: by date, by tag",
    strict: yaml,
    lenient: repaired,
    description: "Sorts notes: by date, by tag",
  },
  "a colon at the end, and a list below": {
    fields: "description: Use when:\n  - notes pile up\n  - tags are missing",
    strict: yaml,
    lenient: repaired,
    description: "Use when: - notes pile up - tags are missing",
  },
  "a colon in a continued line": {
    fields: "description: Sorts notes. Keywords: tidy,\n  clean, sort: all of them",
    strict: yaml,
    lenient: repaired,
    description: "Sorts notes. Keywords: tidy, clean, sort: all of them",
  },
  "a colon in the second line only": {
    fields: `description: Sorts notes.\n  Keywords: "tidy", "clean"`,
    strict: yaml,
    lenient: repaired,
    description: 'Sorts notes. Keywords: "tidy", "clean"',
  },
  "a description of several lines, and a colon in another field": {
    fields: "description: Sorts notes.\n  Use when notes pile up.\nargument-hint: folder: where they are",
    strict: yaml,
    lenient: repaired,
    description: SORTS,
  },
  "dialogues at the margin, of which the last one does not end": {
    fields:
      "description: Sorts: notes. Examples:\n\n<example>\nuser: Tidy: up\n</example>\n<example>\nuser: b\nlicense: MIT",
    strict: yaml,
    lenient: [...repaired, "unknown_fields"],
    description: "Sorts: notes. Examples: <example> user: Tidy: up </example> <example>",
    has: { license: "MIT", extra: { user: "b" } },
  },
  "text after the sign of a folded block": {
    fields: `description: > ${SORTS}\nmetadata:\n  author: somebody`,
    strict: yaml,
    lenient: repaired,
    description: SORTS,
    has: { metadata: { author: "somebody" } },
  },
  "text after the sign of a literal block": {
    fields: `description: | ${SORTS}`,
    strict: yaml,
    lenient: repaired,
    description: SORTS,
  },
  "text after the sign of a block that is stripped, and more below": {
    fields: "description: >- Sorts notes.\n  Use when notes pile up.",
    strict: yaml,
    lenient: repaired,
    description: SORTS,
  },
  "a literal block that is not indented": {
    fields: "description: |\nSorts notes.\nUse when: notes pile up.\n\nExamples: many\nlicense: MIT",
    strict: yaml,
    lenient: repaired,
    description: "Sorts notes.\nUse when: notes pile up.\n\nExamples: many",
    has: { license: "MIT" },
  },
  "a folded block that is not indented": {
    fields: "description: >\nSorts notes.\nUse when notes pile up.\nallowed-tools: Read, Write",
    strict: yaml,
    lenient: repaired,
    description: SORTS,
    has: { allowed_tools: ["Read", "Write"] },
  },
  "text on the lines below the key, not indented": {
    fields: "description:\nSorts notes. Use when notes\npile up.",
    strict: yaml,
    lenient: repaired,
    description: SORTS,
  },
  "a line that continues at the margin": {
    fields: "description: Sorts notes. Use when\nnotes pile up.",
    strict: yaml,
    lenient: repaired,
    description: SORTS,
  },
  "a quotation, and text after it": {
    fields: 'description: "tidy" or "sort" means this skill',
    strict: yaml,
    lenient: repaired,
    description: '"tidy" or "sort" means this skill',
  },
  "several quotations": {
    fields: `description: ${SORTS}\nwhen_to_use: "tidy up", "sort my notes", clean`,
    strict: yaml,
    lenient: repaired,
    description: SORTS,
    has: { activation: { when_to_use: '"tidy up", "sort my notes", clean' } },
  },
  "several quotations, a last one too": {
    fields: `description: "tidy", 'sort', "clean"`,
    strict: yaml,
    lenient: repaired,
    description: `"tidy", 'sort', "clean"`,
  },
  "quotation marks inside of the same marks": {
    fields: 'description: "Use when the user says "tidy up" or "sort""',
    strict: yaml,
    lenient: repaired,
    description: 'Use when the user says "tidy up" or "sort"',
  },
  "an apostrophe inside of apostrophes": {
    fields: "description: 'Sorts the user's notes'",
    strict: yaml,
    lenient: repaired,
    description: "Sorts the user's notes",
  },
  "a path with backslashes in quotation marks": {
    fields: String.raw`description: "Sorts C:\projects\notes"`,
    strict: yaml,
    lenient: repaired,
    description: String.raw`Sorts C:\projects\notes`,
  },
  "quotation marks that end at the margin": {
    fields: 'description: "Sorts notes. Use when\nnotes pile up."',
    strict: yaml,
    lenient: repaired,
    description: SORTS,
  },
  "no blank after the colon": {
    text: `---\nname:tidy-notes\ndescription:${SORTS}\n---\nBody.\n`,
    strict: ["frontmatter_not_mapping"],
    lenient: repaired,
    description: SORTS,
  },
  "no blank after one colon": {
    text: `---\nname:tidy-notes\ndescription: ${SORTS}\n---\nBody.\n`,
    strict: yaml,
    lenient: repaired,
    description: SORTS,
  },
  "wide colons": {
    fields: `description：${SORTS}`,
    strict: yaml,
    lenient: repaired,
    description: SORTS,
  },
  // Hints, tools and globs as other clients write them.
  "hints in brackets; lists of tools stay lists": {
    fields: `description: ${SORTS}\nargument-hint: [folder] [--deep|--flat]\nallowed-tools: [Read, "Bash(git add:*)"]`,
    strict: yaml,
    lenient: repaired,
    description: SORTS,
    has: {
      allowed_tools: ["Read", "Bash(git add:*)"],
      activation: { argument_hint: "[folder] [--deep|--flat]" },
    },
  },
  "one hint in brackets": {
    fields: `description: ${SORTS}\nargument-hint: [folder]`,
    strict: yaml,
    lenient: [],
    description: SORTS,
    has: { activation: { argument_hint: "[folder]" } },
  },
  "globs and stars": {
    fields: `description: ${SORTS}\nglobs: **/*.md,*.txt\nallowed-tools: *`,
    strict: yaml,
    lenient: [...repaired, "field_not_carried_out"],
    description: SORTS,
    has: { allowed_tools: ["*"] },
  },
  "a star among plain words of a list": {
    fields: `description: ${SORTS}\nkeywords: [tidy, **sort, notes]`,
    strict: yaml,
    lenient: repaired,
    description: SORTS,
  },
  "tools with stars between": {
    fields: `description: ${SORTS}\nallowed-tools: Read * Bash(git *)`,
    strict: [],
    lenient: [],
    description: SORTS,
    has: { allowed_tools: ["Read", "*", "Bash(git *)"] },
  },
  "switches, names with a colon, unknown fields": {
    text: `---\nname: notes:tidy\ndescription: ${SORTS}\nuser-invocable: true\nmodel: inherit\ncolor: "#0af"\nversion: 1.0\nadded: 2026-02-01\n---\n`,
    strict: ["unknown_fields", "name_characters", "name_directory_mismatch"],
    lenient: ["name_characters", "name_directory_mismatch", "unknown_fields", "body_empty"],
    description: SORTS,
    has: {
      name: "notes:tidy",
      slug: "notes-tidy",
      extra: { model: "inherit", version: "1.0", added: "2026-02-01" },
    },
  },
  "metadata as JSON over several lines, with a last comma": {
    fields: `description: ${SORTS}\nmetadata:\n  {\n    "box":\n      { "emoji": "🗂", "needs": ["jq"] },\n  }`,
    strict: yaml,
    lenient: [],
    description: SORTS,
    has: { metadata: { box: '{"emoji":"🗂","needs":["jq"]}' } },
  },
  "comments, blank lines, an anchor, a list that is not indented": {
    fields: `\n# What it is\ndescription: ${SORTS}\ntools: &t\n- Read\n- Write\nallowed-tools: *t\n`,
    strict: yaml,
    lenient: ["field_not_carried_out"],
    description: SORTS,
    has: { allowed_tools: ["Read", "Write"] },
  },
  // Other languages, other signs.
  "a description in Chinese with its own signs": {
    fields: "description: 整理笔记。当用户提到“整理”、“排序”时使用：按日期",
    strict: [],
    lenient: [],
    description: "整理笔记。当用户提到“整理”、“排序”时使用：按日期",
  },
  "markup in a folded description": {
    fields: "description: >\n  **Tidy** notes  \n  <example>user: tidy up</example>",
    strict: [],
    lenient: [],
    description: "**Tidy** notes   <example>user: tidy up</example>",
  },
  // Before and behind the fences.
  "a comment of the tool that made the file": {
    text: `<!-- generated: do not edit -->\n<!--\nof: notes\n-->\n\n---\n${NAMED}description: ${SORTS}\n---\nBody.\n`,
    strict: missing,
    lenient: ["leading_comment"],
    description: SORTS,
    has: { body: "Body." },
  },
  "two blocks: the first counts": {
    text: `---\n${NAMED}description: ${SORTS}\n---\n---\nname: other\n---\n`,
    strict: [],
    lenient: [],
    description: SORTS,
    has: { name: "tidy-notes" },
  },
  "blanks after the fences, and a key twice": {
    text: `---  \n${NAMED}description: first\ndescription: ${SORTS}\n---\t\nBody.\n`,
    strict: yaml,
    lenient: ["duplicate_key"],
    description: SORTS,
  },
  "R16: fields of other clients, each named": {
    fields: `description: ${SORTS}\nhooks:\n  SessionStart: []\ncontext: fork\nagent: Explore\nmodel: opus\neffort: turbo\nshell: powershell\ntools: [Read]\ndisallowedTools: Bash\nmcpServers: [x]\ntriggers: [tidy]\nfancy: 1\ntags: [a]`,
    strict: yaml,
    lenient: [...Array.from({ length: 10 }, () => "field_not_carried_out"), "unknown_fields"],
    description: SORTS,
    has: {
      activation: { context: "fork", agent: "Explore", model: "opus", effort: "turbo", shell: "powershell" },
    },
  },
  "an agent has a description with examples, of any length": {
    fields: `description: ${SORTS} ${"d".repeat(3000)}\ncontext: Agent`,
    strict: ["unknown_fields", "description_too_long"],
    lenient: [],
    description: `${SORTS} ${"d".repeat(3000)}`,
    has: { activation: { context: "agent" } },
  },
  "tools as switches": {
    fields: `description: ${SORTS}\ntools: {write: true, bash: "false"}`,
    strict: yaml,
    lenient: ["field_not_carried_out"],
    description: SORTS,
  },
  "fields of other clients that ask for what Hull does anyway": {
    fields: `description: ${SORTS}\nmodel: inherit\neffort: high\nshell: bash\ncontext: project`,
    strict: ["unknown_fields"],
    lenient: [],
    description: SORTS,
  },
  "allowed_tools with an underscore": {
    fields: `description: ${SORTS}\nallowed_tools: Read, Bash(git:*)`,
    strict: ["unknown_fields"],
    lenient: [],
    description: SORTS,
    has: { allowed_tools: ["Read", "Bash(git:*)"], extra: {} },
  },
  // Files that cannot be read as a skill.
  "a link of Git that was checked out as text": {
    text: "../../shared/tidy-notes/SKILL.md",
    strict: missing,
    lenient: ["link_as_text"],
  },
  "a code fence around the frontmatter": {
    text: `\`\`\`yaml\n---\n${NAMED}description: d\n---\n\`\`\`\n# Tidy\n`,
    strict: missing,
    lenient: ["frontmatter_fenced"],
  },
  "no first fence": {
    text: `${NAMED}description: >\n  Sorts notes.\n---\n# Tidy\n`,
    strict: missing,
    lenient: ["frontmatter_unopened"],
  },
  "a conflict of a merge, around it and inside": {
    text: `<<<<<<< HEAD\n---\n${NAMED}description: d\n---\n=======\nx\n>>>>>>> other\n`,
    strict: missing,
    lenient: ["conflict_marker"],
  },
  "a conflict of a merge in the frontmatter": {
    fields: "<<<<<<< HEAD\ndescription: d\n=======\ndescription: e\n>>>>>>> other",
    strict: yaml,
    lenient: ["conflict_marker"],
  },
  "a comment in the place of a description": {
    fields: "description: # Tidy notes",
    strict: ["description_empty"],
    lenient: ["description_comment"],
  },
  "a heading instead of frontmatter": {
    text: "# Tidy notes\n\nname: tidy-notes\n",
    strict: missing,
    lenient: missing,
  },
  "a comment and no frontmatter": { text: "<!-- x -->\n# Tidy\n", strict: missing, lenient: missing },
  "a comment that never ends": {
    text: `<!-- x\n---\n${NAMED}description: d\n---\n`,
    strict: missing,
    lenient: missing,
  },
  "a formatter made a heading of the block": {
    text: "---\n## name: tidy-notes\ndescription: >\nSorts notes.\n\n# Tidy\n",
    strict: ["frontmatter_unclosed"],
    lenient: ["frontmatter_unclosed"],
  },
  "a quotation that never ends": { fields: 'description: "Sorts notes', strict: yaml, lenient: yaml },
  "TAB indentation below a key": {
    fields: "description: d\nmetadata:\n\tauthor: me",
    strict: yaml,
    lenient: yaml,
  },
  "no description": {
    fields: "trigger: always_on",
    strict: ["unknown_fields", "description_missing"],
    lenient: ["description_missing", "unknown_fields"],
  },
};

describe.each(Object.entries(SHAPES))(
  "%s",
  (_, { text, fields = "", strict, lenient, description, has = {} }) => {
    const file = text ?? `---\n${NAMED}${fields}\n---\nBody.\n`;
    const { record, verdicts, diagnostics } = parseSkill(file, {
      directory: DIRECTORY,
      fileName: "SKILL.md",
    });
    const told = diagnostics.filter(({ level }) => level !== "info");

    test("messages", () => {
      expect(verdicts.strict.diagnostics.map(({ code }) => code)).toEqual(strict);
      expect(told.map(({ code }) => code)).toEqual(lenient);
    });

    test("what loads", () => {
      expect(record?.description).toBe(description);
      if (record !== undefined) expect(record).toMatchObject({ name: "tidy-notes", ...has });
      expect(verdicts.lenient.valid).toBe(description !== undefined);
    });

    test("each finding names its file, its line and a way out", () => {
      for (const diagnostic of [...told, ...verdicts.strict.diagnostics])
        expect(diagnostic).toMatchObject({
          file: "SKILL.md",
          line: expect.any(Number),
          hint: expect.stringMatching(/\S/),
        });
    });
  },
);
