/** The messages of an Anthropic client as canonical messages. */
import { firstOf } from "../../cut.ts";
import type { Block, Media, Message, Part, SystemBlock, ToolResultMessage } from "../../engine/messages.ts";
import { toolCall } from "../../model/provider-document.ts";
import { isObject, objectOf, textOf } from "../../skill/json.ts";
import type { Json, JsonObject } from "../../skill/manifest.ts";
import { decodeBlock, isEncodedBlock } from "../foreign-blocks.ts";
import { textMember, wrong } from "../members.ts";
import { systemBlock } from "../system-prompt.ts";
import { type OwnCall, ToolCallIds } from "../tool-call-ids.ts";
import { executedCall, executedResult } from "./executed.ts";

/** The prefix of ids of calls that Anthropic itself carried out. */
const ANTHROPIC_CALL = "srvtoolu_";

/** Something in a request that has no canonical form. */
export interface Foreign {
  /** E.g. `messages.0.content.1`. */
  path: string;
  type: string;
}

/** A tool that a system message adds or removes. */
export interface ToolChange {
  name: string;
  removed: boolean;
  /** `null`: it names a tool of the request. */
  definition: JsonObject | null;
  /** Path of its definition. */
  path: string;
}

/** @throws InvalidRequest if a block lacks what its type needs, or a result has no call before it */
export function readConversation(list: readonly Json[]): AnthropicConversation {
  const conversation = new AnthropicConversation();
  for (const [index, message] of list.entries()) conversation.read(message, `messages.${index}`);
  return conversation;
}

/** The blocks of a system prompt, or of any content that is text. @throws InvalidRequest */
export function textBlocks(content: Json | undefined, path: string): SystemBlock[] {
  if (content === undefined || content === null) return [];
  if (typeof content === "string") return [{ text: content }];
  if (!Array.isArray(content)) throw wrong(path, "a string or a list of text blocks is expected");
  return content.map((block, n) => {
    if (isObject(block) && block.type === "text" && typeof block.text === "string") {
      return systemBlock(block.text, block);
    }
    throw wrong(`${path}.${n}`, "a text block is expected");
  });
}

class AnthropicConversation {
  /** Blocks of system messages, in order. */
  readonly system: SystemBlock[] = [];
  readonly messages: Message[] = [];
  /** Blocks that only Anthropic can get; the canonical messages hold their JSON texts instead. */
  readonly foreign: Foreign[] = [];
  /** Changes of the tools, in order. */
  readonly changes: ToolChange[] = [];
  /** Files that the container needs. `path`: of the block that contains the id. */
  readonly uploads: { file_id: string; path: string }[] = [];
  /** Whether it contains calls that Hull executed, which Anthropic does not know. */
  executed = false;
  readonly #called = new ToolCallIds();

  /** A call of the client's own without a result; `null`: there is none. */
  get unanswered(): OwnCall | null {
    return this.#called.unanswered;
  }

  read(message: Json, path: string): void {
    if (!isObject(message)) throw wrong(path, "a message is an object");
    const { role, content } = message;
    const at = `${path}.content`;
    switch (role) {
      case "user":
        this.#user(blocksOf(content, at), at);
        break;
      case "assistant":
        this.#assistant(blocksOf(content, at), at);
        break;
      case "system":
        this.#system(blocksOf(content ?? "", at), at);
        break;
      default:
        throw wrong(`${path}.role`, "the role is user, assistant or system");
    }
  }

