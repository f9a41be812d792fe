/** `POST /transcripts/{operation}`. */
import * as z from "zod/mini";
import { blockShape, VISIBILITIES } from "../llm/blocks.ts";
import { messageShape, partShape } from "../llm/messages.ts";
import { transcriptShape } from "../llm/transcript.ts";
import { TRANSCRIPT_OPERATIONS as OPERATIONS } from "../llm/transcript-operations/operations.ts";
import { statsShape } from "../llm/transcript-operations/view.ts";
import type { JsonObject } from "../skill/manifest.ts";
import { answer, object, ref } from "./openapi-parts.ts";
import { json, type Operations } from "./operation.ts";
import { namedShapes, schemaOf } from "./shape-schema.ts";

/** The bodies of all operations; operations with the same fields share one. */
function bodies(): JsonObject[] {
  const names = new Map<string, string[]>();
  for (const [name, { fields, calls }] of OPERATIONS) {
    const shape = calls ? z.looseObject(fields()) : z.strictObject(fields());
    const text = JSON.stringify(schemaOf(shape, namedShapes()));
    names.set(text, [...(names.get(text) ?? []), name]);
  }
  return Array.from(names, ([text, those]) => {
    const body: JsonObject = JSON.parse(text);
    const more = body.additionalProperties === false ? "" : ", and the options of a call";
    return { description: `Of ${those.join(", ")}${more}.`, ...body };
  });
}

const ANSWERS: JsonObject[] = [
  ref("schemas", "Transcript"),
  { type: "array", description: "Messages, events or assets." },
  schemaOf(statsShape()),
  { type: ["string", "null"], description: "A rendered or exported transcript, its id, its summary." },
];

export const TRANSCRIPT_OPERATIONS = {
  operateOnTranscript: {
    tag: "models",
    summary: "Reads, changes or shortens a transcript; nothing is stored",
    body: { required: true, content: json({ anyOf: bodies() }) },
    answers: { 200: answer("The operation's answer, bare", json({ anyOf: ANSWERS })) },
    faults: [402, 502, 504],
  },
} satisfies Operations;

export function transcriptSchemas(): JsonObject {
  return {
    MessagePart: schemaOf(partShape),
    MessageBlock: {
      allOf: [
        schemaOf(blockShape),
        object(
          {
            visibility: { enum: [...VISIBILITIES], description: "Who may see it; of no effect in requests." },
          },
          ["visibility"],
        ),
      ],
    },
    Message: schemaOf(messageShape, namedShapes()),
    Transcript: schemaOf(transcriptShape, namedShapes()),
  };
}
