/** Parses what commands such as `hull sessions` should do: an action, its target, and the text for `send`. */
import { nearest } from "../src/skill/match.ts";
import { CommandError, EXIT } from "./command.ts";

interface RemoteAction<T> {
  name: string;
  /** `""`: all of them. */
  id: string;
  text: string | undefined;
  action: T;
}

/**
 * Throws `CommandError` for an unknown action, or with too few or too many words. @param usage the question and its
 * answer
 */
export function remoteAction<T>(
  actions: Readonly<Record<string, T>>,
  [name = "", id = "", text]: readonly string[],
  usage: { question: string; hint: string },
): RemoteAction<T> {
  const action = Object.hasOwn(actions, name) ? actions[name] : undefined;
  const whole = (name === "ls") === (id === "") && (name === "send") === (text !== undefined);
  if (action === undefined || !whole) {
    const question = asked(name, Object.keys(actions), usage.question);
    throw new CommandError(EXIT.usage, "bad_arguments", question, usage.hint);
  }
  return { name, id, text, action };
}

/** What is wrong with a word that is no action; the `question` if it is one, or there is none. */
export function asked(name: string, actions: readonly string[], question: string): string {
  if (name === "" || actions.includes(name)) return question;
  const [near] = nearest(name, actions);
  return `There is no action "${name}"${near === undefined ? "" : `; did you mean ${near}?`}`;
}
