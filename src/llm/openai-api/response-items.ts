/** Items of a response's input and output as canonical messages. */
import type { Block, Message, Part, ToolCallBlock, ToolResultMessage } from "../../engine/messages.ts";
import { NO_OUTPUT } from "../../engine/workspace-tools/command-result.ts";
import { toolCall } from "../../model/provider-document.ts";
import { isObject, objectOf } from "../../skill/json.ts";
import type { Json, JsonObject } from "../../skill/manifest.ts";
import { decodeBlock } from "../foreign-blocks.ts";
import { textMember, wrong } from "../members.ts";
import { addResults, type Conversation } from "../messages.ts";
import { checkAnswered, ToolCallIds } from "../tool-call-ids.ts";
import { CLIENT_CALLS, CLIENT_OUTPUTS, clientCall, foundTools } from "./client-tools.ts";
import { compactedText } from "./compaction.ts";
import { filePart, imagePart, namedFile, type OwnPart, partsOf, textOf } from "./message-content.ts";
import { patchResult } from "./own-calls.ts";
import { SHELL } from "./shell-items.ts";

/** @param pathOf gives an item's path in the request. @throws InvalidRequest for an item that no conversation can hold */
export function readItems(items: readonly JsonObject[], pathOf: (index: number) => string): Conversation {
  const reader = new ItemReader();
  for (const [index, item] of items.entries()) reader.read(item, pathOf(index));
  return reader.conversation();
}

/**
 * Checks that each output has its call before it.
 * @param items the whole conversation
 * @param asks the conversation asks a model, so each call of the client's own needs its output
 * @param pathOf gives the path of an item in the request
 * @throws InvalidRequest
 */
export function checkOutputs(
  items: readonly JsonObject[],
  asks: boolean,
  pathOf: (index: number) => string,
): void {
  const called = new ToolCallIds();
  for (const [index, { type, call_id, environment }] of items.entries()) {
    if (typeof call_id !== "string") continue;
    if (CLIENT_CALLS.has(type) || (type === "shell_call" && !isContainer(environment)))
      called.add(call_id, String(type), pathOf(index));
    else if (type === "shell_call") called.add(call_id, type);
    else if (CLIENT_OUTPUTS.has(type) || type === "shell_call_output") called.nameOf(call_id, pathOf(index));
  }
  if (asks) checkAnswered(called.unanswered);
}

/** Whether Hull ran the commands of a call, not the client. @param environment of the call */
const isContainer = (environment: Json | undefined): boolean =>
  isObject(environment) && environment.type === "container_reference";

interface Called {
  name: string;
  /** Hull carried it out. */
  hosted: boolean;
  /** The message that has it. */
  by: Message;
  result: ToolResultMessage | null;
}

class ItemReader {
  readonly system: string[] = [];
  readonly messages: Message[] = [];
  /** By id. */
  readonly #calls = new Map<string, Called>();
  /** The results of each message with calls. */
  readonly #results = new Map<Message, Message & { role: "tool" }>();
  /** Those that came after other messages. */
  readonly #late = new Map<Message, Message>();
  /** Images and files of the results since the last message. */
  #attachments: Part[] = [];

  conversation(): Conversation {
    this.#flushAttachments();
    const messages = this.messages.flatMap((message) => [message, this.#late.get(message) ?? []].flat());
    return { system: this.system, messages };
  }

  read(item: JsonObject, path: string): void {
    const type = item.type ?? "message";
    if (CLIENT_OUTPUTS.has(type) || type === "shell_call_output") {
      this.#result(item, path);
      return;
    }
    this.#flushAttachments();
    if (CLIENT_CALLS.has(type)) {
      this.#called(clientCall(item, path), item);
      return;
    }
    switch (type) {
      case "message":
        this.#message(item, path);
        return;
      case "reasoning":
        this.#said(thoughtsIn(item));
        return;
      case "additional_tools":
        return;
      case "compaction":
        this.messages.push({ role: "user", content: [{ type: "text", text: compactedText(item, path) }] });
        return;
      case "shell_call": {
        const action = objectOf(item.action);
        const { tool, arguments: given, commands = [], timeout_ms } = action;
        const own = typeof tool === "string" && isObject(given);
        const limit = typeof timeout_ms === "number" ? { timeout_ms } : {};
        const id = textMember(item, "call_id", path);
        const call = own ? toolCall(id, tool, given) : toolCall(id, SHELL, { commands, ...limit });
        this.#called(call, item);
        return;
      }
      default:
        throw wrong(path, `an item of type ${JSON.stringify(item.type ?? null)} cannot be carried`);
    }
  }

  /** Adds a user message with the images and files of the preceding results: other providers accept only text in results. */
  #flushAttachments(): void {
    if (this.#attachments.length > 0) this.messages.push({ role: "user", content: this.#attachments });
    this.#attachments = [];
  }

  #message(item: JsonObject, path: string): void {
    const content = `${path}.content`;
    switch (item.role) {
      case "system":
      case "developer":
        this.system.push(textOf(item.content, content, ownPart));
        return;
      case "user":
        this.messages.push({ role: "user", content: partsOf(item.content, content, ownPart) });
        return;
      case "assistant": {
        const text = textOf(item.content, content, ownPart);
        this.#said(text === "" ? [] : [{ type: "output_text", text }]);
        return;
      }
      default:
        throw wrong(`${path}.role`, "the role is user, assistant, system or developer");
    }
  }

  #called(call: ToolCallBlock, { environment }: JsonObject): void {
    const by = this.#said([call]);
    this.#calls.set(call.id, { name: call.name, hosted: isContainer(environment), by, result: null });
  }

