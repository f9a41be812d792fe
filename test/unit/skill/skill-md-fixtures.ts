/** SKILL.md files as they are found in the wild, by number. */
import type { AgentSkillText } from "../../../src/skill/agent-skill.ts";

export interface Fixture {
  /** The whole file; else it is made of `fields` and `body`. */
  text?: string | Uint8Array;
  /** Frontmatter lines; what they lack of name and description is put before them. */
  fields?: string;
  body?: string;
  directory?: string;
  fileName?: string;
  /** Codes that strict rejects for, in order; `[]`: accepted. */
  S: string[];
  /** Codes of errors and warnings, and of infos beginning with `i:`, in order. */
  L: string[];
  /** What the record has. Absent for a skill that is skipped. */
  has?: Partial<AgentSkillText>;
}

export const HEAD = "name: my-skill\ndescription: d\n";
const OK = { S: [], L: [], has: {} };
const yaml = ["frontmatter_yaml"];
const retry = { S: yaml, L: ["yaml_quoted_retry"] };
const skip = (code: string) => ({ S: [code], L: [code] });
const bytes = (text: string) => Uint8Array.from(text, (char) => char.charCodeAt(0));
/** One field of this value, quoted or plain. */
const described = (value: string) => `name: my-skill\ndescription: ${value}`;
const emoji = (count: number) => "😀".repeat(count);
export const file = (fields: string, body = "Body.") => `---\n${fields}\n---\n${body}\n`;

