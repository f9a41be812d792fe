/** What `hull sessions`, `daemons` and `tasks` should do: an action, its target on a running Hull, the text for `send`. */
import { nearest } from "../src/skill/match.ts";
import { type AdminClient, serverOf } from "./admin-client.ts";
import { EXIT, usageError } from "./command.ts";
import { print } from "./report.ts";
import { eventNumber, type SessionEvent, tailSession } from "./session-events.ts";
import { table } from "./table.ts";

interface RemoteAction<T> {
  name: string;
  /** `""`: all of them. */
  id: string;
  text: string | undefined;
  action: T;
}

/** What every action gets. */
export interface ActionInput {
  server: AdminClient;
  /** Of the target; `""`: none is named. */
  id: string;
  text: string | undefined;
  /** Number of an event; `null`: only new events. */
  after: number | null;
  json: boolean;
}

/** The values of `FOLLOW_FLAGS`. */
interface FollowValues {
  url?: string | undefined;
  key?: string | undefined;
  after?: string | undefined;
  json?: boolean | undefined;
}

/**
 * Throws `CommandError` for an unknown action, or with too few or too many words.
 * @param usage the question and its answer, and the actions that take no id
 */
export function remoteAction<T>(
  actions: Readonly<Record<string, T>>,
  [name = "", id = "", text]: readonly string[],
  { question, hint, alone = ["ls"] }: { question: string; hint: string; alone?: readonly string[] },
): RemoteAction<T> {
  const action = Object.hasOwn(actions, name) ? actions[name] : undefined;
  const whole = alone.includes(name) === (id === "") && (name === "send") === (text !== undefined);
  if (action === undefined || !whole) {
    throw usageError("bad_arguments", actionProblem(name, Object.keys(actions), question), hint);
  }
  return { name, id, text, action };
}

/** The message for an unknown action; `question` if the action is known or missing. */
export function actionProblem(name: string, actions: readonly string[], question: string): string {
  if (name === "" || actions.includes(name)) return question;
  const [near] = nearest(name, actions);
  return `There is no action "${name}"${near === undefined ? "." : `; did you mean ${near}?`}`;
}

/** Throws `CommandError` as `target` and `eventNumber` do. @param command its name */
export async function actionInput(
  command: string,
  { name, id, text }: RemoteAction<unknown>,
  values: FollowValues,
): Promise<ActionInput> {
  return {
    server: await serverOf(values, `hull ${command} ${name} … --url https://…`),
    id,
    text,
    after: eventNumber(values.after),
    json: values.json === true,
  };
}

/** The events of the session that belongs to a daemon or a task. @param note as for `tailSession` */
export const tailing =
  (note: (event: SessionEvent) => string) =>
  async ({ server, id, after, json }: ActionInput): Promise<number> => {
    await tailSession(server, id, { after, json, note });
    return EXIT.ok;
  };

/** Prints a whole list of the server. @param columns by heading, returns the text of a cell; `null`: empty */
export async function printList<T>(
  json: boolean,
  listed: Promise<T[]>,
  columns: Readonly<Record<string, (row: T) => string | null>>,
): Promise<number> {
  const data = await listed;
  const rows = data.map((row) => Object.values(columns).map((text) => text(row) ?? ""));
  return print(json, { data }, table([Object.keys(columns), ...rows]));
}
