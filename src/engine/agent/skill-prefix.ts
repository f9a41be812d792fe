/**
 * How people and models call skills: people by the beginning of a message, `/slug`, `$slug` or `/plugin:slug`. Pure.
 */
import type { Message, Part } from "../messages.ts";
import type { AgentSkill } from "./spec.ts";

interface Invocation {
  /** Index of the message in the visible history. */
  message: number;
  name: string;
  /** The text after the prefix. */
  arguments: string;
}

/** The first message since the model's last turn that begins with a skill's name; `null`: there is none. */
export function invocationIn(visible: readonly Message[], skills: readonly AgentSkill[]): Invocation | null {
  const since = visible.findLastIndex(({ role }) => role !== "user") + 1;
  for (const [index, message] of visible.slice(since).entries()) {
    const text = firstText(message)?.text ?? "";
    const [, name, rest = ""] = /^[/$]([^\s/$]+)(?:\s+([\s\S]*))?$/.exec(text) ?? [];
    const skill = name === undefined ? undefined : skillCalled(name, skills);
    if (skill === undefined || skill.user_invocable === false) continue;
    return { message: since + index, name: skill.name, arguments: rest.trim() };
  }
  return null;
}

/**
 * The skill that a name refers to: its own name, in any letter case and form of Unicode, `plugin:name`, or its folder or
 * SKILL.md.
 */
export function skillCalled(given: string, skills: readonly AgentSkill[]): AgentSkill | undefined {
  const name = given.replace(/\/(?:SKILL\.md)?$/i, "");
  const asked = folded(name);
  const bare = asked.replace(/^[/$]/, "");
  return (
    skills.find((skill) => skill.name === name) ??
    skills.find((skill) => skill.dir === name) ??
    skills.find(
      (skill) =>
        folded(skill.name) === bare ||
        folded(`skill://${skill.name}`) === asked ||
        (skill.plugin !== undefined && pluginNames(skill, skill.plugin).includes(bare)),
    )
  );
}

const folded = (name: string): string => name.normalize("NFC").toLowerCase();

/**
 * The forms `plugin:name` of a skill. A skill whose name was taken is served as `plugin--name`; its short name counts
 * too.
 */
function pluginNames({ name }: AgentSkill, plugin: string): string[] {
  const own = folded(name);
  const prefix = folded(plugin);
  return [
    `${prefix}:${own}`,
    ...(own.startsWith(`${prefix}--`) ? [`${prefix}:${own.slice(prefix.length + 2)}`] : []),
  ];
}

/** The history with the message as the model gets it. */
export function withoutPrefix(visible: readonly Message[], invocation: Invocation): Message[] {
  const { message, name, arguments: rest } = invocation;
  // No provider accepts a message without a text.
  const text = rest === "" ? `Follow the instructions of the skill ${name}.` : rest;
  return visible.map((given, index) => (index === message ? withFirstText(given, text) : given));
}

function firstText(message: Message): Extract<Part, { type: "text" }> | undefined {
  return message.role === "user" ? message.content.find((part) => part.type === "text") : undefined;
}

function withFirstText(message: Message, text: string): Message {
  const first = firstText(message);
  if (message.role !== "user" || first === undefined) return message;
  return { ...message, content: message.content.map((part) => (part === first ? { ...part, text } : part)) };
}
