/**
 * Turns the events of a run into the events of a response's stream, and into its output. The same events always give the
 * same stream: an item's id follows from its place, and sequence numbers count from 0.
 */
import { type Block, refusalOf, type ToolCallBlock } from "../../engine/messages.ts";
import { encodeBlock } from "../../llm/foreign-blocks.ts";
import { isThought, mustGoBack } from "../../llm/openai-api/answer.ts";
import { callItem, type clientTools } from "../../llm/openai-api/client-tools.ts";
import { SHELL, shellCall, shellOutput } from "../../llm/openai-api/shell-items.ts";
import { asJson, isObject, objectOf } from "../../skill/json.ts";
import type { Json, JsonObject } from "../../skill/manifest.ts";
import type { RunEvent } from "../events.ts";
import { type CitedFile, partOf, type ResponsePart } from "./response-part.ts";

type ItemStatus = "completed" | "incomplete";

interface OpenItem {
  index: number;
  item: JsonObject;
  text: string;
  /** Its text is complete. */
  closed: boolean;
}

export interface ResponsePlace {
  /** The container in which commands run; `null`: the client runs them. */
  container: string | null;
  /** The client has a shell of its own. */
  local_shell: boolean;
  tools: ReturnType<typeof clientTools>;
}

export class ResponseEvents {
  readonly #head: JsonObject;
  readonly #place: ResponsePlace;
  readonly #items: { item: JsonObject; counts: boolean }[] = [];
  #made: JsonObject[] = [];
  #sequence = 0;
  #message: OpenItem | null = null;
  /** Reasoning of the present turn. What the provider wants back for it comes with the turn. */
  #thoughts: OpenItem[] = [];
  /** Whether text or reasoning of the present turn was sent. */
  #streamed = false;
  #fault: JsonObject | null = null;

  /** @param head the response as it begins */
  constructor(head: JsonObject, place: ResponsePlace) {
    this.#head = head;
    this.#place = place;
  }

  /** The first events. */
  begin(): JsonObject[] {
    const queued = this.#head.status === "queued";
    this.#emit("response.created", { response: this.#head });
    if (queued) this.#emit("response.queued", { response: this.#head });
    this.#emit("response.in_progress", { response: { ...this.#head, status: "in_progress" } });
    return this.#taken();
  }

  /** Makes the events of the stream from one event of the run. */
  push({ event, data }: RunEvent): JsonObject[] {
    switch (event) {
      case "delta":
        this.#text(data.text ?? "");
        break;
      case "thought":
        this.#thought(data.text ?? "");
        break;
      case "round":
        if (data.restarted === true) this.#void();
        break;
      case "response_part":
        this.#part(partOf(data));
        break;
      case "error":
        this.#fault = failure(data);
        break;
      case "done":
        this.#end(isObject(data.response) ? data.response : null);
        break;
      default:
    }
    return this.#taken();
  }

  /** The items of the output so far, without those that a restart made void. */
  output(): JsonObject[] {
    return this.#items.flatMap(({ item, counts }) => (counts ? [item] : []));
  }

  /** Ends the items that are open. @param status `incomplete`: the answer was cut */
  close(status: ItemStatus): void {
    this.#closeMessage([], status);
    this.#closeThoughts([], status);
  }

  /** The failed response; `null`: it has not failed. */
  failed(): JsonObject | null {
    return this.#fault === null ? null : { ...this.#head, ...this.#fault, output: this.output() };
  }

