/** `hull runs`: the runs of a running Hull. */
import { RUN_KINDS, RUN_STATES } from "../../src/session/run-entry.ts";
import type { IndexedRun } from "../../typed/client/api.d.ts";
import { SERVER_FLAGS, serverOf } from "../admin-client.ts";
import { defineCommand, oneOf, SWITCH, VALUE } from "../command.ts";
import { printList } from "../remote-action.ts";

export const command = defineCommand({
  name: "runs",
  summary: "List the runs of a running Hull",
  usage: `
Usage: hull runs [--status STATUS] [--kind KIND] [--skill NAME] [--session ID] [--model MODEL] [--code CODE]
                 [--url URL] [--json]

  --status STATUS  only runs in this state, e.g. running, done or error
  --kind KIND      only runs of this kind: run, daemon, call or workflow
  --skill NAME     only runs of this skill, operation or workflow
  --session ID     only runs in this session
  --model MODEL    only runs with this model, as provider/model
  --code CODE      only runs that ended with this error
  --url URL        the Hull that has the runs, e.g. http://localhost:3000 (default: $HULL_URL, then the hull dev of this project)
  --key KEY        an API key (default: $HULL_API_KEY, then $HULL_ADMIN_KEY)
  --json           print the server's answer

Lists the runs of the last 30 days, and older ones that have not ended, the newest first.
`,
  flags: {
    ...SERVER_FLAGS,
    status: VALUE,
    kind: VALUE,
    skill: VALUE,
    session: VALUE,
    model: VALUE,
    code: VALUE,
    json: SWITCH,
  },
  words: 0,
  async run({ values }) {
    const { status, kind, skill: name, session, model, code, json = false } = values;
    // The API's words for these differ from those of the flags.
    const state = status === undefined ? undefined : oneOf("--status", RUN_STATES, status);
    if (kind !== undefined) oneOf("--kind", RUN_KINDS, kind);
    const server = await serverOf(values, "hull runs --url https://…");
    const wanted = { state, kind, name, session, model, code };
    return printList(json, server.list("GET /runs", {}, ["id", "state", "code"], wanted), COLUMNS);
  },
});

const COLUMNS: Readonly<Record<string, (run: IndexedRun) => string | null>> = {
  ID: ({ id }) => id,
  KIND: ({ kind }) => kind,
  STATUS: ({ state, code }) => (code === null ? state : `${state} (${code})`),
  SKILL: ({ name }) => name,
  MODEL: ({ model }) => model,
  SESSION: ({ session }) => session,
  CREATED: ({ created_at }) => created_at,
};