  /** @returns the message that has these blocks */
  #said(blocks: readonly Block[]): Message {
    const last = this.messages.at(-1);
    if (last?.role === "assistant") {
      last.content.push(...blocks);
      return last;
    }
    const message = { role: "assistant" as const, content: [...blocks] };
    if (blocks.length > 0) this.messages.push(message);
    return message;
  }

  #ended(item: JsonObject, path: string): { content: string; is_error: boolean } {
    if (item.type === "shell_call_output") return shellResult(item.output, `${path}.output`);
    if (item.type === "apply_patch_call_output") return patchResult(item);
    return { content: this.#output(item, path), is_error: false };
  }

  /** Puts a result right after the message with its call, where providers want it, and each once. */
  #result(item: JsonObject, path: string): void {
    const call_id = textMember(item, "call_id", path);
    const call = this.#calls.get(call_id);
    const ended = this.#ended(item, path);
    const silent = ended.content === "" && item.type === "shell_call_output" && call?.hosted === true;
    const content = silent ? NO_OUTPUT : ended.content;
    const result: ToolResultMessage = {
      call_id,
      name: call?.name ?? "",
      content,
      is_error: ended.is_error,
    };
    if (call === undefined) {
      addResults(this.messages, [result]);
      return;
    }
    if (call.result !== null) {
      if (call.result.content !== content) call.result.content += `\n\n${content}`;
      return;
    }
    call.result = result;
    const known = this.#results.get(call.by);
    if (known !== undefined) {
      known.results.push(result);
      return;
    }
    const message = { role: "tool" as const, results: [result] };
    this.#results.set(call.by, message);
    if (this.messages.at(-1) === call.by) this.messages.push(message);
    else this.#late.set(call.by, message);
  }

  #output(item: JsonObject, path: string): string {
    if (item.type === "tool_search_output") return foundTools(item, path);
    const texts: string[] = [];
    for (const part of partsOf(item.output, `${path}.output`, ownPart)) {
      if (part.type === "text") texts.push(part.text);
      else this.#attachments.push(part);
    }
    return texts.join("\n\n");
  }
}

/** The block of its reasoning that a provider needs back. The provider cannot use other reasoning. */
function thoughtsIn({ encrypted_content }: JsonObject): Block[] {
  if (typeof encrypted_content !== "string") return [];
  const block = decodeBlock(encrypted_content);
  return block === null ? [] : [block];
}

function shellResult(output: Json | undefined, path: string): { content: string; is_error: boolean } {
  if (!Array.isArray(output)) throw wrong(path, "a list of outputs is expected");
  let is_error = false;
  const texts = output.map((one, n) => {
    if (!isObject(one)) throw wrong(`${path}.${n}`, "an output is an object");
    const { stdout, stderr, outcome } = one;
    const ended = objectOf(outcome);
    const failed = ended.type === "timeout" || (ended.type === "exit" && ended.exit_code !== 0);
    if (failed) is_error = true;
    const end =
      ended.type === "timeout" ? "[hull: stopped at its time limit]" : `exit code ${ended.exit_code}`;
    return [stdout, stderr, failed ? end : ""]
      .filter((text) => typeof text === "string" && text !== "")
      .join("\n");
  });
  return { content: texts.join("\n"), is_error };
}

/** Parts that have other names in chat completions. */
const ownPart: OwnPart = (part, path) => {
  switch (part.type) {
    case "input_text":
    case "output_text":
      return { type: "text", text: textMember(part, "text", path) };
    case "input_image":
      return imagePart(textMember(part, "image_url", path), part.detail, `${path}.image_url`);
    case "input_file":
      if (typeof part.file_url === "string")
        return { type: "document", ...namedFile(part.filename), url: part.file_url };
      return filePart(textMember(part, "file_data", path), part.filename);
    default:
      return null;
  }
};
