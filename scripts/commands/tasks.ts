/** `hull tasks`: the tasks of a running Hull. */
import { textOf } from "../../src/skill/json.ts";
import type { Task } from "../../typed/client/api.d.ts";
import { defineCommand, EXIT, timeoutMs, VALUE } from "../command.ts";
import { type ActionInput, actionInput, printList, remoteAction, tailing } from "../remote-action.ts";
import { endedLine, factTable, print } from "../report.ts";
import { FOLLOW_FLAGS, type SessionEvent } from "../session-events.ts";
import { writeError, writeOut } from "../terminal-text.ts";
import { textOrStdin } from "../utf8-text.ts";

interface Wanted extends ActionInput {
  timeout_ms: number | undefined;
}

const note = ({ event, data }: SessionEvent): string =>
  event === "task_update" && data.parent_run_id === undefined ? `* ${data.status}` : "";

/** An action that asks the server about a task, or to change it, and shows the task. */
const ask =
  (route: "GET /tasks/{id}" | `POST /tasks/{id}/${"close" | "trigger"}`) =>
  async ({ server, id, json }: ActionInput): Promise<number> =>
    shown(json, await server.ask(route, { path: { id } }, SHOWN));

/** What an answer needs to be shown. */
const SHOWN = { needs: ["id", "status", "error", "history", "provenance"] } as const;

const ACTIONS: Record<string, (wanted: Wanted) => Promise<number>> = {
  ls,
  show: ask("GET /tasks/{id}"),
  tail: tailing(note),
  send,
  wait,
  close: ask("POST /tasks/{id}/close"),
  trigger: ask("POST /tasks/{id}/trigger"),
  resume,
};

export const command = defineCommand({
  name: "tasks",
  summary: "List, follow, wait for and close tasks of a running Hull",
  usage: `
Usage: hull tasks ls [--url URL] [--json]
       hull tasks show <id> [--url URL] [--json]
       hull tasks tail <id> [--url URL] [--after N] [--json]
       hull tasks wait <id> [--url URL] [--timeout SECONDS] [--json]
       hull tasks send <id> <task> [--url URL] [--json]
       hull tasks trigger|close|resume <id> [--url URL] [--json]

  --url URL          the Hull that runs the tasks, e.g. http://localhost:3000 (default: $HULL_URL, then the hull dev of this project)
  --key KEY          an API key (default: $HULL_API_KEY, then $HULL_ADMIN_KEY)
  --after N          with tail: events after this number (default: only new ones)
  --timeout SECONDS  with wait: no longer than this; exit code 124 if the task is still running
  --json             print the server's answer; with tail one event on each line

send gives the task's agent another task; - reads it from stdin. wait prints the task's answer, and ends with exit code 1
if it failed. close ends the task and all that it delegated; resume lets a closed one take input again.
`,
  flags: { ...FOLLOW_FLAGS, timeout: VALUE },
  words: 3,
  only: { after: ["tail"], timeout: ["wait"] },
  async run({ values, positionals }) {
    const named = Object.keys(ACTIONS).filter((known) => known !== "ls" && known !== "send");
    const hint = `hull tasks ls, send <id> <task>, ${named.join("|")} <id>`;
    const usage = {
      question: "Name an action; all but ls need the id of a task, and send also needs the text.",
      hint,
    };
    const asked = remoteAction(ACTIONS, positionals, usage);
    const timeout_ms = timeoutMs(values.timeout);
    return asked.action({ ...(await actionInput("tasks", asked, values)), timeout_ms });
  },
});

function ls({ server, json }: Wanted): Promise<number> {
  return printList(json, server.list("GET /tasks", {}, ["id"]), {
    ID: ({ id }) => id,
    NAME: ({ name }) => name,
    MODE: ({ mode }) => mode,
    STATUS: ({ status }) => status,
    PARENT: ({ parent_task_id }) => parent_task_id,
    CREATED: ({ created_at }) => created_at,
  });
}

async function wait({ server, id, timeout_ms, json }: Wanted): Promise<number> {
  const answer = await server.ask(
    "POST /tasks/wait",
    { json: { ids: id, timeout_ms } },
    { needs: ["status", "error"] },
  );
  let exit: number = EXIT.ok;
  for (const task of [answer].flat()) exit = ended(json, task);
  return exit;
}

function ended(json: boolean, task: Task): number {
  const { status, error } = task;
  const text = answered(task);
  if (json) print(true, task, "");
  else writeOut(endedLine(text));
  if (!json && status !== "completed") {
    const why = error === null ? "" : `: ${error.detail} [${error.code}]`;
    writeError(`The task is ${status}${why}\n`);
  }
  if (status === "running" || status === "awaiting") return EXIT.timed_out;
  return status === "completed" ? EXIT.ok : EXIT.failed;
}

async function send({ server, id, text = "", json }: Wanted): Promise<number> {
  const task = await textOrStdin(text);
  return shown(json, await server.ask("POST /tasks/{id}/input", { path: { id }, json: { task } }, SHOWN));
}

async function resume({ server, id, json }: Wanted): Promise<number> {
  return shown(json, await server.ask("POST /tasks/resume", { json: { id } }, SHOWN));
}

/** The text of the task's envelope. */
const answered = ({ result }: Task): string => textOf(result?.summary ?? result?.visible_text);

function shown(json: boolean, task: Task): number {
  const { error, policy_dropped = [] } = task;
  const facts: [string, string][] = [
    ["task", task.id],
    ["name", task.name],
    ["mode", task.mode],
    ["status", task.status],
    ["error", error === null ? "" : `${error.detail} [${error.code}]`],
    ["does", task.task],
    ["cycles", String(task.history.length)],
    ["began", task.started_at],
    ["ended", task.finished_at ?? ""],
    ["above it", textOf(task.provenance.parent_session_id)],
    ["tools it lacks", policy_dropped.join(", ")],
    ["answered", answered(task)],
  ];
  return print(json, task, factTable(facts));
}