  #taken(): JsonObject[] {
    const made = this.#made;
    this.#made = [];
    return made;
  }

  #emit(type: string, members: JsonObject): void {
    // A copy: later changes must not reach an event that was sent.
    this.#made.push(asJson({ type, sequence_number: this.#sequence, ...members }));
    this.#sequence += 1;
  }

  #part(part: ResponsePart): void {
    if ("turn" in part) this.#turn(part.turn);
    else if ("files" in part) this.#files(part.files);
    else if ("call" in part) this.#shell(part.call, this.#place.container);
    else {
      this.#closeMessage([]);
      const members = shellOutput(part.result);
      const open = this.#open("sho", { ...members, output: [], status: "in_progress" });
      const outputs = Array.isArray(members.output) ? members.output : [];
      for (const [command_index, output] of outputs.entries()) {
        const at = { ...placeOf(open), command_index };
        const { stdout = "", stderr = "" } = objectOf(output);
        const deltas: JsonObject[] = [
          ...(stdout === "" ? [] : [{ stdout }]),
          ...(stderr === "" ? [] : [{ stderr }]),
        ];
        for (const delta of deltas) this.#emit("response.shell_call_output_content.delta", { ...at, delta });
        this.#emit("response.shell_call_output_content.done", { ...at, output: [output] });
      }
      this.#done(open, { ...members, status: "completed" });
    }
  }

  #text(text: string): void {
    if (text === "") return;
    this.#streamed = true;
    for (const thought of this.#thoughts) this.#closeThought(thought);
    if (this.#message?.closed === true) this.#closeMessage([]);
    this.#message ??= this.#openMessage(textPart("", []));
    this.#message.text += text;
    this.#emit("response.output_text.delta", { ...partAt(this.#message), delta: text, logprobs: [] });
  }

  #openMessage(part: JsonObject): OpenItem {
    const message = { type: "message", role: "assistant", status: "in_progress", content: [] };
    const open = this.#open("msg", message);
    this.#emit("response.content_part.added", { ...partAt(open), part });
    return open;
  }

  /**
   * Cites files at the end of the last text. If calls followed that text, adds a message without text that cites them.
   */
  #files(files: readonly CitedFile[]): void {
    this.#message ??= this.#openMessage(textPart("", []));
    this.#closeMessage(files);
  }

  /** @param files files for the user that the text cites */
  #closeMessage(files: readonly CitedFile[], status: ItemStatus = "completed"): void {
    const open = this.#message;
    if (open === null) return;
    this.#message = null;
    const { text } = open;
    const at = partAt(open);
    this.#emit("response.output_text.done", { ...at, text, logprobs: [] });
    const place = { start_index: text.length, end_index: text.length };
    const annotations = files.map((file) => ({ type: "container_file_citation", ...file, ...place }));
    for (const [annotation_index, annotation] of annotations.entries()) {
      this.#emit("response.output_text.annotation.added", { ...at, annotation_index, annotation });
    }
    const part = textPart(text, annotations);
    this.#emit("response.content_part.done", { ...at, part });
    this.#done(open, { content: [part], status });
  }

  #thought(text: string): void {
    if (text === "") return;
    this.#streamed = true;
    this.#closeMessage([]);
    let open = this.#thoughts.at(-1);
    if (open === undefined || open.closed) {
      open = this.#open("rs", REASONING);
      this.#thoughts.push(open);
      this.#emit("response.reasoning_summary_part.added", { ...summaryAt(open), part: summaryPart("") });
    }
    open.text += text;
    this.#emit("response.reasoning_summary_text.delta", { ...summaryAt(open), delta: text });
  }

  #closeThought(open: OpenItem): void {
    if (open.closed) return;
    open.closed = true;
    const { text } = open;
    const at = summaryAt(open);
    this.#emit("response.reasoning_summary_text.done", { ...at, text });
    this.#emit("response.reasoning_summary_part.done", { ...at, part: summaryPart(text) });
  }

  /** @param blocks what providers want back, in the order in which the reasoning was sent */
  #closeThoughts(blocks: readonly Block[], status: ItemStatus = "completed"): void {
    const open = this.#thoughts;
    this.#thoughts = [];
    for (const [n, thought] of open.entries()) {
      this.#closeThought(thought);
      this.#done(thought, { summary: [summaryPart(thought.text)], ...toGoBack(blocks[n]), status });
    }
  }

  #turn(blocks: readonly Block[]): void {
    const thoughts = blocks.filter((block) => isThought(block) && block.text !== "");
    const matched = this.#thoughts.length;
    this.#closeThoughts(thoughts);
    const known = new Set(thoughts.slice(0, matched));
    for (const block of blocks) if (!known.has(block)) this.#block(block, blocks);
    if (this.#message !== null) this.#message.closed = true;
    this.#streamed = false;
  }

  #block(block: Block, blocks: readonly Block[]): void {
    if (block.type === "output_text") {
      if (!this.#streamed && block.text !== "") {
        this.#text(block.text);
        this.#streamed = false;
      }
    } else if (block.type === "tool_call") this.#clientCall(block);
    else if (isThought(block) || mustGoBack(block)) this.#wholeThought(block);
    else if (block.type === "opaque") this.#refusal(refusalOf(blocks));
  }

  #wholeThought(block: Block): void {
    const text = isThought(block) ? block.text : "";
    if (text === "" && !mustGoBack(block)) return;
    this.#closeMessage([]);
    const summary = text === "" ? [] : [summaryPart(text)];
    this.#done(this.#open("rs", REASONING), { summary, ...toGoBack(block), status: "completed" });
  }

  #refusal(refusal: string | null): void {
    if (refusal === null) return;
    this.#closeMessage([]);
    const open = this.#openMessage({ type: "refusal", refusal: "" });
    const at = partAt(open);
    const part = { type: "refusal", refusal };
    this.#emit("response.refusal.delta", { ...at, delta: refusal });
    this.#emit("response.refusal.done", { ...at, refusal });
    this.#emit("response.content_part.done", { ...at, part });
    this.#done(open, { content: [part], status: "completed" });
  }

  /** A call of one of the client's own tools. */
  #clientCall(call: ToolCallBlock): void {
    if (this.#place.local_shell && call.name === SHELL) {
      this.#shell(call, null);
      return;
    }
    this.#closeMessage([]);
    const { item, written } = callItem(call, this.#place.tools.get(call.name));
    const whole = written === null ? {} : { [written.member]: written.text };
    const empty = written === null ? {} : { [written.member]: "" };
    const open = this.#open(CALL_IDS.get(item.type) ?? "fc", { ...item, ...empty, status: "in_progress" });
    const at = placeOf(open);
    if (written?.member === "arguments") {
      this.#emit("response.function_call_arguments.delta", { ...at, delta: written.text });
      this.#emit("response.function_call_arguments.done", { ...at, name: item.name ?? "", ...whole });
    } else if (written !== null) {
      this.#emit("response.custom_tool_call_input.delta", { ...at, delta: written.text });
      this.#emit("response.custom_tool_call_input.done", { ...at, ...whole });
    }
    this.#done(open, { ...whole, status: "completed" });
  }

  #shell(call: ToolCallBlock, container: string | null): void {
    this.#closeMessage([]);
    const members = shellCall(call, container);
    const action = objectOf(members.action);
    const open = this.#open("sh", { ...members, action: { ...action, commands: [] }, status: "in_progress" });
    const commands: Json[] = Array.isArray(action.commands) ? action.commands : [];
    for (const [command_index, command] of commands.entries()) {
      const at = { output_index: open.index, command_index };
      this.#emit("response.shell_call_command.added", { ...at, command: "" });
      this.#emit("response.shell_call_command.delta", { ...at, delta: command });
      this.#emit("response.shell_call_command.done", { ...at, command });
    }
    this.#done(open, { ...members, status: "completed" });
  }

  /** Takes back what the present turn has sent so far. */
  #void(): void {
    const present = [...this.#thoughts, ...(this.#message?.closed === false ? [this.#message] : [])];
    if (this.#message?.closed === false) this.#closeMessage([], "incomplete");
    this.#closeThoughts([], "incomplete");
    for (const { index } of present) {
      const entry = this.#items[index];
      if (entry !== undefined) entry.counts = false;
    }
    this.#streamed = false;
  }

  #open(prefix: string, members: JsonObject): OpenItem {
    const index = this.#items.length;
    const id = `${prefix}_${String(this.#head.id).replace(/^resp_/, "")}${index.toString(16).padStart(4, "0")}`;
    const item: JsonObject = { id, ...members };
    this.#items.push({ item, counts: true });
    this.#emit("response.output_item.added", { output_index: index, item });
    return { index, item, text: "", closed: false };
  }

  #done({ index, item }: OpenItem, members: JsonObject): void {
    Object.assign(item, members);
    this.#emit("response.output_item.done", { output_index: index, item });
  }

  #end(response: JsonObject | null): void {
    const incomplete = response?.status === "incomplete";
    const status = incomplete || this.#fault !== null ? "incomplete" : "completed";
    this.#closeMessage([], status);
    this.#closeThoughts([], status);
    const failed = this.failed();
    if (failed !== null) this.#emit("response.failed", { response: failed });
    else if (response !== null)
      this.#emit(incomplete ? "response.incomplete" : "response.completed", { response });
  }
}

