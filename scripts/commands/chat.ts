/** `hull chat`: a conversation with a skill, or with a model alone, in a session of a running Hull. */
import { createInterface, type Interface } from "node:readline/promises";
import { AdminClient, pathOf, target } from "../admin-client.ts";
import { type Approval, decide, RUN_FLAGS, runBody, streamRun } from "../agent-run.ts";
import { type Command, CommandError, EXIT, parseFlags } from "../command.ts";
import { terminalText } from "../terminal-text.ts";

export const command: Command = {
  name: "chat",
  summary: "Talk with a skill of a running Hull",
  usage: `
Usage: hull chat [skill] [--session ID] [options]

    skill           slug of a served llm skill (default: the model alone)
    --session ID    continue this session; Hull creates it if it does not exist
  --provider P, --model M, --system TEXT   instead of the defaults
  --url URL       the Hull, e.g. http://localhost:3000 (default: $HULL_URL, then the hull dev of this project)
  --key KEY       an API key (default: $HULL_API_KEY, then $HULL_ADMIN_KEY)

Each line is a message; Ctrl-D ends. In a terminal, hull chat asks about calls that need an approval. Without a terminal, it
reads messages from stdin, and a call that needs an approval waits for hull approvals. Hull keeps the session.
`,
  async run(argv) {
    const { values, positionals } = parseFlags(argv, RUN_FLAGS, 1);
    const [skill] = positionals;
    const { url, key } = await target(values, "hull chat [skill] --url https://…");
    const server = new AdminClient(url, key);
    const body = runBody(values, skill);
    const wanted = values.session === undefined ? {} : { id: values.session };
    const { id }: { id: string } = JSON.parse(await server.send("POST", "/sessions", wanted));
    const path = pathOf("/sessions", id);
    const asks = process.stdin.isTTY === true;
    const terminal = createInterface({ input: process.stdin, output: asks ? process.stderr : undefined });
    const closed = new AbortController();
    terminal.once("close", () => closed.abort());
    let exit: number = EXIT.ok;
    try {
      for await (const prompt of asks ? questions(terminal, closed.signal) : terminal) {
        if (prompt.trim() === "") continue;
        const over = new AbortController();
        let asked = Promise.resolve();
        const run = streamRun(server, `${path}/runs`, { prompt, ...body }, (approval) => {
          // One question at a time; after the run nobody waits for an answer.
          if (asks) asked = asked.then(() => ask(server, path, approval, terminal, over.signal));
          else process.stderr.write(`  hull approvals approve ${id} ${approval.id}, or: deny\n`);
        });
        exit = await outcome(run, asks);
        over.abort();
        await asked;
      }
    } finally {
      terminal.close();
    }
    const again = `hull chat ${skill === undefined ? "" : `${skill} `}--session ${id}`;
    process.stderr.write(`${asks ? "\n" : ""}Go on with: ${again}\n`);
    return exit;
  },
};

/** The typed lines, until the terminal is closed. */
async function* questions(terminal: Interface, closed: AbortSignal): AsyncGenerator<string> {
  while (!closed.aborted) {
    const line = await terminal.question("› ", { signal: closed }).catch(() => null);
    if (line === null) return;
    yield line;
  }
}

/** A failed run does not end a conversation in a terminal. */
async function outcome(run: Promise<number>, goesOn: boolean): Promise<number> {
  try {
    return await run;
  } catch (error) {
    if (!goesOn || !(error instanceof CommandError) || error.exit === EXIT.unreachable) throw error;
    process.stderr.write(`hull: ${error.message}\n`);
    return error.exit;
  }
}

/** Asks in the terminal, and decides. The run continues by itself. */
async function ask(
  server: AdminClient,
  session: string,
  approval: Approval,
  terminal: Interface,
  signal: AbortSignal,
): Promise<void> {
  const question = `  Approve ${terminalText(approval.tool, process.stderr)}? y = this call, a = these arguments in this session, n = no: `;
  const answer = await terminal.question(question, { signal }).catch(() => null);
  if (answer === null) return;
  const yes = /^[ya]/i.test(answer.trim());
  const at = approval.session === undefined ? session : pathOf("/sessions", approval.session);
  try {
    await decide(server, at, approval, {
      decision: yes ? "approve" : "deny",
      ...(/^a/i.test(answer.trim()) ? { scope: "session" } : {}),
    });
  } catch (error) {
    process.stderr.write(`hull: ${error instanceof Error ? error.message : error}\n`);
  }
}
