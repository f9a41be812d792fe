/** Items of a response's input and output as canonical messages. */
import type { Block, Message, Part, ToolCallBlock, ToolResultMessage } from "../../engine/messages.ts";
import { NO_OUTPUT } from "../../engine/workspace-tools/command-result.ts";
import { parseArguments } from "../../model/provider-document.ts";
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

class ItemReader {
  readonly system: string[] = [];
  readonly messages: Message[] = [];
  readonly #names = new Map<string, string>();
  /** Ids of calls that Hull carried out. */
  readonly #hosted = new Set<string>();
  /** For each call the message that has it. */
  readonly #callers = new Map<string, Message>();
  /** The results of each such message. */
  readonly #results = new Map<Message, Message & { role: "tool" }>();
  /** Those that came after other messages. */
  readonly #late = new Map<Message, Message>();
  /** The result of each call. */
  readonly #answers = new Map<string, ToolResultMessage>();
  /** Images and files of the results since the last message. */
  #attachments: Part[] = [];

  conversation(): Conversation {
    this.#flushAttachments();
    const messages = this.messages.flatMap((message) => [message, this.#late.get(message) ?? []].flat());
    return { system: this.system, messages };
  }

  read(item: JsonObject, path: string): void {
    const type = item.type ?? "message";
    if (!CLIENT_OUTPUTS.has(type) && type !== "shell_call_output") this.#flushAttachments();
    switch (type) {
      case "message":
        this.#message(item, path);
        return;
      case "reasoning":
        this.#said(thoughtsIn(item));
        return;
      case "function_call":
      case "custom_tool_call":
      case "tool_search_call":
      case "apply_patch_call":
      case "local_shell_call":
        this.#called(clientCall(item, path), item);
        return;
      case "additional_tools":
        return;
      case "compaction":
        this.messages.push({ role: "user", content: [{ type: "text", text: compactedText(item, path) }] });
        return;
      case "function_call_output":
      case "custom_tool_call_output":
      case "tool_search_output":
      case "apply_patch_call_output":
      case "local_shell_call_output":
      case "shell_call_output":
        this.#result(item, path);
        return;
      case "shell_call": {
        const action = objectOf(item.action);
        const { tool, arguments: given, commands = [], timeout_ms } = action;
        const own = typeof tool === "string" && isObject(given);
        const limit = typeof timeout_ms === "number" ? { timeout_ms } : {};
        const args = own ? given : { commands, ...limit };
        const [id, raw] = [textMember(item, "call_id", path), JSON.stringify(args)];
        this.#called(
          { type: "tool_call", id, name: own ? tool : SHELL, arguments: parseArguments(raw), raw },
          item,
        );
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
    this.#names.set(call.id, call.name);
    if (isContainer(environment)) this.#hosted.add(call.id);
    this.#said([call]);
    const last = this.messages.at(-1);
    if (last !== undefined) this.#callers.set(call.id, last);
    this.#answers.delete(call.id);
  }

  #said(blocks: readonly Block[]): void {
    if (blocks.length === 0) return;
    const last = this.messages.at(-1);
    if (last?.role === "assistant") last.content.push(...blocks);
    else this.messages.push({ role: "assistant", content: [...blocks] });
  }

  #result(item: JsonObject, path: string): void {
    const call_id = textMember(item, "call_id", path);
    const shell = item.type === "shell_call_output";
    const { content, is_error } = this.#ended(item, path);
    const result: ToolResultMessage = {
      call_id,
      name: this.#names.get(call_id) ?? "",
      content: content === "" && shell && this.#hosted.has(call_id) ? NO_OUTPUT : content,
      is_error,
    };
    this.#answer(result);
  }

  #ended(item: JsonObject, path: string): { content: string; is_error: boolean } {
    if (item.type === "shell_call_output") return shellResult(item.output, `${path}.output`);
    if (item.type === "apply_patch_call_output") return patchResult(item);
    return { content: this.#output(item, path), is_error: false };
  }

  /** Puts a result right after the message with its call, where providers want it, and each once. */
  #answer(result: ToolResultMessage): void {
    const { call_id, content } = result;
    const earlier = this.#answers.get(call_id);
    if (earlier !== undefined) {
      if (earlier.content !== content) earlier.content += `\n\n${content}`;
      return;
    }
    this.#answers.set(call_id, result);
    const caller = this.#callers.get(call_id);
    if (caller === undefined) {
      addResults(this.messages, [result]);
      return;
    }
    const known = this.#results.get(caller);
    if (known !== undefined) {
      known.results.push(result);
      return;
    }
    const message = { role: "tool" as const, results: [result] };
    this.#results.set(caller, message);
    if (this.messages.at(-1) === caller) this.messages.push(message);
    else this.#late.set(caller, message);
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
