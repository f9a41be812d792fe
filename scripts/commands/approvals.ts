/** `hull approvals`: the calls of tools that wait for a decision. */
import { jsonShown } from "../../src/bytes.ts";
import type { Approvals } from "../../typed/client/api.d.ts";
import { type AdminClient, SERVER_FLAGS, serverOf } from "../admin-client.ts";
import { decide } from "../agent-run.ts";
import { mapLimited } from "../build/map-limited.ts";
import { CommandError, defineCommand, EXIT, SWITCH, usageError, VALUE } from "../command.ts";
import { actionProblem } from "../remote-action.ts";
import { print } from "../report.ts";
import { table } from "../table.ts";
import { writeOut } from "../terminal-text.ts";

const ACTIONS = ["ls", "approve", "deny"];
const HINT = "hull approvals, ls [session], approve <session> <id>, deny <session> <id>";

export const command = defineCommand({
  name: "approvals",
  summary: "List and decide calls that wait for an approval",
  usage: `
Usage: hull approvals [ls [session]] [--url URL] [--json]
       hull approvals approve <session> <id> [--for-session] [--url URL]
       hull approvals deny <session> <id> [--reason TEXT] [--url URL]

  --for-session  approve the same arguments for the rest of the session
  --reason TEXT  what the model reads about the refusal
  --url URL      the Hull, e.g. http://localhost:3000 (default: $HULL_URL, then the hull dev of this project)
  --key KEY      an API key (default: $HULL_API_KEY, then $HULL_ADMIN_KEY)
  --json         print what the server answers, with the session of each

ls without a session asks all active sessions. approve approves exactly the arguments that ls shows.
`,
  flags: { ...SERVER_FLAGS, json: SWITCH, reason: VALUE, "for-session": SWITCH },
  words: 3,
  only: { reason: ["deny"], "for-session": ["approve"] },
  async run({ values, positionals }) {
    const [name = "ls", session, id] = positionals;
    const lists = name === "ls" && id === undefined;
    const decision = name === "approve" || name === "deny" ? name : null;
    if (!lists && (decision === null || session === undefined || id === undefined)) {
      const question = "approve and deny need a session and the id of an approval.";
      throw usageError("bad_arguments", actionProblem(name, ACTIONS, question), HINT);
    }
    const server = await serverOf(values, `hull approvals ${name} … --url https://…`);
    if (decision === null || session === undefined || id === undefined)
      return list(server, session, values.json === true);
    const open = await approvalsOf(server, session);
    const approval = open.find((one) => one.id === id);
    if (approval === undefined) {
      const known = open.map((one) => one.id).join(", ") || "none";
      throw new CommandError(
        EXIT.missing,
        "not_found",
        `No call of ${session} waits for the approval ${id}.`,
        `Waiting there: ${known}.`,
      );
    }
    const scope = values["for-session"] === true && decision === "approve" ? "session" : undefined;
    await decide(server, session, approval, { decision, scope, reason: values.reason });
    const done = decision === "approve" ? "Approved" : "Denied";
    writeOut(`${done} ${approval.tool}(${jsonShown(approval.arguments)}).\n`);
    return EXIT.ok;
  },
});

async function approvalsOf(server: AdminClient, id: string): Promise<Approvals["data"]> {
  return (await server.ask("GET /sessions/{id}/approvals", { path: { id } }, { needs: ["data"] })).data;
}

async function list(server: AdminClient, session: string | undefined, json: boolean): Promise<number> {
  const sessions = session === undefined ? await activeSessions(server) : [session];
  const found = await mapLimited(sessions, async (id) => {
    const open = await approvalsOf(server, id);
    return open.map((approval) => ({ session_id: id, ...approval }));
  });
  const data = found.flat();
  const rows = data.map(({ session_id, id, tool, risk, expires_at, arguments: given }) => [
    session_id,
    id,
    tool,
    risk,
    expires_at,
    jsonShown(given),
  ]);
  const lines = table([["SESSION", "APPROVAL", "TOOL", "RISK", "EXPIRES", "ARGUMENTS"], ...rows]);
  const [first] = data;
  const text =
    first === undefined
      ? "No call waits for an approval.\n"
      : `${lines}\nDecide with: hull approvals approve ${first.session_id} ${first.id}\n`;
  return print(json, { data }, text);
}

async function activeSessions(server: AdminClient): Promise<string[]> {
  const sessions = await server.list("GET /sessions", {}, ["id", "state"]);
  return sessions.filter(({ state }) => state === "active").map(({ id }) => id);
}
