/**
 * Fields that have an effect in other skill clients, but not in Hull, or not yet. For each field: what the skill then
 * lacks.
 */

import { memoNamed } from "../memo.ts";
import type { Findings } from "./findings.ts";
import { own } from "./json.ts";
import { EFFORTS } from "./manifest.ts";
import { nearest } from "./match.ts";
import { byteOrder } from "./path.ts";
import { child, type MapNode, type Slot, textOf } from "./tree.ts";

interface Missed {
  /** The effect that is missing in Hull. */
  what: string;
  hint: string;
  /** Hull supports the field in some cases. */
  partly?: true;
  /** Whether this value requests it; absent: every value does. */
  asks?: (slot: Slot) => boolean;
}

const value = ({ node }: Slot): string => (textOf(node) ?? "").trim().toLowerCase();
const said = (slot: Slot): boolean => value(slot) !== "" || slot.node.kind !== "scalar";

/** Models of a plain Agent Skill that do not name a provider's model. */
export const FOREIGN_MODELS: readonly string[] = [
  "inherit",
  "default",
  "sonnet",
  "opus",
  "haiku",
  "opusplan",
];

/** A field with which Harn names a function of the skill. */
const hookOfHarn = (field: string): Missed => ({
  what: "it calls no function of this name",
  hint: `Export the function in hooks.ts next to SKILL.md, and write hooks: {${field}: <its name>}.`,
});

const IN_TOML = "Set [approvals] in hull.toml, or approval_policy in the run's options.";

/** Spelt with hyphens; `_` and capitals within a word are the same. */
const MISSED: { [field: string]: Missed } = {
  "on-activate": hookOfHarn("on_activate"),
  "on-deactivate": hookOfHarn("on_deactivate"),
  context: {
    what: "a sub-agent executes the skill only if a model loads it",
    partly: true,
    hint: "POST /skills/… runs the skill in a conversation of its own anyway.",
    asks: (slot) => value(slot) === "fork",
  },
  agent: {
    what: "the skill works as this agent only if it has context: fork and Hull serves the agent",
    partly: true,
    hint: "Serve the agents of its plugin with agents = true in hull.toml, or say in the skill's text how to work.",
    asks: (slot) => said(slot) && value(slot) !== "general-purpose",
  },
  model: {
    what: "the run's own model executes the skill",
    hint: "Write provider: and model:, or let the run choose both.",
    asks: (slot) => FOREIGN_MODELS.includes(value(slot)) && !["inherit", "default"].includes(value(slot)),
  },
  effort: {
    what: "the run decides how much the model thinks",
    hint: `Write one of ${Object.keys(EFFORTS).join(", ")}.`,
    asks: (slot) => said(slot) && !Object.hasOwn(EFFORTS, value(slot)),
  },
  shell: {
    what: "Hull runs the commands with bash",
    hint: "Write the commands of the text for bash.",
    asks: (slot) => said(slot) && !/^(?:\/bin\/|\/usr\/bin\/)?(?:ba)?sh$/.test(value(slot)),
  },
  "disallowed-tools": {
    what: "the model keeps these tools",
    hint: "Write tool_scope: with the tools that the model may use.",
  },
  tools: {
    what: "this field neither approves nor removes a tool",
    hint: "Write allowed-tools: for calls that need no approval, tool_scope: for the only tools that the model gets.",
  },
  skills: {
    what: "the skill brings no other skill with it",
    hint: "Name the skills in the run's option skills.",
  },
  "mcp-servers": {
    what: "this field gives the skill no MCP server",
    hint: "Write mcp_servers: with names and URLs, or mcp: with names.",
  },
  "permission-mode": { what: "approvals stay as they are", hint: IN_TOML },
  "max-turns": {
    what: "the run's own limits apply",
    hint: "Write max_tool_rounds:, or set max_iterations in the run's options.",
  },
  memory: {
    what: "a new session remembers nothing",
    hint: "Continue in the same session: it keeps its conversation and its files.",
  },
  background: { what: "the skill runs in the foreground", hint: "Call it with Prefer: respond-async." },
  isolation: {
    what: "the skill works in the session's own folder",
    hint: "Use a session for each piece of work: each has a folder of its own.",
  },
  globs: { what: "no file makes the skill active", hint: "Write the globs below paths:." },
  "always-apply": {
    what: "Hull loads the skill only when it is needed",
    hint: "Name it in the run's option skill: then its text is the system text.",
  },
  triggers: {
    what: "these words activate nothing",
    hint: "Say in description or when-to-use when to use the skill.",
  },
  dependencies: { what: "Hull installs nothing", hint: "hull doctor --skills says what this machine lacks." },
  requires: { what: "Hull checks nothing", hint: "hull doctor --skills says what this machine lacks." },
  install: { what: "Hull installs nothing", hint: "hull doctor --skills says what this machine lacks." },
  "command-dispatch": {
    what: "a message with its prefix goes to the model",
    hint: "A program calls a tool directly over MCP, as <skill>__<tool>.",
  },
};

