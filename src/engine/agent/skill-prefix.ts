/** Messages that activate a skill by their beginning: `/slug` or `$slug` (skill-formats.md §2). Pure. */
import type { Message, Part } from "../messages.ts";
import type { AgentSkill } from "./spec.ts";

interface Invocation {
  /** Index of the message in the visible history. */
  message: number;
  name: string;
  /** What follows the prefix. */
  arguments: string;
}

/** The first message since the model's last turn that names a skill at its beginning; `null`: none does. */
export function invocationIn(visible: readonly Message[], skills: readonly AgentSkill[]): Invocation | null {
  const since = visible.findLastIndex(({ role }) => role !== "user") + 1;
  for (const [index, message] of visible.slice(since).entries()) {
    const text = firstText(message)?.text ?? "";
    const [, name, rest = ""] = /^[/$]([^\s/$]+)(?:\s+([\s\S]*))?$/.exec(text) ?? [];
    const skill = skills.find((known) => known.name === name);
    if (skill === undefined || skill.user_invocable === false) continue;
    return { message: since + index, name: skill.name, arguments: rest.trim() };
  }
  return null;
}

/** The history with the message as the model gets it. */
export function withoutPrefix(visible: readonly Message[], invocation: Invocation): Message[] {
  const { message, name, arguments: rest } = invocation;
  // No provider takes a message without a text.
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
