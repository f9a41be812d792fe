/** Command hooks: commands that a skill's `hooks` name for events of a run, in the form of Claude Code. */
import { stripControls, withoutEffect } from "./fields.ts";
import type { Findings } from "./findings.ts";
import { type CommandHook, HOOK_EVENTS, type Mode } from "./manifest.ts";
import { toolsNamed } from "./tool-names.ts";
import { child, items, type MapNode, type Slot, slotsOf, textOf } from "./tree.ts";

/** The longest time of a command, in s, and its time if the skill names none. */
const MOST_S = 600;
const USUAL_S = 60;

/** Members of a hook in Claude Code that Hull does not carry out: the values that ask for nothing, what Hull does, a remedy. */
const NOT_CARRIED_OUT: [key: string, none: RegExp, instead: string, hint: string][] = [
  [
    "if",
    /^$/,
    "the command runs for each call that the matcher names",
    "Let the command look at tool_input, and end with code 0 for other calls.",
  ],
  ["async", /^false$/, "the run waits for the command", "Give a command that takes long a timeout."],
  ["asyncRewake", /^false$/, "the run waits for the command", "Give a command that takes long a timeout."],
  ["args", /^$/, "the command gets no arguments", "Write the arguments into command."],
  ["shell", /^bash$/, "the shell of Bash runs the command", "Write the command for bash."],
];

/**
 * Whether a hook's command runs for calls of a tool. An empty matcher means all tools, and a name also means the tool
 * for which other clients have this name. Anything else is a regular expression for the tool's whole name. Of
 * `Bash(git *)` only the name counts.
 */
export function watches(matcher: string, tool: string): boolean {
  const names = matcher.replace(/(?<=\w)\([^()]*\)/g, "").split("|");
  if (names.some((name) => name.trim() === "" || toolsNamed(name.trim(), [tool]).length > 0)) return true;
  const pattern = /^[\w|\s]*$/.test(matcher) ? null : patternOf(matcher);
  return pattern !== null && (pattern.test(tool) || pattern.test(`mcp__${tool}`));
}

/** `null`: the matcher is no regular expression. */
function patternOf(matcher: string): RegExp | null {
  try {
    return new RegExp(`^(?:${matcher})$`);
  } catch {
    return null;
  }
}

/**
 * The command hooks of a manifest, in their order. One finding says what Hull runs, one what it does not run.
 * @param mode of the skill, if that is known
 */
export function readCommandHooks(findings: Findings, hooks: Slot, mode: Mode = "llm"): CommandHook[] {
  if (hooks.node.kind !== "map") {
    if (hooks.node.source !== "") reportMissed(findings, hooks, ["what is not a mapping of events"]);
    return [];
  }
  const missed = new Set<string>();
  const found = slotsOf(hooks.node, hooks.path).flatMap(([name, slot]): CommandHook[] => {
    if (name.startsWith("on_")) return [];
    const event = HOOK_EVENTS.find((known) => known === name);
    if (event !== undefined)
      return mappingsOf(findings, slot).flatMap((each) => groupOf(findings, event, each, missed));
    missed.add(name);
    return [];
  });
  if (missed.size > 0) reportMissed(findings, hooks, [...missed]);
  if (found.length > 0) {
    const events = [...new Set(found.map(({ event }) => event))].join(", ");
    const commands = `the commands that ${hooks.path} names for ${events}`;
    const message = `Hull runs ${commands}, if Bash may run them without an approval.`;
    if (mode === "llm") findings.info("command_hooks", hooks, message);
    else {
      const missed = `A call of a skill in mode: ${mode} does not run ${commands}, since no model works on it: only agent runs with the skill in the option skills do.`;
      findings.warning("field_of_other_mode", hooks, missed, `Remove ${hooks.path}.`);
    }
  }
  return found;
}

function reportMissed(findings: Findings, hooks: Slot, missed: readonly string[]): void {
  findings.warning(
    "field_not_carried_out",
    hooks,
    `Hull does not carry out all of the field ${hooks.path}: it does not run ${missed.join(", ")}.`,
    `Hull runs commands at ${HOOK_EVENTS.join(", ")}. For more, write hooks.ts next to SKILL.md.`,
  );
}

/** A hook, or a list of hooks, each with its place. */
function mappingsOf(findings: Findings, slot: Slot): { map: MapNode; path: string }[] {
  const slots = slot.node.kind === "list" ? items(slot.node, slot.path) : [slot];
  return slots.flatMap((each) => {
    if (each.node.kind === "map") return [{ map: each.node, path: each.path }];
    withoutEffect(findings, each, "a mapping with a command");
    return [];
  });
}

/** The hooks of one matcher. Some skills write its only command without a list `hooks`. */
function groupOf(
  findings: Findings,
  event: CommandHook["event"],
  { map, path }: { map: MapNode; path: string },
  missed: Set<string>,
): CommandHook[] {
  const given = child(map, "matcher", path);
  const matcher = (given && textOf(given.node)?.trim()) ?? "";
  if (
    given !== undefined &&
    (textOf(given.node) === null || (matcher !== "*" && patternOf(matcher) === null))
  )
    withoutEffect(findings, given, "a regular expression for names of tools");
  const list = child(map, "hooks", path);
  const hooks = list === undefined ? [{ map, path }] : mappingsOf(findings, list);
  return hooks.flatMap((each) => {
    const type = textOfChild(each, "type") ?? "command";
    const command = stripControls(textOfChild(each, "command") ?? "").trim();
    if (type !== "command" || command === "") {
      missed.add(
        type === "command" ? `a hook of ${event} without a command` : `${event} hooks of the type ${type}`,
      );
      return [];
    }
    for (const [key, none, instead, hint] of NOT_CARRIED_OUT) {
      const slot = child(each.map, key, each.path);
      if (slot === undefined || none.test(textOf(slot.node)?.trim() ?? slot.node.kind)) continue;
      const message = `Hull does not carry out ${slot.path}: ${instead}.`;
      findings.warning("field_not_carried_out", slot, message, hint);
    }
    const seconds = Number(textOfChild(each, "timeout") ?? USUAL_S);
    const once = textOfChild(each, "once") === "true";
    const timeout_ms = Math.round(1000 * Math.min(MOST_S, seconds > 0 ? seconds : USUAL_S));
    return [{ event, matcher, command, timeout_ms, ...(once ? { once: true as const } : {}) }];
  });
}

function textOfChild({ map, path }: { map: MapNode; path: string }, key: string): string | null {
  const slot = child(map, key, path);
  return slot === undefined ? null : textOf(slot.node);
}
