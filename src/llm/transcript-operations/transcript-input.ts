/** The conversation in the body of an operation, in either form. */
import * as z from "zod/mini";
import { messageShape, type PublicMessage } from "../messages.ts";
import { type IdSource, type Transcript, transcriptShape } from "../transcript.ts";
import { wrong } from "./read-body.ts";
import { fromMessages } from "./view.ts";

export interface TranscriptInput {
  transcript?: Transcript;
  messages?: PublicMessage[];
}

/** The fields of both forms. */
export const transcriptFields = () => ({
  transcript: z.exactOptional(transcriptShape),
  messages: z.exactOptional(z.array(messageShape)),
});

/** The conversation as a transcript; `null`: none was given. @throws InputInvalid if two were given */
export function optionalTranscript(
  { transcript, messages }: TranscriptInput,
  ids: IdSource,
): Transcript | null {
  if (transcript !== undefined && messages !== undefined) {
    throw wrong("messages", "give transcript or messages, not both");
  }
  return transcript ?? (messages === undefined ? null : fromMessages(messages, ids));
}

/** The same, but required. @throws InputInvalid */
export function requiredTranscript(given: TranscriptInput, ids: IdSource): Transcript {
  const transcript = optionalTranscript(given, ids);
  if (transcript !== null) return transcript;
  throw wrong("transcript", "transcript: a transcript is needed, or messages");
}
