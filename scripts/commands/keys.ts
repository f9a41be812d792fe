/** `hull keys`: the API keys of a running Hull. */

import { SCOPES } from "../../src/auth/api-key.ts";
import { SERVER_FLAGS, serverOf } from "../admin-client.ts";
import { defineCommand, EXIT, oneOf, SWITCH, VALUE } from "../command.ts";
import { type ActionInput, printList, remoteAction } from "../remote-action.ts";

interface Wanted extends Pick<ActionInput, "server" | "id" | "json"> {
  tenant?: string;
  scopes?: string;
  name?: string;
}

const ACTIONS: Record<string, (wanted: Wanted) => Promise<number>> = { add, revoke, list };

export const command = defineCommand({
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
  flags: { ...SERVER_FLAGS, tenant: VALUE, scopes: VALUE, name: VALUE, json: SWITCH },
  words: 2,
  only: { tenant: ["add", "list"], scopes: ["add"], name: ["add"] },
  async run({ values, positionals }) {
    const { id, action } = remoteAction(ACTIONS, positionals, {
      question: "Name an action; revoke also needs the id of a key.",
      hint: "hull keys add, hull keys list, hull keys revoke <id>",
      alone: ["add", "list"],
    });
    const server = await serverOf(values, "hull keys … --url https://…");
    return action({ ...values, server, id, json: values.json === true });
  },
});

async function add({ server, json, tenant = "default", scopes = "invoke", name }: Wanted): Promise<number> {
  const words = scopes.split(",").map((word) => oneOf("scope", SCOPES, word));
  // With an Idempotency-Key, Hull would derive the key from its secret; without, it is random.
  const made = await server.ask(
    "POST /admin/keys",
    { json: { tenant, scopes: words, name } },
    { once: true, needs: ["key", "id", "tenant", "scopes"] },
  );
  if (json) process.stdout.write(`${JSON.stringify(made)}\n`);
  else {
    process.stdout.write(`${made.key}\n`);
    const what = `${made.id} of tenant ${made.tenant} with ${made.scopes.join(", ")}`;
    process.stderr.write(`Made ${what}. Hull does not show it again.\n`);
  }
  return EXIT.ok;
}

function list({ server, json, tenant }: Wanted): Promise<number> {
  return printList(json, server.list("GET /admin/keys", { query: { tenant } }, ["id", "prefix", "scopes"]), {
    ID: ({ id }) => id,
    KEY: ({ prefix }) => `${prefix}…`,
    TENANT: (key) => key.tenant,
    SCOPES: ({ scopes }) => scopes.join(","),
    CREATED: ({ created_at }) => created_at,
    NAME: ({ name }) => name,
  });
}

async function revoke({ server, id, json }: Wanted): Promise<number> {
  await server.ask("DELETE /admin/keys/{id}", { path: { id } });
  process.stdout.write(json ? `${JSON.stringify({ id, revoked: true })}\n` : `Revoked ${id}.\n`);
  return EXIT.ok;
}
