/** Variables that a skill documents, or that its handlers read, but that they do not get. Pure. */
import { PROVIDER_KEY_VARIABLES } from "../secrets.ts";
import type { Findings } from "./findings.ts";
import type { PlaceInBody } from "./frontmatter/read.ts";
import { Lines } from "./lines.ts";
import type { Manifest, SkillTool } from "./manifest.ts";
import type { Position } from "./tree.ts";
import { variablesOf } from "./variables.ts";

interface Skill {
  manifest: Manifest;
  body: string;
  placeInBody: PlaceInBody;
  tools: readonly SkillTool[];
  files: readonly { path: string; bytes: Uint8Array }[];
}

/** Names in backticks at the start of list items below a heading "Configuration", and where the first of each is. */
function documentedVariables(body: string): Map<string, number> {
  const heading = /^#{1,6}[ \t]+configuration[ \t]*$/im.exec(body);
  const from = heading === null ? body.length : heading.index + heading[0].length;
  const [section = ""] = body.slice(from).split(/^#{1,6}[ \t]/m);
  const items = section.matchAll(/^[ \t]*(?:[-*+]|\d+[.)])[ \t]+`([A-Z][A-Z0-9_]*)`/gm);
  const found = new Map<string, number>();
  for (const { 0: item, 1: name = "", index } of items)
    if (!found.has(name)) found.set(name, from + index + item.length - name.length - 1);
  return found;
}

/**
 * A read of a variable in JavaScript or Python, which an assignment is not. In a shell script nothing tells a variable of
 * the environment.
 */
const READ =
  /\b(?:process\.env(?:\.|\[["'])|os\.environ(?:\.get\(|\[)\s*["']|os\.getenv\(\s*["'])([A-Z][A-Z0-9_]*)\b(?!["']?\]?\s*=(?!=))/g;

/** Variables that every process has, and those of languages and tools that nobody sets for a handler. */
const COMMON =
  /^(?:HULL_\w+|HUSK_\w+|PATH|HOME|USER|LOGNAME|SHELL|TERM|LANG|LANGUAGE|LC_\w+|TZ|PWD|TMPDIR|TMP|TEMP|NODE_\w+|PYTHON\w*|\w+_PROXY|CI|DEBUG)$/;

/** The most variables of a file that the build names. */
const MOST_NAMED = 100;

/** The variables that a file reads, each with the place of its first read. */
function variablesIn(bytes: Uint8Array | undefined): Map<string, Position> {
  const text = new TextDecoder().decode(bytes);
  const lines = new Lines(text);
  const found = new Map<string, Position>();
  for (const { 1: name = "", index } of text.matchAll(READ)) {
    if (found.size === MOST_NAMED) break;
    if (!COMMON.test(name) && !found.has(name)) found.set(name, lines.at(index));
  }
  return found;
}

/**
 * A hint for each variable that a handler reads and its tool does not request, and for each one that SKILL.md documents
 * and nothing requests: an operator would set it, but nothing would receive it. The code of a typed skill holds that of
 * its packages, so Hull does not search it.
 */
export function warnUndeclared(
  findings: Findings,
  { manifest, body, placeInBody, tools, files }: Skill,
): void {
  if (!tools.some(({ script }) => script !== undefined)) return;
  const path = "x-env";
  const known = new Set(variablesOf({ manifest, tools }));
  const byPath = new Map(files.map(({ path, bytes }) => [path, bytes]));
  for (const { name: tool, script = "", source = script, env } of byPath.has("skill.ts") ? [] : tools) {
    for (const [name, at] of variablesIn(byPath.get(source))) {
      if (env.includes(name)) continue;
      known.add(name);
      const message = `${source} reads the variable ${name}, which ${tool} does not ask for, so it is never set.`;
      findings
        .part(source)
        .warning("variable_not_declared", { path, at, value: name }, message, hint(name, tool));
    }
  }
  for (const [name, offset] of documentedVariables(body)) {
    if (known.has(name)) continue;
    const message = `SKILL.md documents the variable ${name}, but no tool asks for it, so no tool gets it.`;
    findings.warning(
      "variable_not_declared",
      { path, at: placeInBody(offset), value: name },
      message,
      hint(name, "the tools that need it"),
    );
  }
}

const hint = (name: string, tools: string): string =>
  PROVIDER_KEY_VARIABLES.includes(name)
    ? "Hull never gives a model provider's key to a handler. What needs a model should be a skill."
    : `Add "x-env": ["${name}"] to ${tools} in tools.json.`;
