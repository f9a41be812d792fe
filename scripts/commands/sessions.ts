/** `hull sessions`: the sessions of a running Hull. */
import type { NewMessage } from "../../typed/client/api.d.ts";
import { cancelRun } from "../agent-run.ts";
import { CommandError, defineCommand, EXIT, oneOf, SWITCH, VALUE } from "../command.ts";
import { type ActionInput, actionInput, printList, remoteAction } from "../remote-action.ts";
import { factTable, print } from "../report.ts";
import { FOLLOW_FLAGS, type SessionEvent, tailSession } from "../session-events.ts";
import { table } from "../table.ts";
import { writeOut } from "../terminal-text.ts";
import { textOrStdin } from "../utf8-text.ts";

const DELIVERIES = [
  "interrupt_immediate",
  "finish_step",
  "wait_for_completion",
] as const satisfies readonly NewMessage["delivery"][];

interface Wanted extends ActionInput {
  delivery: (typeof DELIVERIES)[number];
  run: boolean;
}

const ACTIONS: Record<string, (wanted: Wanted) => Promise<number>> = {
  ls,
  show,
  tail,
  send,
  stop,
  resume,
  rm,
};

export const command = defineCommand({
  name: "sessions",
  summary: "List, follow, message, stop and remove sessions of a running Hull",
  usage: `
Usage: hull sessions ls [--url URL] [--json]
       hull sessions show <id> [--url URL] [--json]
       hull sessions tail <id> [--url URL] [--after N] [--run] [--json]
       hull sessions send <id> <text> [--url URL] [--delivery D] [--json]
       hull sessions stop|resume|rm <id> [--url URL] [--json]

  --url URL       the Hull that has the sessions, e.g. http://localhost:3000 (default: $HULL_URL, then the hull dev of this project)
  --key KEY       an API key (default: $HULL_API_KEY, then $HULL_ADMIN_KEY)
  --after N       with tail: events after this number (default: only new ones)
  --run           with tail: end with the current run, or the next one; exit code 1 if it fails
  --delivery D    with send: interrupt_immediate, finish_step (default) or wait_for_completion
  --json          print the server's answer; with tail one event on each line

tail prints text on stdout, tool calls on stderr. send sends a message to the current run or the next one; - reads it from
stdin. stop cancels the current run. rm removes the session with its files.
`,
  flags: { ...FOLLOW_FLAGS, delivery: VALUE, run: SWITCH },
  words: 3,
  only: { after: ["tail"], run: ["tail"], delivery: ["send"] },
  async run({ values, positionals }) {
    const usage = {
      question: "Name an action; all but ls need the id of a session, and send also needs the text.",
      hint: "hull sessions ls, show <id>, tail <id>, send <id> <text>, stop <id>, resume <id>, rm <id>",
    };
    const asked = remoteAction(ACTIONS, positionals, usage);
    const delivery = oneOf("delivery", DELIVERIES, values.delivery ?? "finish_step");
    const input = await actionInput("sessions", asked, values);
    return asked.action({ ...input, delivery, run: values.run === true });
  },
});

function ls({ server, json }: Wanted): Promise<number> {
  return printList(json, server.list("GET /sessions", {}, ["id"]), {
    ID: ({ id }) => id,
    STATE: ({ state }) => state,
    CREATED: ({ created_at }) => created_at,
    "FORK OF": ({ parent_id }) => parent_id,
  });
}

/** Shows the session, its runs, and its messages. */
async function show({ server, id, json }: Wanted): Promise<number> {
  const path = { id };
  const session = await server.ask(
    "GET /sessions/{id}",
    { path },
    { needs: ["id", "state", "created_at", "length", "last_event"] },
  );
  const runs = await server.list("GET /sessions/{id}/runs", { path }, ["run_id", "status", "created_at"]);
  if (json) return done(json, { ...session, runs }, "");
  const facts = factTable([
    ["session", session.id],
    ["state", session.state],
    ["created", session.created_at],
    ["messages", String(session.length)],
    ["last event", String(session.last_event)],
    ["fork of", session.parent_id ?? ""],
  ]);
  const rows = runs.map(({ run_id, status, created_at, settled_at }) => [
    run_id,
    status,
    created_at,
    settled_at ?? "",
  ]);
  const transcript = await server.text("GET /sessions/{id}/transcript", { path });
  const shown = [
    facts,
    ...(rows.length === 0 ? [] : [table([["RUN", "STATUS", "CREATED", "SETTLED"], ...rows])]),
    ...(transcript === "" ? [] : [`${transcript.trimEnd()}\n`]),
  ];
  writeOut(shown.join("\n"));
  return EXIT.ok;
}

async function tail({ server, id, after, run, json }: Wanted): Promise<number> {
  let exit: number = EXIT.ok;
  const over = ({ event, data }: SessionEvent): boolean => {
    if (event === "done") exit = data.ok === true ? EXIT.ok : EXIT.failed;
    return run && event === "done";
  };
  await tailSession(server, id, { after, json, note, over });
  return exit;
}

const note = ({ event, data }: SessionEvent): string =>
  event === "done" ? `${data.run_id} ${data.status}` : "";

async function send({ server, id, text = "", delivery, json }: Wanted): Promise<number> {
  const content = await textOrStdin(text);
  const sent = await server.ask(
    "POST /sessions/{id}/messages",
    {
      path: { id },
      json: { content, delivery },
    },
    { needs: ["run_id"] },
  );
  return done(json, sent, sent.run_id === null ? "Kept for the next run." : `Given to ${sent.run_id}.`);
}

async function stop({ server, id, json }: Wanted): Promise<number> {
  const ended = await cancelRun(server, id);
  if (ended === null) throw new CommandError(EXIT.missing, "no_run", `No run is under way in ${id}.`);
  return done(json, ended, `${ended.run_id} is cancelled.`);
}

async function resume({ server, id, json }: Wanted): Promise<number> {
  const session = await server.ask("POST /sessions/{id}/resume", { path: { id } }, { needs: ["woken"] });
  return done(json, session, `${id} is active${session.woken ? "; its run was woken" : ""}.`);
}

async function rm({ server, id, json }: Wanted): Promise<number> {
  await server.ask("DELETE /sessions/{id}", { path: { id } });
  return done(json, { id, removed: true }, `Removed ${id}.`);
}

const done = (json: boolean, value: object, line: string): number => print(json, value, `${line}\n`);
