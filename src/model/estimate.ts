/** Estimates the tokens of a request before a provider counts them: a quarter of its bytes. */
import type { Block, Message, ModelRequest, Part } from "../engine/messages.ts";

const BYTES_PER_TOKEN = 4;
/** An image counts by its area, not by its bytes; providers scale large ones down to about 1600 tokens. */
const IMAGE_BYTES = 1600 * BYTES_PER_TOKEN;
/** A document behind a URL, whose length is unknown. */
const LINKED_DOCUMENT_BYTES = 6400 * BYTES_PER_TOKEN;

/** Bytes of a text in UTF-8. */
export function utf8Bytes(text: string): number {
  let bytes = text.length;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (unit < 0x80) continue;
    // Each half of a surrogate pair counts as two bytes.
    bytes += unit < 0x800 || (unit >= 0xd800 && unit < 0xe000) ? 1 : 2;
  }
  return bytes;
}

export const tokensOfBytes = (bytes: number): number => Math.ceil(bytes / BYTES_PER_TOKEN);

/** The estimate of a prompt: conversation, tools and schema. */
export function promptTokens({ system, messages, tools, schema, prefill }: ModelRequest): number {
  const texts = [system, prefill ?? "", tools.length === 0 ? "" : tools, schema?.schema ?? ""];
  return tokensOfBytes([...texts.map(bytesOf), ...messages.map(bytesOfMessage)].reduce(add, 0));
}

/** Bytes of a model's output: its text, its reasoning and its calls. */
export function bytesOfBlocks(blocks: readonly Block[]): number {
  return blocks.map(bytesOfBlock).reduce(add, 0);
}

function bytesOfMessage(message: Message): number {
  switch (message.role) {
    case "user":
      return message.content.map(bytesOfPart).reduce(add, 0);
    case "assistant":
      return bytesOfBlocks(message.content);
    case "tool":
      return message.results.map(({ content }) => utf8Bytes(content)).reduce(add, 0);
  }
}

/** Of a part that does not count by its bytes: as many as its tokens would have. */
function bytesOfPart(part: Part): number {
  switch (part.type) {
    case "text":
      return utf8Bytes(part.text);
    case "image":
      return IMAGE_BYTES;
    default:
      return "data" in part ? part.data.length : LINKED_DOCUMENT_BYTES;
  }
}

function bytesOfBlock(block: Block): number {
  switch (block.type) {
    case "output_text":
    case "reasoning":
    case "reasoning_summary":
      return utf8Bytes(block.text);
    case "tool_call":
      return utf8Bytes(block.name) + utf8Bytes(block.raw);
    default:
      return bytesOf(block);
  }
}

const bytesOf = (value: unknown): number =>
  utf8Bytes(typeof value === "string" ? value : (JSON.stringify(value) ?? ""));
const add = (a: number, b: number): number => a + b;