export const FIXTURES: Record<string, Fixture[]> = {
  "1: minimal, and all six fields": [
    {
      fields: "",
      ...OK,
      has: { name: "my-skill", slug: "my-skill", description: "d", body: "Body.", extra: {} },
    },
    {
      fields: "license: MIT\ncompatibility: git\nmetadata:\n  version: 1.0\nallowed-tools: Bash(git:*) Read",
      ...OK,
      has: {
        license: "MIT",
        compatibility: "git",
        metadata: { version: "1.0" },
        allowed_tools: ["Bash(git:*)", "Read"],
      },
    },
  ],
  "2: byte order mark, blank line": [
    { text: `\uFEFF${file(HEAD)}`, S: ["frontmatter_missing"], L: ["i:bom"], has: {} },
    { text: `\n${file(HEAD)}`, S: ["frontmatter_missing"], L: ["leading_blank_lines"], has: {} },
  ],
  "3: CRLF and lone CR": ["\r\n", "\r"].map((end) => ({
    text: file(HEAD).replaceAll("\n", end),
    S: [],
    L: ["i:line_endings"],
    has: { name: "my-skill", body: "Body." },
  })),
  "4: no frontmatter": [
    ...["# Title\n", ""].map((text) => ({ text, ...skip("frontmatter_missing") })),
    { text: `\`\`\`\n${file(HEAD)}\`\`\`\n`, S: ["frontmatter_missing"], L: ["frontmatter_fenced"] },
  ],
  "5: opening fence only, dots as close": [`---\n${HEAD}`, `---\n${HEAD}...\nBody.\n`].map((text) => ({
    text,
    ...skip("frontmatter_unclosed"),
  })),
  "6: empty, a scalar, a list": ["---\n---\nb", "---\nx\n---\nb", "---\n- a\n---\nb"].map((text) => ({
    text,
    ...skip("frontmatter_not_mapping"),
  })),
  "7: opening fence with blanks or a note; no last newline": [
    { text: `--- \n${HEAD}---\nb`, ...OK },
    { text: `--- # note\n${HEAD}---\nb`, S: [], L: ["loose_fence"], has: { name: "my-skill" } },
    { text: `---\n${HEAD}---`, S: [], L: ["body_empty"], has: { body: "" } },
  ],
  "8: close of four hyphens, indented close": [
    { text: `---\n${HEAD}----\nb`, S: [], L: ["loose_fence"], has: { body: "-\nb" } },
    { text: `---\n${HEAD}  ---\nb`, S: [], L: ["loose_fence"], has: { body: "b" } },
  ],
  "9: text after the opening fence": [{ text: "--- name: x\ndescription: d\n---\nb", S: yaml, L: yaml }],
  "10: --- inside a value": [
    {
      fields: described("foo --- bar"),
      S: [],
      L: ["fence_ambiguous"],
      has: { description: "foo --- bar", body: "Body." },
    },
  ],
  "11: an indented --- in a block scalar": [
    {
      fields: described("|\n  a\n  ---\n  b"),
      S: [],
      L: ["fence_ambiguous"],
      has: { description: "a\n---\nb" },
    },
  ],
  "12: a table rule in quotes": [
    { fields: described('"a|---|b"'), S: yaml, L: ["fence_ambiguous"], has: { description: "a|---|b" } },
  ],
  "13: hyphens in name and directory": [
    {
      fields: "name: a---b\ndescription: d",
      directory: "a---b",
      S: ["name_directory_mismatch", "description_missing"],
      L: ["fence_ambiguous", "name_double_hyphen"],
      has: { name: "a---b", slug: "a-b" },
    },
  ],
  "14: values that need quotes": [
    ...["Use when: x", "foo:", "`code` x", "@x", "%x", "*bold* x", "& and", ", x"].map((value) => ({
      fields: described(value),
      ...retry,
      has: { description: value },
    })),
    {
      fields: `${HEAD}foo: a: b`,
      ...retry,
      L: ["yaml_quoted_retry", "unknown_fields"],
      has: { extra: { foo: "a: b" } },
    },
  ],
  "15: values that begin like collections": [
    { fields: described("[x] y"), ...retry, has: { description: "[x] y" } },
    { fields: described("{x}"), S: yaml, L: ["description_raw"], has: { description: "{x}" } },
  ],
  "16: a tag without a value": [{ fields: described("!important"), S: yaml, L: ["description_empty"] }],
  "17: plain values that look odd": ["50% off", "a @b", "R&D & more", "-x", "http://x", "a [b] {c}"].map(
    (value) => ({
      fields: described(value),
      ...OK,
      has: { description: value },
    }),
  ),
  "18: comments": [
    { fields: described("use # this"), ...OK, has: { description: "use" } },
    { fields: described("C# code"), ...OK, has: { description: "C# code" } },
  ],
  "19: what YAML types otherwise": [
    ...["123", "yes"].map((name) => ({
      fields: `name: ${name}\ndescription: d`,
      directory: name,
      ...OK,
      has: { name },
    })),
    ...["null", "~"].map((value) => ({ fields: described(value), ...OK, has: { description: value } })),
  ],
  "20: what no quotes fix": [
    { fields: `${HEAD}metadata:\n  a: b: c`, S: yaml, L: yaml },
    { fields: `${HEAD}metadata:\n\ta: b`, S: yaml, L: yaml },
    { fields: described('"open'), S: yaml, L: yaml },
  ],
  "21: tabs": [
    { fields: described("a\tb"), S: yaml, L: [], has: { description: "a\tb" } },
    { fields: "name: my-skill\ndescription:\td", S: yaml, L: [], has: { description: "d" } },
    { fields: described('"a\tb"'), ...OK },
    { fields: described("|\n  a\tb"), ...OK },
    { fields: `${HEAD}#\ta comment`, ...OK },
  ],
  "22: a key twice": [
    { fields: `${HEAD}description: e`, S: yaml, L: ["duplicate_key"], has: { description: "e" } },
  ],
  "23: anchors, tags, mappings in different columns": [
    { fields: "name: &n my-skill\ndescription: *n", S: yaml, L: [], has: { description: "my-skill" } },
    { fields: described("!!str d"), S: yaml, L: [], has: { description: "d" } },
    {
      fields: `${HEAD}metadata:\n  a:\n    b: c\nhooks:\n   a: b`,
      S: yaml,
      L: ["field_not_carried_out", "i:metadata_not_strings"],
      has: { metadata: { a: '{"b":"c"}' } },
    },
  ],
  "24: descriptions over several lines": [
    { fields: described(">-\n  a\n  b"), ...OK, has: { description: "a b" } },
    { fields: described("|\n  a\n  b\n"), ...OK, has: { description: "a\nb" } },
    { fields: described("a\n  b"), ...OK, has: { description: "a b" } },
  ],
  "25: 1,024 characters": [
    { fields: described("x".repeat(1024)), ...OK },
    { fields: described(`>-\n  ${"x".repeat(1024)}`), ...OK },
    { fields: described(`|\n  ${"x".repeat(1024)}`), S: ["description_too_long"], L: [], has: {} },
    { fields: described(emoji(1024)), ...OK },
    {
      fields: described("x".repeat(1025)),
      S: ["description_too_long"],
      L: ["description_too_long"],
      has: {},
    },
  ],
  "26: control characters, other bytes": [
    { fields: described("a\x07b"), S: yaml, L: [], has: { description: "ab" } },
    { fields: described("a\x7fb"), S: yaml, L: [], has: { description: "ab" } },
    {
      text: bytes(file("name: my-skill\ndescription: d\xff")),
      S: ["encoding"],
      L: ["encoding"],
      has: { description: "d\uFFFD" },
    },
  ],
  "27: no name": [
    { fields: "description: d", S: ["name_missing"], L: ["name_from_directory"], has: { name: "my-skill" } },
    { fields: "description: d", directory: "", S: ["name_missing"], L: ["name_missing"] },
  ],
  "28: no description": [
    // A next-line character is a blank in Python, in which the reference is written.
    { fields: described("\x85"), ...skip("description_empty") },
    { fields: "name: my-skill", S: ["description_missing"], L: ["description_missing"] },
    ...['""', '"  "'].map((value) => ({ fields: described(value), ...skip("description_empty") })),
  ],
  "29: names that the format refuses": (
    [
      ["My-Skill", ["name_not_lowercase"], "my-skill"],
      ["my_skill", ["name_characters"], "my-skill"],
      ["ns:skill", ["name_characters"], "ns-skill"],
      ["x".repeat(65), ["name_too_long"], "x".repeat(65)],
      ["a--b", ["name_double_hyphen"], "a-b"],
      ["-a", ["name_edge_hyphen"], "a"],
    ] as const
  ).map(([name, codes, slug]) => ({
    fields: `name: ${name}\ndescription: d`,
    directory: name,
    S: [...codes],
    L: [...codes],
    has: { name, slug },
  })),
  "30: another name than the directory's": [
    {
      fields: "",
      directory: "elsewhere",
      S: ["name_directory_mismatch"],
      L: ["name_directory_mismatch"],
      has: { slug: "my-skill" },
    },
  ],
  "31: names beyond ASCII": (
    [
      ["技能", "技能"],
      ["мой-навык", "мой-навык"],
      ["a²", "a²"],
      ["①", "①"],
      ["ﬁle", "file"],
      ["café", "cafe\u0301"],
    ] as const
  ).map(([name, directory]) => ({
    fields: `name: ${name}\ndescription: d`,
    directory,
    ...OK,
    has: { name },
  })),
  "32: letters that are none, or not lower case": (
    [
      ...["НАВЫК", "Ⅷ", "İ"].map((name) => [name, "name_not_lowercase"] as const),
      ...["नमस्ते", "½", "a\u200Db", "a\u00ADb", "😀"].map((name) => [name, "name_characters"] as const),
    ] as const
  ).map(([name, code]) => ({
    fields: `name: "${name}"\ndescription: d`,
    directory: name,
    S: [code],
    L: [code],
    has: { name: name.replace(/[\u0080-\u009f]/g, "") },
  })),
  "33: a reserved word": [
    { fields: "name: claude-helper\ndescription: d", directory: "claude-helper", ...OK },
  ],
  "34: brackets in the description": ["<b>x</b>", "a < b"].map((value) => ({
    fields: described(value),
    ...OK,
  })),
  "35: other keys": [
    {
      fields: `${HEAD}version: 1.0\nmode: llm`,
      S: ["unknown_fields"],
      L: ["unknown_fields", "i:unknown_fields"],
      has: { extra: { version: "1.0", mode: "llm" } },
    },
    {
      text: file("Name: my-skill\nDescription: d"),
      S: ["unknown_fields", "name_missing", "description_missing"],
      L: ["name_from_directory", "description_missing", "unknown_fields"],
    },
  ],
  "36: allowed-tools": (
    [
      ["[Read, Bash(git add:*)]", yaml],
      ["\n  - Read\n  - Bash(git add:*)", []],
      ["Read, Bash(git add:*)", []],
    ] as const
  ).map(([value, S]) => ({
    fields: `${HEAD}allowed-tools: ${value}`,
    S: [...S],
    L: [],
    has: { allowed_tools: ["Read", "Bash(git add:*)"] },
  })),
  "37: metadata and license of other shapes": [
    { fields: `${HEAD}metadata: {a: b}`, S: yaml, L: [], has: { metadata: { a: "b" } } },
    {
      fields: `${HEAD}metadata:\n  a:\n    - 1`,
      S: [],
      L: ["i:metadata_not_strings"],
      has: { metadata: { a: '["1"]' } },
    },
    { fields: `${HEAD}metadata: x`, S: [], L: ["i:metadata_not_strings"], has: { extra: { metadata: "x" } } },
    { fields: `${HEAD}license:\n  - MIT`, ...OK, has: { license: '["MIT"]' } },
  ],
  "38: compatibility": [
    {
      fields: `${HEAD}compatibility:\n  - git`,
      S: ["compatibility_type"],
      L: ["compatibility_type"],
      has: { compatibility: '["git"]' },
    },
    { fields: `${HEAD}compatibility:`, ...OK, has: { compatibility: "" } },
    {
      fields: `${HEAD}compatibility: ${"x".repeat(501)}`,
      S: ["compatibility_too_long"],
      L: ["compatibility_too_long"],
      has: {},
    },
  ],
  "39: the file's name": [
    { fields: "", fileName: "skill.md", S: [], L: ["file_name_case"], has: {} },
    { fields: "", fileName: "Skill.md", S: ["skill_file_missing"], L: ["file_name_case"], has: {} },
  ],
  "40: sizes": [
    { fields: "", body: "x\n".repeat(600), S: [], L: ["i:body_long"], has: {} },
    { fields: "", body: "x".repeat(120 * 1024), S: [], L: ["file_large"], has: {} },
  ],
  "beyond the forty: keys that agent runs act on": [
    {
      fields: `${HEAD}disable-model-invocation: true\nuser_invocable: false\nwhen_to_use: now\npaths: a/**, b\nmcp: docs, issue-tracker, docs`,
      S: ["unknown_fields"],
      L: [],
      has: {
        activation: {
          disable_model_invocation: true,
          user_invocable: false,
          when_to_use: "now",
          paths: ["a/**", "b"],
          mcp: ["docs", "issue-tracker"],
        },
      },
    },
    {
      fields: `${HEAD}user-invocable: maybe`,
      S: ["unknown_fields"],
      L: ["activation_field"],
      has: { extra: {} },
    },
  ],
};
