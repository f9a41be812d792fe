/** `hull daemons`: the daemons of a running Hull. */
import type { Daemon, DaemonSnapshot } from "../../typed/client/api.d.ts";
import { defineCommand } from "../command.ts";
import { type ActionInput, actionInput, printList, remoteAction, tailing } from "../remote-action.ts";
import { factTable, print } from "../report.ts";
import { FOLLOW_FLAGS, type SessionEvent } from "../session-events.ts";
import { textOrStdin } from "../utf8-text.ts";

/** Only `show` gets the snapshot. */
type ShownDaemon = Daemon & Partial<DaemonSnapshot>;

const note = ({ event, data }: SessionEvent): string =>
  event === "daemon_wake" ? `* woken: ${data.reason}` : "";

/** What an answer needs to be shown. */
const SHOWN = {
  needs: ["id", "status", "daemon_state", "last_wake", "wake_budget_reached", "pending_wakes"],
} as const;

/** An action that asks the server about a daemon, or to change it, and shows the daemon. */
const ask =
  (route: "GET /daemons/{id}" | `POST /daemons/{id}/${"wake" | "stop" | "resume"}`) =>
  async ({ server, id, json }: ActionInput): Promise<number> =>
    shown(json, await server.ask(route, { path: { id } }, SHOWN));

const ACTIONS: Record<string, (input: ActionInput) => Promise<number>> = {
  ls,
  show: ask("GET /daemons/{id}"),
  tail: tailing(note),
  send,
  wake: ask("POST /daemons/{id}/wake"),
  stop: ask("POST /daemons/{id}/stop"),
  resume: ask("POST /daemons/{id}/resume"),
  rm,
};

export const command = defineCommand({
  name: "daemons",
  summary: "List, follow, wake, stop and remove daemons of a running Hull",
  usage: `
Usage: hull daemons ls [--url URL] [--json]
       hull daemons show <id> [--url URL] [--json]
       hull daemons tail <id> [--url URL] [--after N] [--json]
       hull daemons send <id> <event> [--url URL] [--json]
       hull daemons wake|stop|resume|rm <id> [--url URL] [--json]

  --url URL   the Hull that runs the daemons, e.g. http://localhost:3000 (default: $HULL_URL, then the hull dev of this project)
  --key KEY   an API key (default: $HULL_API_KEY, then $HULL_ADMIN_KEY)
  --after N   with tail: events after this number (default: only new ones)
  --json      print the server's answer; with tail one event on each line

send puts an event into the daemon's queue: JSON, or any other text as it is; - reads it from stdin. tail prints text on
stdout, wakes and tool calls on stderr. stop waits half a second for the daemon to go idle, then cancels it.
`,
  flags: FOLLOW_FLAGS,
  words: 3,
  only: { after: ["tail"] },
  async run({ values, positionals }) {
    const named = Object.keys(ACTIONS).filter((known) => known !== "ls" && known !== "send");
    const hint = `hull daemons ls, send <id> <event>, ${named.join("|")} <id>`;
    const usage = {
      question: "Name an action; all but ls need the id of a daemon, and send also needs an event.",
      hint,
    };
    const asked = remoteAction(ACTIONS, positionals, usage);
    return asked.action(await actionInput("daemons", asked, values));
  },
});

function ls({ server, json }: ActionInput): Promise<number> {
  return printList(json, server.list("GET /daemons", {}, ["id"]), {
    ID: ({ id }) => id,
    NAME: ({ name }) => name,
    STATUS: ({ status }) => status,
    SKILL: ({ skill }) => skill,
    CREATED: ({ created_at }) => created_at,
  });
}

async function send({ server, id, text: given = "", json }: ActionInput): Promise<number> {
  const text = await textOrStdin(given);
  const daemon = await server.ask(
    "POST /daemons/{id}/events",
    { path: { id }, json: eventOf(text) },
    { needs: ["queued_event_count", "event_queue_capacity"] },
  );
  const { queued_event_count: queued, event_queue_capacity: capacity } = daemon;
  return print(json, daemon, `Stored; ${queued} of ${capacity} events are in the queue.\n`);
}

function eventOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

async function rm({ server, id, json }: ActionInput): Promise<number> {
  await server.ask("DELETE /daemons/{id}", { path: { id } });
  return print(json, { id, removed: true }, `Removed ${id}.\n`);
}

function shown(json: boolean, daemon: ShownDaemon): number {
  const { last_wake, inflight_event, error } = daemon;
  const facts: [string, string][] = [
    ["daemon", daemon.id],
    ["name", daemon.name ?? ""],
    ["skill", daemon.skill ?? ""],
    ["status", `${daemon.status}, ${daemon.daemon_state}`],
    ["error", error === undefined ? "" : `${error.detail} [${error.code}]`],
    ["iterations", String(daemon.total_iterations ?? "")],
    ["resumes at", daemon.resumes_at ?? ""],
    ["next wake", daemon.next_wake_at ?? ""],
    ["last wake", last_wake === null ? "" : `${last_wake.reason}, ${last_wake.at}`],
    ["ended by", daemon.wake_budget_reached === null ? "" : `its wake_budget: ${daemon.wake_budget_reached}`],
    ["waits to wake it", daemon.pending_wakes.join(", ")],
    ["events", `${daemon.pending_event_count} waiting, capacity ${daemon.event_queue_capacity}`],
    ["in flight", inflight_event === undefined ? "" : `event ${inflight_event.seq}`],
    ["said last", daemon.last_iteration_text ?? ""],
  ];
  return print(json, daemon, factTable(facts));
}