/** The prefixes of ids of calls of the client's tools, by their types. */
const CALL_IDS = new Map<Json | undefined, string>([
  ["custom_tool_call", "ctc"],
  ["tool_search_call", "tsc"],
  ["apply_patch_call", "apc"],
  ["local_shell_call", "lsh"],
]);

const placeOf = ({ item, index }: OpenItem) => ({ item_id: item.id ?? "", output_index: index });
/** The place of a message's only part, and of a reasoning's only summary. */
const partAt = (open: OpenItem) => ({ ...placeOf(open), content_index: 0 });
const summaryAt = (open: OpenItem) => ({ ...placeOf(open), summary_index: 0 });

const REASONING = { type: "reasoning", status: "in_progress", summary: [] };
const summaryPart = (text: string) => ({ type: "summary_text", text });

/** The member with what the provider wants back for a block. */
const toGoBack = (block: Block | undefined): JsonObject =>
  block !== undefined && mustGoBack(block) ? { encrypted_content: encodeBlock(block) } : {};

const textPart = (text: string, annotations: JsonObject[]): JsonObject => ({
  type: "output_text",
  text,
  annotations,
  logprobs: [],
});

/** The members that a failed response gets from its problem document. */
export function failure(problem: Record<string, unknown>): JsonObject {
  const { code, detail, status } = problem;
  if (code === "execution_cancelled") return { status: "cancelled", error: null };
  // OpenAI's list has no code for a budget.
  const limited = status === 429 || status === 402;
  const wrong = typeof status === "number" && status < 500;
  const named = limited ? "rate_limit_exceeded" : wrong ? "invalid_prompt" : "server_error";
  return { status: "failed", error: { code: named, message: String(detail ?? code ?? "") } };
}
