/** `hull chat`: a conversation with a skill, or with a model alone, in a session of a running Hull. */
import { createInterface, type Interface } from "node:readline/promises";
import { type AdminClient, pathOf, serverOf } from "../admin-client.ts";
import { type Approval, cancelRun, decide, RUN_FLAGS, runBody, streamRun } from "../agent-run.ts";
import { CommandError, defineCommand, EXIT, usageError } from "../command.ts";
import { shellWord } from "../shell-word.ts";
import { terminalText, writeError } from "../terminal-text.ts";
import { stdinLines } from "../utf8-text.ts";

export const command = defineCommand({
  name: "chat",
  summary: "Talk with a skill of a running Hull",
  usage: `
Usage: hull chat [skill] [--session ID] [options]

  skill           slug of a served llm skill (default: the model alone)
  --session ID    continue this session; Hull creates it if it does not exist
  --provider P, --model M, --system TEXT   instead of the defaults
  --url URL       the Hull, e.g. http://localhost:3000 (default: $HULL_URL, then the hull dev of this project)
  --key KEY       an API key (default: $HULL_API_KEY, then $HULL_ADMIN_KEY)

Each line is a message; Ctrl-D ends. Ctrl-C cancels the run under way, and ends at the prompt. In a terminal, hull chat asks
about calls that need an approval. Without a terminal, it reads messages from stdin, and a call that needs an approval waits
for hull approvals. Hull keeps the session.
`,
  flags: RUN_FLAGS,
  words: 1,
  async run({ values, positionals }) {
    const [skill] = positionals;
    const server = await serverOf(values, "hull chat [skill] --url https://…");
    if (skill !== undefined) await checkMode(server, skill);
    const { provider, model, system } = values;
    const body = runBody(values, skill);
    const wanted = values.session === undefined ? {} : { id: values.session };
    const { id }: { id: string } = JSON.parse(await server.send("POST", "/sessions", wanted));
    const path = pathOf("/sessions", id);
    const asks = process.stdin.isTTY === true;
    const terminal = asks ? createInterface({ input: process.stdin, output: process.stderr }) : null;
    const closed = new AbortController();
    terminal?.once("close", () => closed.abort());
    /** Lines that the user typed, or pasted, while a run was under way. */
    const typed: string[] = [];
    terminal?.on("line", (line) => typed.push(line));
    /** How often the user has interrupted the current run; `null` if there is none. */
    let interrupts: number | null = null;
    terminal?.on("SIGINT", () => {
      typed.length = 0;
      if (interrupts === null) return terminal.close();
      interrupts += 1;
      if (interrupts === 1) {
        void cancelRun(server, path).then(
          (run) => {
            if (run !== null || interrupts === null) return;
            // The request that begins it has not arrived yet, or the run is over: this interrupt does not count.
            interrupts = 0;
            process.stderr.write("There is no run to cancel.\n");
          },
          (error: unknown) => {
            writeError(`hull: The run was not cancelled: ${messageOf(error)}\n`);
            process.stderr.write("Ctrl-C again leaves it.\n");
          },
        );
        return;
      }
      // A user who interrupts again does not want to wait for the server.
      terminal.close();
      process.kill(process.pid, "SIGINT");
    });
    let exit: number = EXIT.ok;
    let messages = 0;
    try {
      const asked = terminal === null ? stdinLines() : questions(terminal, typed, closed.signal);
      for await (const prompt of asked) {
        if (prompt.trim() === "") {
          if (asks) process.stderr.write("An empty line is not a message.\n");
          continue;
        }
        messages += 1;
        const over = new AbortController();
        let decided = Promise.resolve();
        interrupts = 0;
        const run = streamRun(server, `${path}/runs`, { prompt, ...body }, (approval) => {
          // One question at a time; after the run nobody waits for an answer.
          if (terminal !== null)
            decided = decided.then(() => ask(server, path, approval, terminal, over.signal));
          else process.stderr.write(`  hull approvals approve ${id} ${approval.id}, or: deny\n`);
        });
        const ended = await outcome(run, asks);
        // A script must learn of each failure; a person has seen it.
        exit = asks || exit === EXIT.ok ? ended : exit;
        interrupts = null;
        over.abort();
        await decided;
      }
    } finally {
      terminal?.close();
    }
    if (!asks && messages === 0)
      throw usageError("prompt_missing", "Standard input has no message.", "Each line is one.");
    const flags = { session: id, url: values.url, provider, model, system };
    const again = Object.entries(flags).flatMap(([name, value]) =>
      value === undefined ? [] : [`--${name} ${shellWord(value)}`],
    );
    const named = skill === undefined ? [] : [skill];
    process.stderr.write(`${asks ? "\n" : ""}Go on with: ${["hull chat", ...named, ...again].join(" ")}\n`);
    return exit;
  },
});

/** Throws `CommandError` for a skill that holds no conversation. Only the server knows which one `plugin:name` means. */
async function checkMode(server: AdminClient, skill: string): Promise<void> {
  if (skill.includes(":")) return;
  const { mode }: { mode: string } = JSON.parse(await server.send("GET", `${pathOf("/skills", skill)}/card`));
  if (mode === "llm") return;
  const message = `The skill ${skill} has mode: ${mode}; only llm skills hold conversations.`;
  throw usageError("mode_not_llm", message, `hull call ${skill}`);
}

/** The lines of a terminal, until it is closed. @param typed lines that nobody has requested yet */
async function* questions(terminal: Interface, typed: string[], closed: AbortSignal): AsyncGenerator<string> {
  for (;;) {
    const early = typed.shift();
    if (early === undefined && closed.aborted) return;
    const line = early ?? (await terminal.question("› ", { signal: closed }).catch(() => null));
    if (line !== null) yield line;
  }
}

/** A failed run does not end a conversation in a terminal. */
async function outcome(run: Promise<number>, goesOn: boolean): Promise<number> {
  try {
    return await run;
  } catch (error) {
    if (!goesOn || !(error instanceof CommandError) || error.exit === EXIT.unreachable) throw error;
    writeError(`hull: ${error.message}\n`);
    return error.exit;
  }
}

/** Asks the user, and sends the decision. The run continues by itself. */
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
    writeError(`hull: ${messageOf(error)}\n`);
  }
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
