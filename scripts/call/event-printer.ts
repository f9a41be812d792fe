/** Shows the events of a run: text on stdout; actions of tools and other facts for people on stderr. */
import { terminalText, writeError } from "../terminal-text.ts";

export class EventPrinter {
  /** Whether the last line of text on stdout is still open. */
  #open = false;

  print(event: string | undefined, value: Record<string, unknown>): void {
    // A sub-agent's text is for the run above it.
    if ((event === "delta" || event === "round") && value.parent_run_id !== undefined) return;
    const note = noteOf(event, value);
    if (note !== null) this.say(note);
    // Only a model's text has a round. A script may colour its own text.
    else if (event === "delta" && typeof value.text === "string")
      this.#text(value.round === undefined ? value.text : terminalText(value.text, process.stdout));
    else if (event === "delta" && typeof value.b64 === "string") this.#text(Buffer.from(value.b64, "base64"));
    else if (event === "stderr" && typeof value.text === "string") process.stderr.write(value.text);
  }

  /** Prints a line on stderr. A terminal shows both streams, so there the line must not continue a line of the text. */
  say(line: string): void {
    if (process.stderr.isTTY) this.endLine();
    writeError(`${line}\n`);
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

/** The line that tells people about an event; `null` if there is none. */
function noteOf(event: string | undefined, value: Record<string, unknown>): string | null {
  if (event === "round" && value.restarted === true)
    return `↻ round ${value.round} begins again: ignore its text above`;
  if (event === "sub_agent_start") return `→ ${value.name}: ${value.task}`;
  if (event === "sub_agent_result") return `← ${value.name}: ${value.status}`;
  if (event === "tool_call") return `→ ${value.name}(${JSON.stringify(value.arguments)})`;
  if (event === "tool_result") return `← ${value.ok ? "ok" : value.code} ${value.duration_ms} ms`;
  if (event === "approval_request")
    return `? ${value.tool}(${JSON.stringify(value.arguments)}) waits for approval ${value.id}`;
  return null;
}