/** Fields that describe a skill to people, and request nothing. */
const DESCRIPTIVE = new Set(
  `
    version author authors maintainer maintainers contributors organization publisher source source-url
    origin homepage website url repository repo documentation tags tag keywords category categories
    subcategory domain topic topics type title display-name short-description summary emoji icon color logo
    date date-added created created-at updated updated-at last-updated status id slug risk risk-level
    difficulty language languages platforms copyright price
  `
    .trim()
    .split(/\s+/),
);

/** `mcpServers`, `mcp_servers` and `mcp-servers` are one field. */
const fold = (key: string): string =>
  key
    .replace(/([a-z])([A-Z])/g, "$1-$2")
    .replaceAll("_", "-")
    .toLowerCase();

/**
 * Warns about each field that requests something that Hull does not do.
 * @param fields keys of the frontmatter
 * @returns the fields that got a warning
 */
export function warnMissed(findings: Findings, root: MapNode, fields: Iterable<string>): string[] {
  const warned: string[] = [];
  for (const key of fields) {
    const slot = child(root, key);
    const missed = own(MISSED, fold(key));
    if (slot === undefined || missed === undefined || missed.asks?.(slot) === false) continue;
    const how = missed.partly === true ? "carries out only a part of" : "does not carry out";
    const message = `Hull ${how} the field ${key}: ${missed.what}.`;
    findings.warning("field_not_carried_out", slot, message, missed.hint);
    warned.push(key);
  }
  return warned;
}

/** Characters of a key; a longer one is not like any field. */
const LONGEST_COMPARED = 100;
/** The skills of a collection often have the same fields. */
const nearestOf = memoNamed((known: readonly string[], key: string) => nearest(key, known));

/**
 * Reports fields without effect: descriptive ones in one finding of level info, the others in one warning with similar
 * field names.
 */
export function reportWithoutEffect(
  findings: Findings,
  root: MapNode,
  fields: readonly string[],
  known: readonly string[],
): void {
  const sorted = fields.toSorted(byteOrder);
  const descriptive = sorted.filter((key) => DESCRIPTIVE.has(fold(key)));
  const others = sorted.filter((key) => !DESCRIPTIVE.has(fold(key)));
  const location = (names: string[]) => {
    const at = root.entries.get(names[0] ?? "")?.keyAt;
    return { path: names.join(", "), ...(at === undefined ? {} : { at }) };
  };
  if (others.length > 0) {
    const meant = others
      .filter((key) => key.length <= LONGEST_COMPARED)
      .flatMap((key) => nearestOf(known, key).map((name) => `${name} for ${key}`));
    const hint =
      meant.length === 0 ? "Put your own fields below metadata." : `Did you mean ${meant.join(", ")}?`;
    const message = `Fields that have no effect here: ${others.join(", ")}.`;
    findings.warning("unknown_fields", location(others), message, hint);
  }
  if (descriptive.length > 0) {
    const message = `Fields that only describe the skill: ${descriptive.join(", ")}.`;
    findings.info("unknown_fields", location(descriptive), message);
  }
}