  #system(blocks: readonly JsonObject[], path: string): void {
    for (const [n, block] of blocks.entries()) {
      const at = `${path}.${n}`;
      const change = toolChange(block, at);
      if (block.type === "text") this.system.push(systemBlock(textMember(block, "text", at), block));
      else if (change !== null) this.changes.push(change);
      else this.#unknown(block, at);
    }
  }

  #user(blocks: readonly JsonObject[], path: string): void {
    const results: ToolResultMessage[] = [];
    const parts: Part[] = [];
    for (const [n, block] of blocks.entries()) {
      const at = `${path}.${n}`;
      if (block.type === "tool_result") results.push(this.#result(block, at, parts));
      else parts.push(...this.#parts(block, at));
    }
    if (results.length > 0) this.messages.push({ role: "tool", results });
    if (parts.length > 0 || results.length === 0) this.messages.push({ role: "user", content: parts });
  }

  /** Images of a result follow it as parts of the user: results of other providers' tools are text. */
  #result(block: JsonObject, path: string, images: Part[]): ToolResultMessage {
    const call_id = textMember(block, "tool_use_id", path);
    const texts: string[] = [];
    for (const [n, inner] of blocksOf(block.content ?? "", `${path}.content`).entries()) {
      for (const part of this.#parts(inner, `${path}.content.${n}`)) {
        if (part.type === "text") texts.push(part.text);
        else images.push(part);
      }
    }
    return {
      call_id,
      name: this.#called.nameOf(call_id, `${path}.tool_use_id`),
      content: texts.join("\n\n"),
      is_error: block.is_error === true,
    };
  }

  #parts(block: JsonObject, path: string): Part[] {
    switch (block.type) {
      case "text":
        return [{ type: "text", text: textMember(block, "text", path) }];
      case "image": {
        const media = this.#media(block, path);
        return [media === null ? this.#unknown(block, path) : { type: "image", ...media }];
      }
      case "document":
        return this.#document(block, path);
      case "container_upload":
        return [this.#upload(block, path)];
      case "tool_reference":
        return [{ type: "text", text: `You can call the tool ${textMember(block, "tool_name", path)} now.` }];
      case "search_result":
        return [{ type: "text", text: searchText(block, path) }];
      default:
        return [this.#unknown(block, path)];
    }
  }

  /** `null`: only Anthropic knows where it is, e.g. in a file that it stores. */
  #media({ source }: JsonObject, path: string): Media | null {
    if (!isObject(source)) throw wrong(`${path}.source`, "a source is required");
    const at = `${path}.source`;
    if (source.type === "base64") {
      return { media_type: textMember(source, "media_type", at), data: textMember(source, "data", at) };
    }
    return source.type === "url" ? { url: textMember(source, "url", at) } : null;
  }

  /** A document that is text is sent as text, under its title. */
  #document(block: JsonObject, path: string): Part[] {
    const source = objectOf(block.source);
    const { title } = block;
    const head = typeof title === "string" && title !== "" ? [`# ${title}`] : [];
    if (source.type === "text") {
      return [{ type: "text", text: [...head, textMember(source, "data", `${path}.source`)].join("\n\n") }];
    }
    if (source.type === "content") {
      const inner = blocksOf(source.content, `${path}.source.content`);
      const parts = inner.flatMap((part, n) => this.#parts(part, `${path}.source.content.${n}`));
      return [...head.map((line): Part => ({ type: "text", text: line })), ...parts];
    }
    const named = typeof title === "string" ? { filename: title } : {};
    const media = this.#media(block, path);
    return [media === null ? this.#unknown(block, path) : { type: "document", ...named, ...media }];
  }

  /** A stored file for the container. A text part tells the model about it. */
  #upload(block: JsonObject, path: string): Part {
    const file_id = textMember(block, "file_id", path);
    this.uploads.push({ file_id, path });
    return { type: "text", text: `[The user put the file ${file_id} into $INPUT_DIR.]` };
  }

  #unknown(block: JsonObject, path: string): Part {
    const type = textOf(block.type);
    const { source } = block;
    const stored = isObject(source) && typeof source.file_id === "string" ? source.file_id : null;
    const of = stored === null ? "" : ` of a file that is not stored here, ${firstOf(stored, 64)}`;
    this.foreign.push({ path, type: `${type}${of}` });
    return { type: "text", text: JSON.stringify(block) };
  }

  /** Calls that Hull carried out are shown within the assistant's message: each result ends a turn of the conversation. */
  #assistant(blocks: readonly JsonObject[], path: string): void {
    let content: Block[] = [];
    let results: ToolResultMessage[] = [];
    const flush = (): void => {
      if (content.length > 0) this.messages.push({ role: "assistant", content });
      if (results.length > 0) this.messages.push({ role: "tool", results });
      [content, results] = [[], []];
    };
    for (const [n, block] of blocks.entries()) {
      const at = `${path}.${n}`;
      const call = executedCall(block);
      const result = executedResult(block, this.#called, at);
      if (result !== null) {
        results.push(result);
        continue;
      }
      if (results.length > 0) flush();
      if (call !== null) {
        this.#called.add(call.id, call.name);
        this.executed ||= !call.id.startsWith(ANTHROPIC_CALL);
      }
      content.push(...(call === null ? this.#said(block, at) : [call]));
    }
    flush();
  }

  #said(block: JsonObject, path: string): Block[] {
    switch (block.type) {
      case "text":
        return [{ type: "output_text", text: textMember(block, "text", path) }];
      case "thinking": {
        const signature = textOf(block.signature);
        const own = signature === "" ? {} : { signature };
        return [
          decodeBlock(signature) ?? { type: "reasoning", text: textMember(block, "thinking", path), ...own },
        ];
      }
      case "redacted_thinking":
        return [decodeBlock(textMember(block, "data", path)) ?? anthropicBlock(block)];
      case "tool_use": {
        const [id, name] = [textMember(block, "id", path), textMember(block, "name", path)];
        this.#called.add(id, name, `${path}.id`);
        return [toolCall(id, name, objectOf(block.input))];
      }
      default:
        return [anthropicBlock(block)];
    }
  }
}

