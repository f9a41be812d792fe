/** `hull mcp`: logins of a running Hull at the MCP servers of its hull.toml. */
import { spawn } from "node:child_process";
import { createServer } from "node:http";
import type { McpServerEntry } from "../../typed/client/api.d.ts";
import { type AdminClient, SERVER_FLAGS, serverOf } from "../admin-client.ts";
import { CommandError, defineCommand, EXIT, SWITCH, usageError, VALUE } from "../command.ts";
import { remoteAction } from "../remote-action.ts";
import { print } from "../report.ts";
import { table } from "../table.ts";

interface Wanted {
  server: AdminClient;
  id: string;
  port: number;
  browser: boolean;
  json: boolean;
}

const ACTIONS: Record<string, (wanted: Wanted) => Promise<number>> = { login, logout, list };
/** How long a person may take; the deployment then refuses the login too. */
const PERSON_MS = 10 * 60_000;

export const command = defineCommand({
  name: "mcp",
  summary: "Log in at the MCP servers of a running Hull",
  usage: `
Usage: hull mcp login <name> [--url URL] [--port N] [--no-browser] [--json]
       hull mcp logout <name> [--url URL] [--json]
       hull mcp list [--url URL] [--json]

  --url URL     the Hull that uses the servers, e.g. https://hull.example.workers.dev (default: $HULL_URL, then the hull dev of this project)
  --key KEY     the operator's key (default: $HULL_API_KEY, then $HULL_ADMIN_KEY)
  --port N      the port on which this machine receives the answer (default: a free one); a client that hull.toml names
                must have the address http://127.0.0.1:N/callback
  --no-browser  only print the address to open
  --json        print the server's answer

The name is that of a server under [mcp.servers] in hull.toml. Login opens a browser, in which you permit the access. Only the
Hull gets the tokens: it stores them sealed, and renews them. list shows "needed" where nobody has logged in yet, and "lost"
where the server has ended the login: log in again.
`,
  flags: { ...SERVER_FLAGS, port: VALUE, "no-browser": SWITCH, json: SWITCH },
  words: 2,
  only: { port: ["login"], "no-browser": ["login"] },
  async run({ values, positionals }) {
    const { id, action } = remoteAction(ACTIONS, positionals, {
      question: "Name an action; login and logout also need the name of a server.",
      hint: "hull mcp login <name>, hull mcp logout <name>, hull mcp list",
      alone: ["list"],
    });
    const port = Number(values.port ?? 0);
    if (!Number.isInteger(port) || port < 0 || port > 65_535)
      throw usageError(
        "bad_arguments",
        `--port is a number up to 65535, not ${JSON.stringify(values.port)}.`,
      );
    const server = await serverOf(values, "hull mcp … --url https://…");
    return action({ server, id, port, browser: values["no-browser"] !== true, json: values.json === true });
  },
});

async function login({ server, id, port, browser, json }: Wanted): Promise<number> {
  const path = { name: id };
  const receiver = await startReceiver(port);
  try {
    const begin = { redirect_uri: receiver.address };
    const { address, login: begun } = await server.ask(
      "POST /admin/mcp/{name}/login",
      { path, json: begin },
      { needs: ["address", "login"] },
    );
    process.stderr.write(`Open this address, and permit the access:\n${address}\n`);
    if (browser) openBrowser(address);
    const state = new URL(address).searchParams.get("state") ?? "";
    const { answer, respond } = await receiver.answer(state);
    try {
      const end = { login: begun, answer };
      const stored = await server.ask(
        "PUT /admin/mcp/{name}/login",
        { path, json: end },
        { needs: ["renewable"] },
      );
      respond("Hull has access now. You can close this page.");
      const { expires_at, renewable } = stored;
      const ends = renewable
        ? "Hull renews it by itself"
        : `it ends at ${expires_at ?? "a time that the server chooses"}`;
      return print(json, stored, `Hull has access to ${id}; ${ends}.\n`);
    } catch (error) {
      respond("The login failed. The command says why.");
      throw error;
    }
  } finally {
    receiver.close();
  }
}

async function logout({ server, id, json }: Wanted): Promise<number> {
  await server.ask("DELETE /admin/mcp/{name}/login", { path: { name: id } });
  return print(json, { name: id, login: "none" }, `Hull has no access to ${id} any more.\n`);
}

async function list({ server, json }: Wanted): Promise<number> {
  const answer = await server.ask("GET /admin/mcp", {}, { needs: ["data"] });
  const rows = answer.data.map((entry) => [
    entry.name,
    entry.url,
    entry.needs_login ? (entry.login === "stored" ? "lost" : "needed") : SHOWN[entry.login],
    entry.needs_login ? "" : entry.renewable ? "renewed" : (entry.expires_at ?? ""),
    entry.failure === null ? "" : `${entry.failed_at ?? ""} ${entry.failure}`.trim(),
  ]);
  return print(json, answer, table([["NAME", "ADDRESS", "LOGIN", "EXPIRES", "LAST FAILURE"], ...rows]));
}

const SHOWN: Record<McpServerEntry["login"], string> = {
  none: "none",
  stored: "yes",
  client_credentials: "by client",
  header: "by header",
};

interface Received {
  /** The query with which the browser came. */
  answer: string;
  /** Shows the person a sentence. */
  respond: (sentence: string) => void;
}

/** Waits on loopback for the browser, which comes back with the answer (RFC 8252, section 7.3). */
async function startReceiver(port: number) {
  const { promise, resolve } = Promise.withResolvers<Received>();
  /** The login's own; a page of another origin cannot know it. */
  let expected: string | null = null;
  const server = createServer(({ url = "/" }, response) => {
    const { pathname, search, searchParams } = new URL(url, "http://127.0.0.1");
    const isAnswer = pathname === "/callback" && expected !== null && searchParams.get("state") === expected;
    const respond = (sentence: string, status = 200) => {
      response.writeHead(status, { "content-type": "text/plain; charset=utf-8", connection: "close" });
      response.end(`${sentence}\n`);
    };
    if (isAnswer) resolve({ answer: search, respond });
    else respond("This is not the answer that the login waits for.", 400);
  });
  const listening = Promise.withResolvers<void>();
  server.once("error", listening.reject);
  server.listen(port, "127.0.0.1", listening.resolve);
  await listening.promise;
  const bound = server.address();
  const at = typeof bound === "object" ? bound?.port : port;
  return {
    address: `http://127.0.0.1:${at}/callback`,
    /** Throws `CommandError` (exit 124) if nobody comes. */
    async answer(state: string): Promise<Received> {
      expected = state;
      const late = Promise.withResolvers<never>();
      const timer = setTimeout(() => {
        const message = "Nobody permitted the access within 10 minutes.";
        late.reject(new CommandError(EXIT.timed_out, "login_timed_out", message, "Run the command again."));
      }, PERSON_MS);
      try {
        return await Promise.race([promise, late.promise]);
      } finally {
        clearTimeout(timer);
      }
    },
    close: () => server.close(),
  };
}

/** Opens the address in the person's browser, if there is one: the address is on the screen too. */
function openBrowser(address: string): void {
  const [program, ...args] =
    process.platform === "darwin"
      ? ["open"]
      : process.platform === "win32"
        ? ["rundll32", "url.dll,FileProtocolHandler"]
        : ["xdg-open"];
  const child = spawn(program ?? "", [...args, address], { stdio: "ignore", detached: true });
  child.on("error", () => {});
  child.unref();
}
