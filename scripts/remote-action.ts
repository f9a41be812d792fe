/** Parses what `hull sessions` and `hull daemons` should do: an action, its target, and the text for `send`. */
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
    throw new CommandError(EXIT.usage, "bad_arguments", usage.question, usage.hint);
  }
  return { name, id, text, action };
}
