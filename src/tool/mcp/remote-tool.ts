/** Tools of MCP servers in the form for a model, and their answers (docs/mcp.md). Pure. */

import * as z from "zod/mini";
import { utf8 } from "../../bytes.ts";
import { firstOf } from "../../cut.ts";
import { counted } from "../../plural.ts";
import { crc32 } from "../../skill/crc32.ts";
import type { JsonObject, McpServer } from "../../skill/manifest.ts";
import { toolPrefix } from "../../skill/mcp-servers.ts";
import type { ListedTool } from "./client.ts";
import { annotationsHold } from "./param-headers.ts";

export interface RemoteTool {
  /** `<server>__<tool>`. */
  name: string;
  /** The server's own name for it. */
  remote: string;
  description: string;
  parameters: JsonObject;
  /** The server declares that repeating a call is harmless. */
  idempotent: boolean;
  /** The server declares that it only reads. */
  reads: boolean;
  /** The server declares that it writes. */
  writes: boolean;
}

/** The longest name that providers accept. */
const MAX_NAME = 64;
const MAX_DESCRIPTION = 4096;
/** The most characters of a schema. */
const MAX_SCHEMA = 32 * 1024;

/** The tools that a skill uses of a server, without those that no model can get. */
export function remoteTools(
  { name: server, tools: wanted }: Pick<McpServer, "name" | "tools">,
  listed: readonly ListedTool[],
): RemoteTool[] {
  const prefix = toolPrefix(server);
  const found = new Map<string, RemoteTool>();
  for (const { name: remote, description, inputSchema, annotations, execution } of listed) {
    if (wanted !== undefined && !wanted.includes(remote)) continue;
    // Hull starts no tasks, and the server would refuse any other call.
    if (execution?.taskSupport === "required") continue;
    const name = prefix + plainName(remote);
    const usable = inputSchema.type === "object" && JSON.stringify(inputSchema).length <= MAX_SCHEMA;
    if (name.length > MAX_NAME || found.has(name) || !usable || !annotationsHold(inputSchema)) continue;
    const { readOnlyHint, destructiveHint, idempotentHint } = annotations ?? {};
    const reads = readOnlyHint === true;
    const writes = readOnlyHint === false || (destructiveHint === true && !reads);
    const idempotent = reads || idempotentHint === true;
    const parameters = { ...inputSchema };
    const shown = firstOf(description ?? "", MAX_DESCRIPTION);
    found.set(name, { name, remote, description: shown, parameters, idempotent, reads, writes });
  }
  return [...found.values()];
}

/** A name as providers accept it. One with letters that they refuse gets digits, which keep it apart from others. */
function plainName(remote: string): string {
  const plain = remote.replace(/[^A-Za-z0-9_]/gu, "_");
  return /[^\p{ASCII}]/u.test(remote)
    ? `${plain}_${crc32(utf8(remote)).toString(16).padStart(8, "0")}`
    : plain;
}

/** The most items of a result. */
const MAX_ITEMS = 1000;

const contentShape = z.lazy(() => {
  const text = z.string();
  return z.union([
    z.object({ type: z.literal("text"), text }),
    z.object({ type: z.enum(["image", "audio"]), data: text, mimeType: text }),
    z.object({ type: z.literal("resource_link"), uri: text, name: z.nullish(text) }),
    z.object({ type: z.literal("resource"), resource: z.object({ uri: text, text: z.nullish(text) }) }),
  ]);
});

const resultShape = z.lazy(() =>
  z.object({
    content: z.nullish(z.array(z.unknown())),
    structuredContent: z.optional(z.unknown()),
    isError: z.nullish(z.boolean()),
    resultType: z.nullish(z.string()),
  }),
);

/** The text of a result for the model; `null`: it is malformed. */
export function resultText(result: JsonObject): { ok: boolean; text: string } | null {
  const read = resultShape.safeParse(result);
  if (!read.success) return null;
  const { structuredContent, isError, resultType } = read.data;
  const content = read.data.content ?? [];
  if ((resultType ?? "complete") !== "complete") {
    return { ok: false, text: "The server asks for further input, which nobody here can give." };
  }
  const lines = content.slice(0, MAX_ITEMS).map(lineOf);
  const rest = content.length - lines.length;
  if (rest > 0) lines.push(`[not shown: ${counted(rest, "further item")}]`);
  if (lines.length === 0 && structuredContent !== undefined && structuredContent !== null)
    lines.push(JSON.stringify(structuredContent));
  return { ok: isError !== true, text: lines.join("\n") };
}

/** Number of bytes of Base64. */
const decodedLength = (data: string): number => Math.floor((data.replace(/(?<!=)=+$/, "").length * 3) / 4);

function lineOf(item: unknown): string {
  const content = contentShape.safeParse(item).data;
  if (content === undefined) return "[content of an unknown kind]";
  switch (content.type) {
    case "text":
      return content.text;
    case "image":
    case "audio":
      return `[${content.type}: ${content.mimeType}, ${counted(decodedLength(content.data), "byte")}]`;
    case "resource_link":
      return `[resource: ${content.name ?? content.uri}, ${content.uri}]`;
    case "resource": {
      const { uri, text } = content.resource;
      return text ?? `[resource: ${uri}]`;
    }
  }
}
