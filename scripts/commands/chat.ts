/** `hull chat`: a conversation with a skill, or with a model alone, in a session of a running Hull. */
import { createInterface, type Interface } from "node:readline/promises";
import type { RunRequest } from "../../typed/client/api.d.ts";
import { type AdminClient, serverOf } from "../admin-client.ts";
import { type Approval, cancelRun, decide, RUN_FLAGS, runBody, streamRun } from "../agent-run.ts";
import { CommandError, defineCommand, EXIT, failureText, usageError } from "../command.ts";
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
    const { id } = await server.ask("POST /sessions", { json: { id: values.session } }, { needs: ["id"] });
    const asks = process.stdin.isTTY === true;
    const exit = asks
      ? await talk(server, id, body)
      : await runLines(server, id, body, (approval) => `hull approvals approve ${id} ${approval}, or: deny`);
    const flags = { session: id, url: values.url, provider, model, system };
    const again = Object.entries(flags).flatMap(([name, value]) =>
      value === undefined ? [] : [`--${name} ${shellWord(value)}`],
    );
    const named = skill === undefined ? [] : [skill];
    process.stderr.write(`${asks ? "\n" : ""}Go on with: ${["hull chat", ...named, ...again].join(" ")}\n`);
    return exit;
  },
});

/** Runs each line of stdin. A script must learn of each failure, so the exit code is that of the first one. */
async function runLines(
  server: AdminClient,
  session: string,
  body: ReturnType<typeof runBody>,
  howToDecide: (approval: string) => string,
): Promise<number> {
  let exit: number = EXIT.ok;
  let messages = 0;
  for await (const prompt of stdinLines()) {
    if (prompt.trim() === "") continue;
    messages += 1;
    const ended = await streamRun(runIn(server, session, { prompt, ...body }), ({ id }) => {
      process.stderr.write(`  ${howToDecide(id)}\n`);
    });
    if (exit === EXIT.ok) exit = ended;
  }
  if (messages === 0)
    throw usageError("prompt_missing", "Standard input has no message.", "Each line is one.");
  return exit;
}

const runIn = (server: AdminClient, id: string, json: RunRequest): Promise<Response> =>
  server.open("POST /sessions/{id}/runs", { path: { id }, json });

/** Talks with a user in a terminal. The user has seen each failure, so the exit code is that of the last run. */
async function talk(server: AdminClient, session: string, body: ReturnType<typeof runBody>): Promise<number> {
  const prompts = new Prompts(server, session);
  let exit: number = EXIT.ok;
  try {
    for await (const prompt of prompts.lines()) {
      if (prompt.trim() === "") {
        process.stderr.write("An empty line is not a message.\n");
        continue;
      }
      const over = new AbortController();
      let decided = Promise.resolve();
      prompts.runBegins();
      const run = streamRun(runIn(server, session, { prompt, ...body }), (approval) => {
        // One question at a time; after the run nobody waits for an answer.
        decided = decided.then(() => ask(server, session, approval, prompts.terminal, over.signal));
      });
      exit = await exitOf(run);
      prompts.runEnds();
      over.abort();
      await decided;
    }
  } finally {
    prompts.terminal.close();
  }
  return exit;
}

/** What the user types. An interrupt cancels the run under way, and ends the conversation if there is none. */
class Prompts {
  readonly terminal = createInterface({ input: process.stdin, output: process.stderr });
  readonly #server: AdminClient;
  readonly #session: string;
  readonly #closed = new AbortController();
  /** Lines that the user typed, or pasted, while a run was under way. */
  readonly #typed: string[] = [];
  /** How often the user has interrupted the current run; `null` if there is none. */
  #interrupts: number | null = null;

  constructor(server: AdminClient, session: string) {
    this.#server = server;
    this.#session = session;
    this.terminal.once("close", () => this.#closed.abort());
    this.terminal.on("line", (line) => this.#typed.push(line));
    this.terminal.on("SIGINT", () => this.#interrupt());
  }

  /** The lines of the terminal, until it is closed. */
  async *lines(): AsyncGenerator<string> {
    const { signal } = this.#closed;
    for (;;) {
      const early = this.#typed.shift();
      if (early === undefined && signal.aborted) return;
      const line = early ?? (await this.terminal.question("› ", { signal }).catch(() => null));
      if (line !== null) yield line;
    }
  }

  runBegins(): void {
    this.#interrupts = 0;
  }

  runEnds(): void {
    this.#interrupts = null;
  }

  #interrupt(): void {
    this.#typed.length = 0;
    if (this.#interrupts === null) {
      this.terminal.close();
      return;
    }
    this.#interrupts += 1;
    if (this.#interrupts === 1) void this.#cancel();
    else {
      // A user who interrupts again does not want to wait for the server.
      this.terminal.close();
      process.kill(process.pid, "SIGINT");
    }
  }

  async #cancel(): Promise<void> {
    try {
      const run = await cancelRun(this.#server, this.#session);
      if (run !== null || this.#interrupts === null) return;
      // The request that begins it has not arrived yet, or the run is over: this interrupt does not count.
      this.#interrupts = 0;
      process.stderr.write("There is no run to cancel.\n");
    } catch (error) {
      writeError(`hull: The run was not cancelled: ${messageOf(error)}\n`);
      process.stderr.write("Ctrl-C again leaves it.\n");
    }
  }
}

/** Throws `CommandError` for a skill that holds no conversation. Only the server knows which one `plugin:name` means. */
async function checkMode(server: AdminClient, skill: string): Promise<void> {
  if (skill.includes(":")) return;
  const { mode } = await server.ask(
    "GET /skills/{slug}/card",
    { path: { slug: skill } },
    { needs: ["mode"] },
  );
  if (mode === "llm") return;
  const message = `The skill ${skill} has mode: ${mode}; only llm skills hold conversations.`;
  throw usageError("mode_not_llm", message, `hull call ${skill}`);
}

/** The exit code of a run. A failed one does not end the conversation. */
async function exitOf(run: Promise<number>): Promise<number> {
  try {
    return await run;
  } catch (error) {
    if (!(error instanceof CommandError) || error.exit === EXIT.unreachable) throw error;
    writeError(failureText(error));
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
  try {
    await decide(server, approval.session ?? session, approval, {
      decision: yes ? "approve" : "deny",
      scope: /^a/i.test(answer.trim()) ? "session" : undefined,
    });
  } catch (error) {
    writeError(`hull: ${messageOf(error)}\n`);
  }
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
