/** `hull run`: one agent run on a running Hull. */
import { serverOf } from "../admin-client.ts";
import { RUN_FLAGS, runBody, streamRun } from "../agent-run.ts";
import { defineCommand, usageError, VALUE } from "../command.ts";
import { textOrStdin } from "../utf8-text.ts";

export const command = defineCommand({
  name: "run",
  summary: "Run an agent on a running Hull and show what it does",
  usage: `
Usage: hull run <prompt> [--skill SLUG] [--session ID] [options]

  --skill SLUG    a served llm skill: its body, model and tools
  --session ID    run in this session; Hull creates it if it does not exist (default: a run that Hull does not store)
  --provider P, --model M, --system TEXT   instead of the defaults
  --url URL       the Hull, e.g. http://localhost:3000 (default: $HULL_URL, then the hull dev of this project)
  --key KEY       an API key (default: $HULL_API_KEY, then $HULL_ADMIN_KEY)

The prompt - reads stdin. Text goes to stdout, tool calls to stderr. In a session, a call that needs an approval waits:
hull approvals lists and decides such calls. Exit code 1 if the run fails.
`,
  flags: { ...RUN_FLAGS, skill: VALUE },
  words: 1,
  async run({ values, positionals }) {
    const [given] = positionals;
    if (given === undefined) throw usageError("prompt_missing", "A run needs a prompt.", "hull run <prompt>");
    const prompt = await textOrStdin(given);
    // The prompt comes from a pipe whose writer has failed; calling a model would cost money for nothing.
    if (prompt.trim() === "") throw usageError("prompt_missing", "The prompt is empty.", "hull run <prompt>");
    const server = await serverOf(values, "hull run <prompt> --url https://…");
    const { session } = values;
    const json = { prompt, ...runBody(values, values.skill) };
    if (session !== undefined) await server.ask("POST /sessions", { json: { id: session } });
    const begun =
      session === undefined
        ? server.open("POST /runs", { json }, { once: true })
        : server.open("POST /sessions/{id}/runs", { path: { id: session }, json });
    return streamRun(begun, ({ id }) => {
      if (session !== undefined)
        process.stderr.write(`  hull approvals approve ${session} ${id}, or: deny\n`);
    });
  },
});
