/** `POST /transcripts/{operation}`. A test compares the names with the operations that there are. */
import type { JsonObject } from "../skill/manifest.ts";
import { json, type Operations, schema } from "./operation.ts";
import { answer, inPath } from "./parts.ts";

const NAMES = [
  "transcript",
  "from_messages",
  "messages",
  "events",
  "assets",
  "summary",
  "id",
  "events_by_kind",
  "add_asset",
  "add_user",
  "add_assistant",
  "add_system",
  "add_tool_result",
  "render_visible",
  "render_full",
  "export",
  "import",
  "fork",
  "reset",
  "archive",
  "abandon",
  "resume",
  "stats",
  "summarize",
  "compact",
  "auto_compact",
];

const BODY: JsonObject = {
  type: "object",
  description: "The conversation, as `transcript` or `messages`, and the operation's options beside it.",
  properties: {
    transcript: { oneOf: [schema("Transcript"), { type: "string" }, { type: "null" }] },
    messages: { type: ["array", "null"], items: { type: "object" } },
  },
};

export const TRANSCRIPT_OPERATIONS: Operations = {
  "/transcripts/{operation}": {
    post: {
      id: "operateOnTranscript",
      tag: "models",
      summary: "Reads, changes or shortens a transcript; nothing is stored",
      scope: "invoke",
      parameters: [inPath("operation", { type: "string", enum: NAMES })],
      body: { required: true, content: json(BODY) },
      answers: { 200: answer("The operation's answer, bare: a transcript, a list, a text, …", json({})) },
      faults: [400, 402, 404, 408, 413, 422, 502, 504],
    },
  },
};

export function transcriptSchemas(): JsonObject {
  const list: JsonObject = { type: "array", items: { type: "object" } };
  return {
    Transcript: {
      type: "object",
      required: ["_type", "version", "id", "messages", "events", "assets"],
      properties: {
        _type: { const: "transcript" },
        version: { const: 2 },
        id: { type: "string", format: "uuid" },
        messages: list,
        events: list,
        assets: list,
        summary: { type: "string" },
        metadata: { type: "object" },
        state: { type: "string" },
        archived_messages: { type: "integer", minimum: 0 },
      },
    },
  };
}
