/**
 * Conversations in their public JSON form and as canonical messages. A message from `messageJson` is read back without
 * loss: an assistant's `blocks` hold what `content` and `tool_calls` repeat for readers.
 */

import * as z from "zod/mini";
import {
  type Block,
  type Media,
  type Message,
  type Part,
  type ToolResultMessage,
  textOfBlocks,
} from "../engine/messages.ts";
import { toolCall } from "../model/provider-document.ts";
import { asJson, defined, isObject, objectOf } from "../skill/json.ts";
import type { Json } from "../skill/manifest.ts";
import { blockShape, publicBlock } from "./blocks.ts";
import { wrong } from "./members.ts";

const json = () => z.custom<Json>();
const maybe = z.exactOptional;

const mediaFields = () => ({
  url: maybe(z.string()),
  base64: maybe(z.string()),
  data: maybe(z.string()),
  media_type: maybe(z.string()),
});

export const partShape = z.lazy(() =>
  z.discriminatedUnion("type", [
    z.strictObject({ type: z.literal("text"), text: z.string() }),
    z.strictObject({
      type: z.literal("image"),
      ...mediaFields(),
      detail: maybe(z.enum(["auto", "low", "high"])),
    }),
    z.strictObject({ type: z.literal("document"), ...mediaFields(), filename: maybe(z.string()) }),
    z.strictObject({ type: z.literal("audio"), ...mediaFields() }),
    z.strictObject({
      type: z.literal("tool_result"),
      tool_use_id: z.string(),
      content: maybe(json()),
      is_error: maybe(z.boolean()),
    }),
  ]),
);
type PublicPart = z.infer<typeof partShape>;

const calledTool = z.lazy(() =>
  z.strictObject({ id: maybe(z.string()), name: z.string(), arguments: maybe(json()) }),
);

/** One message as requests contain it. */
export const messageShape = z.lazy(() => {
  const content = z.nullish(z.union([z.string(), z.array(partShape)]));
  return z.discriminatedUnion("role", [
    z.strictObject({ role: z.literal("system"), content }),
    z.strictObject({ role: z.literal("user"), content }),
    z.strictObject({
      role: z.literal("assistant"),
      content,
      tool_calls: maybe(z.array(calledTool)),
      blocks: maybe(z.array(blockShape)),
    }),
    z.strictObject({
      role: z.literal("tool"),
      tool_call_id: z.string(),
      name: maybe(z.string()),
      content: maybe(json()),
      is_error: maybe(z.boolean()),
    }),
  ]);
});
export type PublicMessage = z.infer<typeof messageShape>;

export interface Conversation {
  /** Texts of system (and developer) messages, in order. They are sent as the system text, whatever their position. */
  system: string[];
  messages: Message[];
}

/** Adds results of tools to a conversation; those that follow each other are one message. */
export function addResults(messages: Message[], results: ToolResultMessage[]): void {
  const last = messages.at(-1);
  if (last?.role === "tool") last.results.push(...results);
  else if (results.length > 0) messages.push({ role: "tool", results });
}

/** Canonical messages of a parsed list. @throws InvalidRequest for media without bytes and URL, or a part out of place */
export function readMessages(list: readonly PublicMessage[], option = "messages"): Conversation {
  const system: string[] = [];
  const messages: Message[] = [];
  const names = new Map<string, string>();
  for (const [index, message] of list.entries()) {
    const at = `${option}.${index}`;
    switch (message.role) {
      case "system":
        system.push(textOf(message.content, at));
        break;
      case "user": {
        const parts = contentParts(message.content);
        const results = parts.filter((part) => part.type === "tool_result");
        addResults(
          messages,
          results.map((part) => resultOf(part.tool_use_id, part, names)),
        );
        const own = parts.filter((part) => part.type !== "tool_result").map((part) => readPart(part, at));
        if (own.length > 0) messages.push({ role: "user", content: own });
        break;
      }
      case "assistant": {
        const content = message.blocks ?? assistantBlocks(message, index, at);
        for (const block of content) if (block.type === "tool_call") names.set(block.id, block.name);
        messages.push({ role: "assistant", content });
        break;
      }
      case "tool": {
        const result = resultOf(message.tool_call_id, message, names);
        addResults(messages, [{ ...result, ...defined({ name: message.name }) }]);
        break;
      }
    }
  }
  return { system, messages };
}

/** The public form of a message; each result of a turn becomes one message. */
export function messageJson(message: Message): PublicMessage[] {
  switch (message.role) {
    case "user": {
      const [only] = message.content;
      const text = message.content.length === 1 && only?.type === "text" ? only.text : null;
      return [{ role: "user", content: text ?? [...message.content] }];
    }
    case "assistant": {
      const calls = message.content.flatMap((block) =>
        block.type === "tool_call" ? [{ id: block.id, name: block.name, arguments: block.arguments }] : [],
      );
      const content = textOfBlocks(message.content);
      return [
        {
          role: "assistant",
          content,
          ...(calls.length === 0 ? {} : { tool_calls: calls }),
          blocks: message.content.map(publicBlock),
        },
      ];
    }
    case "tool":
      return message.results.map(({ call_id, name, content, is_error }) => ({
        role: "tool",
        tool_call_id: call_id,
        name,
        content,
        ...(is_error ? { is_error } : {}),
      }));
  }
}

