/** Checks the body of an operation against its shape: 422 with the path of each fault. */
import * as z from "zod/mini";
import { checked, type Fault, faultsIn, MAX_FAULTS, withoutPrefix } from "../../engine/fault.ts";
import type { JsonObject } from "../../skill/manifest.ts";
import { nearest } from "../../skill/match.ts";
import type { LlmHost } from "../host.ts";
import { messageShape, type PublicMessage } from "../messages.ts";
import { readOptions, suggestion } from "../options.ts";
import { refused } from "../prepare.ts";
import { type IdSource, type Transcript, transcriptShape } from "../transcript.ts";
import { fromMessages } from "./view.ts";

/** @throws InputInvalid */
export function readFields<T>(given: JsonObject, shape: z.ZodMiniType<T>, names: readonly string[]): T {
  const further = Object.keys(given).filter((name) => !names.includes(name));
  const unknown = further.slice(0, MAX_FAULTS);
  const parsed = checked(shape, given);
  if (parsed.success && unknown.length === 0) return parsed.data;
  const wrong = parsed.success ? [] : faultsIn(parsed.error, given);
  throw refused([...unknown.map((name) => noOption(name, names)), ...wrong]);
}

function noOption(name: string, names: readonly string[]): Fault {
  return { path: name, message: `there is no option "${name}"${suggestion(name, names)}` };
}

/**
 * Checks the part of a body that is for the model's call.
 * @param own names of the operation's own options, for hints
 * @throws InputInvalid
 */
export function checkCallOptions(call: JsonObject, own: readonly string[], host: LlmHost): void {
  const read = readOptions(call, (name) => host.definition(name) !== undefined);
  if (!("faults" in read)) return;
  throw refused(
    read.faults.map(({ path, message }) => {
      const name = withoutPrefix(path);
      const [near] = nearest(name, own);
      if (near !== undefined && message.startsWith("there is no option")) return noOption(name, own);
      return { path: name, message: withoutPrefix(message) };
    }),
  );
}

/** One fault of a body. */
export const wrong = (path: string, message: string) => refused([{ path, message }]);

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
