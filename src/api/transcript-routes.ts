/** `POST /transcripts/{operation}`. A test compares the names with the existing operations. */
import { messageShape, partShape } from "../llm/messages.ts";
import { transcriptShape } from "../llm/transcript.ts";
import type { JsonObject } from "../skill/manifest.ts";
import { answer, inPath } from "./openapi-parts.ts";
import { json, type Operations, schema } from "./operation.ts";
import { namedShapes, schemaOf } from "./shape-schema.ts";

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
  description: "The conversation, as `transcript` or `messages`, and the operation's options.",
  properties: {
    transcript: { oneOf: [schema("Transcript"), { type: "string" }, { type: "null" }] },
    messages: { type: ["array", "null"], items: schema("Message") },
  },
};

export const TRANSCRIPT_OPERATIONS = {
  operateOnTranscript: {
    tag: "models",
    summary: "Reads, changes or shortens a transcript; nothing is stored",
    parameters: [inPath("operation", { type: "string", enum: NAMES })],
    body: { required: true, content: json(BODY) },
    answers: { 200: answer("The operation's answer, bare: a transcript, a list, a text, …", json({})) },
    faults: [400, 402, 404, 408, 413, 422, 502, 504],
  },
} satisfies Operations;

export function transcriptSchemas(): JsonObject {
  return {
    MessagePart: schemaOf(partShape),
    Message: schemaOf(messageShape, namedShapes()),
    Transcript: schemaOf(transcriptShape, namedShapes()),
  };
}