function contentParts(content: string | readonly PublicPart[] | null | undefined): readonly PublicPart[] {
  if (typeof content === "string") return [{ type: "text", text: content }];
  return content ?? [];
}

function textOf(content: string | readonly PublicPart[] | null | undefined, at: string): string {
  return contentParts(content)
    .map((part) => {
      if (part.type === "text") return part.text;
      throw wrong(at, "a system message holds text only");
    })
    .join("\n\n");
}

function assistantBlocks(message: PublicMessage & { role: "assistant" }, index: number, at: string): Block[] {
  const text = textOf(message.content, at);
  const calls = (message.tool_calls ?? []).map((call, n) =>
    toolCall(call.id ?? `call_m${index}_${n}`, call.name, call.arguments),
  );
  return [...(text === "" ? [] : [{ type: "output_text" as const, text }]), ...calls];
}

function resultOf(
  call_id: string,
  { content = null, is_error = false }: { content?: Json; is_error?: boolean },
  names: ReadonlyMap<string, string>,
): ToolResultMessage {
  return { call_id, name: names.get(call_id) ?? "", content: resultText(content), is_error };
}

/**
 * A request's messages with texts in place of the JSON in calls and in results of tools.
 * @param messages as sent. Their numbers may be those of `JSON.rawJSON`, which become doubles everywhere else
 */
export function withToolTexts(messages: Json): Json {
  if (!Array.isArray(messages)) return asJson<Json>(messages);
  const texts = messages.map((message) => {
    const { role, content, tool_calls } = objectOf(message);
    if (role === "tool") return { ...objectOf(message), content: resultText(content ?? null) };
    const calls = withTexts(tool_calls, "arguments", (given) => toolCall("", "", given).raw);
    const parts = withTexts(content, "content", resultText);
    return isObject(message) ? { ...message, ...defined({ content: parts, tool_calls: calls }) } : message;
  });
  return asJson<Json>(texts);
}

/** A list with texts as this member of its objects; anything else unchanged. */
function withTexts(list: Json | undefined, name: string, text: (given: Json) => string): Json | undefined {
  if (!Array.isArray(list)) return list;
  return list.map((item) => {
    const { [name]: given } = objectOf(item);
    return given === undefined ? item : { ...objectOf(item), [name]: text(given) };
  });
}

/** A tool's result in the form for the model: a string unchanged, `null` as `null`, anything else as JSON. */
export function resultText(content: Json): string {
  if (typeof content === "string") return content;
  const texts = Array.isArray(content) ? content.map(partText) : [null];
  if (texts.length > 0 && texts.every((text) => text !== null)) return texts.join("\n");
  return JSON.stringify(content, null, 2);
}

const partText = (part: Json): string | null =>
  isObject(part) && part.type === "text" && typeof part.text === "string" ? part.text : null;

function readPart(part: Exclude<PublicPart, { type: "tool_result" }>, at: string): Part {
  switch (part.type) {
    case "text":
      return part;
    case "image":
      return { type: "image", ...defined({ detail: part.detail }), ...media(part, at) };
    case "document":
      return {
        type: "document",
        ...defined({ filename: part.filename }),
        ...media({ media_type: "application/pdf", ...part }, at),
      };
    case "audio": {
      const source = media(part, at);
      if ("url" in source) throw wrong(at, "audio is sent as base64, not as a URL");
      return { type: "audio", ...source };
    }
  }
}

/** The content of a data URL; `null`: it is another URL. Its type may have parameters, which no provider needs. */
export function inlineMedia(url: string): { media_type: string; data: string } | null {
  const [head, type = ""] = /^data:([^;,]+)(?:;[^;,]+)*;base64,/i.exec(url) ?? [];
  return head === undefined ? null : { media_type: type.toLowerCase(), data: url.slice(head.length) };
}

function media(part: PublicPart & { type: "image" | "document" | "audio" }, at: string): Media {
  const data = part.base64 ?? part.data;
  const inline = inlineMedia(part.url ?? "");
  if (inline !== null && /^[A-Za-z0-9+/=\s]*$/.test(inline.data)) return inline;
  if (part.url !== undefined && data === undefined) {
    if (/^https?:\/\//i.test(part.url)) return { url: part.url };
    throw wrong(at, "url is an http, https or data URL");
  }
  if (data === undefined || part.url !== undefined || part.media_type === undefined) {
    throw wrong(at, `a part of type ${part.type} has either url, or base64 with media_type`);
  }
  return { media_type: part.media_type, data };
}
