/** `hull logs`: the events of a session of a running Hull, one per line. */
import { jsonShown } from "../../src/bytes.ts";
import { serverOf } from "../admin-client.ts";
import { defineCommand, EXIT, SWITCH, usageError } from "../command.ts";
import { eventNumber, FOLLOW_FLAGS, followSession, type SessionEvent } from "../session-events.ts";
import { fitting } from "../terminal-columns.ts";
import { writeOut } from "../terminal-text.ts";

export const command = defineCommand({
  name: "logs",
  summary: "Print what happened in a session of a running Hull",
  usage: `
Usage: hull logs <session> [--url URL] [--after N] [--follow] [-v] [--json]

  --url URL   the Hull that has the session, e.g. http://localhost:3000 (default: $HULL_URL, then the hull dev of this project)
  --key KEY   an API key (default: $HULL_API_KEY, then $HULL_ADMIN_KEY)
  --after N   only events after this number
  --follow    keep printing new events
  -v, --verbose  print all fields of each event
  --json      one JSON object on each line

Each line is an event of the session: its number, its name and its main facts, cut to the width of the terminal.
`,
  flags: { ...FOLLOW_FLAGS, follow: SWITCH, verbose: { type: "boolean", short: "v" } },
  words: 1,
  async run({ values, positionals }) {
    const [id] = positionals;
    if (id === undefined || id === "") {
      throw usageError(
        "session_missing",
        "The command needs the id of a session.",
        "hull sessions ls shows them.",
      );
    }
    const server = await serverOf(values, "hull logs <session> --url https://…");
    const { last_event } = await server.ask(
      "GET /sessions/{id}",
      { path: { id } },
      { needs: ["last_event"] },
    );
    const after = eventNumber(values.after) ?? 0;
    const follow = values.follow === true;
    if (!follow && after >= last_event) return EXIT.ok;
    await followSession(server, "GET /sessions/{id}/events", id, after, (event) => {
      const line = values.json === true ? JSON.stringify(event) : lineOf(event, values.verbose === true);
      writeOut(`${line}\n`);
      return !follow && event.seq >= last_event;
    });
    return EXIT.ok;
  },
});

/** Characters of a line if the output is not a terminal. */
const WIDTH = 120;

function lineOf({ seq, event, data }: SessionEvent, verbose: boolean): string {
  const head = `${String(seq).padStart(6)}  ${event.padEnd(20)}  `;
  if (verbose) return `${head}${facts(data)}`.trimEnd();
  const shown = (SHOWN[event] ?? facts)(data);
  // A line end or an escape sequence of a model's text must not reach the terminal.
  const line = `${head}${shown.replace(/[\s\p{C}]+/gu, " ")}`.trimEnd();
  const width = process.stdout.columns ?? WIDTH;
  return fitting(line, width);
}

type Data = SessionEvent["data"];

const facts = (data: Data): string =>
  Object.entries(data)
    .map(([name, value]) => `${name}=${jsonShown(value)}`)
    .join(" ");

/** The relevant part of each event; for any other event, all facts. */
const SHOWN: Record<string, (data: Data) => string> = {
  start: ({ run_id }) => text(run_id),
  delta: (data) => text(data.text),
  thought: (data) => text(data.text),
  round: ({ round, finish_reason, restarted }) =>
    restarted === true ? `${text(round)} begins again` : `${text(round)} ${text(finish_reason)}`,
  tool_call: (data) => `${text(data.name)} ${jsonShown(data.arguments)}`,
  tool_result: ({ name, status, code, duration_ms }) =>
    [name, status, code, duration_ms == null ? undefined : `${duration_ms} ms`]
      .map(text)
      .filter(Boolean)
      .join(" "),
  error: ({ code, detail }) => `${text(code)}: ${text(detail)}`,
  done: ({ run_id, status, ok }) =>
    `${text(run_id)} ${text(status ?? (ok === true ? "done" : "failed"))}`.trim(),
};

const text = (value: unknown): string => (value === undefined || value === null ? "" : String(value));
