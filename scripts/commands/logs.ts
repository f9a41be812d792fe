/** `hull logs`: what happened in a session of a running Hull, one event on each line. */
import { AdminClient, pathOf, target } from "../admin-client.ts";
import { type Command, CommandError, EXIT, parseFlags } from "../command.ts";
import { eventNumber, FOLLOW_FLAGS, followSession, type SessionEvent } from "../session-events.ts";

export const command: Command = {
  name: "logs",
  summary: "Print what happened in a session of a running Hull",
  usage: `
Usage: hull logs <session> [--url URL] [--after N] [--follow] [--json]

  --url URL   the Hull that has the session, e.g. http://localhost:3000 (default: $HULL_URL)
  --key KEY   an API key (default: $HULL_API_KEY, then $HULL_ADMIN_KEY)
  --after N   only what came after the event of this number
  --follow    go on with what still comes
  --json      one JSON object on each line

Each line is an event of the session: its number, its name, what it holds.
`,
  async run(argv) {
    const { values, positionals } = parseFlags(
      argv,
      {
        ...FOLLOW_FLAGS,
        follow: { type: "boolean" },
      },
      1,
    );
    const [id] = positionals;
    if (id === undefined || id === "") {
      throw new CommandError(EXIT.usage, "session_missing", "Which session?", "hull sessions ls shows them.");
    }
    const { url, key } = target(values, "hull logs <session> --url https://…");
    const server = new AdminClient(url, key);
    const path = pathOf("/sessions", id);
    const { last_event }: { last_event: number } = JSON.parse(await server.send("GET", path));
    const after = eventNumber(values.after) ?? 0;
    const follow = values.follow === true;
    if (!follow && after >= last_event) return EXIT.ok;
    await followSession(server, path, after, (event) => {
      process.stdout.write(`${values.json === true ? JSON.stringify(event) : lineOf(event)}\n`);
      return !follow && event.seq >= last_event;
    });
    return EXIT.ok;
  },
};

function lineOf({ seq, event, data }: SessionEvent): string {
  const facts = Object.entries(data).map(([name, value]) => `${name}=${JSON.stringify(value)}`);
  return `${String(seq).padStart(6)}  ${event.padEnd(20)}  ${facts.join(" ")}`.trimEnd();
}
