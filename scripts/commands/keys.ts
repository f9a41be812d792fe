/** `hull keys`: the API keys of a running Hull. */

import { type AdminClient, pathOf, SERVER_FLAGS, serverOf } from "../admin-client.ts";
import { type Command, EXIT, parseFlags, usageError } from "../command.ts";
import { actionProblem, printList } from "../remote-action.ts";

/** A key in the server's list. */
interface ListedKey {
  id: string;
  prefix: string;
  tenant: string;
  scopes: string[];
  name: string | null;
  created_at: string;
}

const ACTIONS = ["add", "revoke", "list"];

export const command: Command = {
  name: "keys",
  summary: "Make, list and revoke API keys of a running Hull",
  usage: `
Usage: hull keys add [--url URL] [--tenant T] [--scopes S,S] [--name N] [--json]
       hull keys list [--url URL] [--tenant T] [--json]
       hull keys revoke <id> [--url URL] [--json]

  --url URL     the Hull that has the keys, e.g. https://hull.example.workers.dev (default: $HULL_URL, then the hull dev of this project)
  --key KEY     an API key with the scope admin (default: $HULL_API_KEY, then $HULL_ADMIN_KEY)
  --tenant T    the tenant of the key (default: default); with list: only this tenant's keys
  --scopes S    invoke, publish, admin, with commas between them (default: invoke); admin contains the others
  --name N      what the key is for
  --json        print the server's answer

Hull prints a new key once, alone on stdout. A revoked key stops working within 10 seconds.
`,
  async run(argv) {
    const { values, positionals } = parseFlags(
      argv,
      {
        ...SERVER_FLAGS,
        tenant: { type: "string" },
        scopes: { type: "string" },
        name: { type: "string" },
        json: { type: "boolean" },
      },
      2,
    );
    const [action = "", id] = positionals;
    if (!ACTIONS.includes(action) || (action === "revoke") !== (id !== undefined)) {
      const hint = "hull keys add, hull keys list, hull keys revoke <id>";
      throw usageError(
        "bad_arguments",
        actionProblem(action, ACTIONS, "Name an action; revoke also needs the id of a key."),
        hint,
      );
    }
    const server = await serverOf(values, "hull keys … --url https://…");
    const json = values.json === true;
    if (action === "revoke") return revoke(server, id ?? "", json);
    if (action === "list") return list(server, values.tenant, json);
    const { tenant = "default", scopes = "invoke", name } = values;
    return add(server, { tenant, scopes: scopes.split(","), ...(name === undefined ? {} : { name }) }, json);
  },
};

async function add(server: AdminClient, wanted: Record<string, unknown>, json: boolean): Promise<number> {
  const text = await server.send("POST", "/admin/keys", wanted);
  const made: ListedKey & { key: string } = JSON.parse(text);
  if (json) process.stdout.write(`${text}\n`);
  else {
    process.stdout.write(`${made.key}\n`);
    const { id, tenant, scopes } = made;
    process.stderr.write(
      `Made ${id} of tenant ${tenant} with ${scopes.join(", ")}. Hull does not show it again.\n`,
    );
  }
  return EXIT.ok;
}

function list(server: AdminClient, tenant: string | undefined, json: boolean): Promise<number> {
  const columns: Record<string, (key: ListedKey) => string | null> = {
    ID: ({ id }) => id,
    KEY: ({ prefix }) => `${prefix}…`,
    TENANT: (key) => key.tenant,
    SCOPES: ({ scopes }) => scopes.join(","),
    CREATED: ({ created_at }) => created_at,
    NAME: ({ name }) => name,
  };
  return printList({ server, json }, "/admin/keys", columns, tenant === undefined ? {} : { tenant });
}

async function revoke(server: AdminClient, id: string, json: boolean): Promise<number> {
  await server.send("DELETE", pathOf("/admin/keys", id));
  process.stdout.write(json ? `${JSON.stringify({ id, revoked: true })}\n` : `Revoked ${id}.\n`);
  return EXIT.ok;
}
