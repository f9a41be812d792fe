/** Shows the events of a run: text on stdout; actions of tools and other facts for people on stderr. */
import { jsonShown } from "../../src/bytes.ts";
import type { EventData } from "../../typed/client/api.d.ts";
import { terminalText, writeError } from "../terminal-text.ts";

export class EventPrinter {
  /** Whether the last line of text on stdout is still open. */
  #open = false;
  /** Whether the last line of a tool's output on stderr is still open. */
  #toolLine = false;

  print(event: string | undefined, value: Record<string, unknown>): void {
    // A sub-agent's text is for the run above it.
    if ((event === "delta" || event === "round") && value.parent_run_id !== undefined) return;
    const note = NOTE_OF.get(event)?.(value) ?? null;
    if (note !== null) this.say(note);
    // Only a model's text has a round. A script may colour its own text.
    else if (event === "delta" && typeof value.text === "string")
      this.#text(value.round === undefined ? value.text : terminalText(value.text, process.stdout));
    else if (event === "delta" && typeof value.b64 === "string") this.#text(Buffer.from(value.b64, "base64"));
    else if (event === "stderr" && typeof value.text === "string") process.stderr.write(value.text);
    else if (event === "tool_output" && typeof value.text === "string") {
      writeError(value.text);
      this.#toolLine = !value.text.endsWith("\n");
    }
  }

  /** Prints a line on stderr. A terminal shows both streams, so there the line must not continue a line of the text. */
  say(line: string): void {
    if (process.stderr.isTTY) this.endLine();
    writeError(`${this.#toolLine ? "\n" : ""}${line}\n`);
    this.#toolLine = false;
  }

  /** In a terminal, ends the open line of the text. */
  endLine(): void {
    if (this.#open && process.stdout.isTTY) process.stdout.write("\n");
    this.#open = false;
  }

  #text(text: string | Uint8Array): void {
    if (text.length === 0) return;
    process.stdout.write(text);
    const last = text.at(-1);
    this.#open = last !== "\n" && last !== 0x0a;
  }
}

type Note = (value: Record<string, unknown>) => string | null;

/** The line that tells people about each event; `null`: there is none. */
const NOTES: Record<keyof EventData, Note | null> = {
  start: null,
  delta: null,
  thought: null,
  stderr: null,
  round: ({ restarted, round }) =>
    restarted === true ? `↻ round ${round} begins again: ignore its text above` : null,
  tool_call: (value) => `→ ${value.name}(${jsonShown(value.arguments)})`,
  tool_output: null,
  tool_result: ({ ok, code, duration_ms }) => `← ${ok ? "ok" : code} ${duration_ms} ms`,
  artifact: ({ type, title, version }) => `+ ${type} ${JSON.stringify(title)}, version ${version}`,
  approval_request: (value) =>
    `? ${value.tool}(${jsonShown(value.arguments)}) waits for approval ${value.id}`,
  skill_matched: null,
  skill_activated: null,
  skill_deactivated: null,
  skill_scope_tools: null,
  skill_mcp_bound: null,
  skill_mcp_unbound: null,
  skill_mcp_bind_failed: ({ server, name, error }) => `! no MCP server ${server} of ${name}: ${error}`,
  tool_search_query: null,
  tool_search_result: null,
  feedback_injected: null,
  transcript_compacted: null,
  stage: ({ node_id, status }) => `· stage ${node_id}: ${status}`,
  // Those who follow daemons and tasks say these themselves, and callers the end of a run.
  daemon_wake: null,
  task_update: null,
  error: null,
  done: null,
  response_part: null,
  sub_agent_start: ({ name, task }) => `→ ${name}: ${task}`,
  sub_agent_result: ({ name, status }) => `← ${name}: ${status}`,
};
const NOTE_OF: ReadonlyMap<string | undefined, Note | null> = new Map(Object.entries(NOTES));