/** `null`: the block is something else, or names a tool of a server that Anthropic calls. */
function toolChange({ type, tool }: JsonObject, path: string): ToolChange | null {
  if (type !== "tool_addition" && type !== "tool_removal") return null;
  const given = objectOf(tool);
  const definition = given.type === "tool_definition" ? objectOf(given.definition) : null;
  const { name } = definition ?? (given.type === "tool_reference" ? given : {});
  if (typeof name !== "string") return null;
  return { name, removed: type === "tool_removal", definition, path: `${path}.tool.definition` };
}

/** A block that only Anthropic understands; other providers do not get it. */
const anthropicBlock = (value: JsonObject): Block => ({ type: "opaque", provider: "anthropic", value });

function searchText(block: JsonObject, path: string): string {
  const head = [block.title, block.source].filter((line) => typeof line === "string");
  const texts = textBlocks(block.content, `${path}.content`).map(({ text }) => text);
  return [...head, texts.join("\n\n")].join("\n");
}

function blocksOf(content: Json | undefined, path: string): JsonObject[] {
  if (typeof content === "string") return content === "" ? [] : [{ type: "text", text: content }];
  if (!Array.isArray(content)) throw wrong(path, "a string or a list of blocks is expected");
  return content.map((block, n) => {
    if (isObject(block) && typeof block.type === "string") return block;
    throw wrong(`${path}.${n}`, "a block is an object with a type");
  });
}

/**
 * The messages without the thinking of other providers, whose signatures Anthropic would refuse. Returns the list itself
 * if it has none.
 */
export function withoutOthersThinking(list: readonly Json[]): Json[] {
  const others = (block: Json): boolean =>
    isObject(block) &&
    ((block.type === "thinking" && (block.signature === "" || isEncodedBlock(String(block.signature)))) ||
      (block.type === "redacted_thinking" && isEncodedBlock(String(block.data))));
  return list.map((message) => {
    if (!isObject(message) || !Array.isArray(message.content) || !message.content.some(others))
      return message;
    return { ...message, content: message.content.filter((block) => !others(block)) };
  });
}
