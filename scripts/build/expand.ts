/**
 * The files of a skill as Hull publishes them: with what the build makes of a skill.ts, or of a command or an agent of
 * Claude Code.
 */
import { utf8 } from "../../src/bytes.ts";
import { firstOf } from "../../src/cut.ts";
import { textsOf } from "../../src/skill/activation.ts";
import { unifySpelling } from "../../src/skill/agent-skill.ts";
import type { SourceFile } from "../../src/skill/bundle.ts";
import { decodeText } from "../../src/skill/file-text.ts";
import { Findings } from "../../src/skill/findings.ts";
import { readFrontmatter } from "../../src/skill/frontmatter/read.ts";
import type { Json } from "../../src/skill/manifest.ts";
import { KNOWN_FIELDS } from "../../src/skill/manifest-fields.ts";
import { allowedTools, WORKSPACE_TOOLS } from "../../src/skill/tool-names.ts";
import { type Node, textOf } from "../../src/skill/tree.ts";
import type { SignaturePolicy } from "../../src/skill/trust.ts";
import type { Single } from "./plugins.ts";
import { placeOf, type SkillFolder } from "./skill-folder.ts";
import { expandTyped, type TypedFolder } from "./typed.ts";

/**
 * The files of a skill in the form of a folder without code to run: with what its skill.ts defines, or with the SKILL.md
 * that a command or an agent becomes.
 * @param signatures as for `expandTyped`
 */
export async function expandFolder(
  folder: SkillFolder,
  files: readonly SourceFile[],
  signatures: SignaturePolicy | null,
): Promise<TypedFolder> {
  const place = placeOf(folder);
  const { name, single } = folder;
  if (single === undefined) return expandTyped(folder.path, files, place, signatures);
  const made = files.map(({ bytes }) => skillText(bytes, name, single));
  const [{ added = 0 } = {}] = made;
  return {
    files: made.map(({ bytes }) => ({ path: "SKILL.md", mode: 0o644, bytes })),
    handlers: new Set(),
    described: null,
    locations: {
      ofFault: () => ({}),
      pointed: (found) => {
        if (found.file !== place.file) return found;
        const line = found.line === undefined ? {} : { line: Math.max(1, found.line - added) };
        return { ...found, file: folder.file, ...line };
      },
    },
    diagnostics: [],
    read: [],
  };
}

/** The most of a line that is a description, in UTF-16 units. */
const MAX_DESCRIPTION = 1024;

/**
 * The text of a command or an agent as SKILL.md. A command has the name of its file, as a person types it, an agent that
 * of its frontmatter; a missing description is the first line of the text. The `tools` of an agent are the only ones
 * that it gets. What cannot be read stays as it is.
 * @returns also by how many lines its lines moved down
 */
function skillText(
  given: Uint8Array<ArrayBuffer>,
  name: string,
  kind: Single,
): { bytes: Uint8Array<ArrayBuffer>; added: number } {
  const { text, fault } = decodeText(given);
  const findings = new Findings(name, "");
  const { root, body } = readFrontmatter(text, findings);
  const isPlain = findings.list.some(({ code }) => code === "frontmatter_missing");
  if (fault !== null || (root === null && !isPlain)) return { bytes: given, added: 0 };
  const lines = text.replace(/^\uFEFF/, "").split(/\r\n?|\n/);
  const known = root && unifySpelling(root, KNOWN_FIELDS);
  const old = (key: string) => known?.entries.get(key);
  const isOpen = (key: string): boolean => {
    const { value } = old(key) ?? {};
    return value === undefined || textOf(value)?.trim() === "";
  };
  const fields: [key: string, value: Json][] = [];
  if (kind === "commands" || isOpen("name")) fields.push(["name", name]);
  if (isOpen("description")) fields.push(["description", firstLine(isPlain ? text : body)]);
  if (kind === "agents") {
    fields.push(["context", "agent"]);
    const tools = isOpen("tools") ? undefined : old("tools");
    if (old("workspace_tools") === undefined) fields.push(["workspace_tools", workspaceTools(tools?.value)]);
    if (tools !== undefined && old("tool_scope") === undefined) {
      const at = tools.keyAt.line - 1;
      lines[at] = lines[at]?.replace("tools", "tool_scope") ?? "";
    }
  }
  const missing: string[] = [];
  for (const [key, value] of fields) {
    const field = `${key}: ${JSON.stringify(value)}`;
    const line = old(key)?.keyAt.line;
    if (line === undefined) missing.push(field);
    else lines[line - 1] = field;
  }
  if (isPlain) missing.splice(0, missing.length, "---", ...missing, "---");
  lines.splice(isPlain ? 0 : lines.findIndex((line) => line.startsWith("---")) + 1, 0, ...missing);
  return { bytes: utf8(lines.join("\n")), added: missing.length };
}

/** The workspace tools among the `tools` of an agent; without that field it has all. */
function workspaceTools(tools: Node | undefined): boolean | string[] {
  if (tools === undefined) return true;
  const named = allowedTools(textsOf(tools)).map(({ tool }) => tool);
  const found = WORKSPACE_TOOLS.filter((tool) => named.includes(tool));
  return named.includes("*") || (found.length > 0 && found);
}

/** The first line with a letter or digit, without the marks of a heading, a list or a quotation. */
function firstLine(text: string): string {
  const line = text.split("\n").find((line) => /[\p{L}\p{N}]/u.test(line)) ?? "";
  return firstOf(line.replace(/^[\s#>*-]+/, "").trim(), MAX_DESCRIPTION);
}
