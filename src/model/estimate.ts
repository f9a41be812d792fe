/** Estimates the tokens of a request before a provider counts them: a quarter of its bytes. */
import type { Block, Message, ModelRequest, Part } from "../engine/messages.ts";

const BYTES_PER_TOKEN = 4;
/** An image counts by its area, not by its bytes; providers scale large ones down to about this many tokens. */
const IMAGE_TOKENS = 1600;
/** A document behind a URL, whose length is unknown. */
const LINKED_DOCUMENT_TOKENS = 6400;

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
  const parts = messages.map(sizeOfMessage);
  const bytes = parts.reduce((sum, part) => sum + part.bytes, texts.map(bytesOf).reduce(add, 0));
  return tokensOfBytes(bytes) + parts.reduce((sum, part) => sum + part.tokens, 0);
}

/** Bytes of a model's output: its text, its reasoning and its calls. */
export function bytesOfBlocks(blocks: readonly Block[]): number {
  return blocks.map(bytesOfBlock).reduce(add, 0);
}

/** The part that counts by bytes, and the part known in tokens. */
interface Size {
  bytes: number;
  tokens: number;
}

function sizeOfMessage(message: Message): Size {
  switch (message.role) {
    case "user": {
      const sizes = message.content.map(sizeOfPart);
      return {
        bytes: sizes.reduce((sum, { bytes }) => sum + bytes, 0),
        tokens: sizes.reduce((sum, { tokens }) => sum + tokens, 0),
      };
    }
    case "assistant":
      return { bytes: bytesOfBlocks(message.content), tokens: 0 };
    case "tool":
      return { bytes: message.results.map(({ content }) => utf8Bytes(content)).reduce(add, 0), tokens: 0 };
  }
}

function sizeOfPart(part: Part): Size {
  switch (part.type) {
    case "text":
      return { bytes: utf8Bytes(part.text), tokens: 0 };
    case "image":
      return { bytes: 0, tokens: IMAGE_TOKENS };
    default:
      return "data" in part
        ? { bytes: part.data.length, tokens: 0 }
        : { bytes: 0, tokens: LINKED_DOCUMENT_TOKENS };
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
