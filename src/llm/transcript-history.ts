/** The conversation of a transcript, as a call or run continues with it. Pure. */
import { isSummary, summaryMessage } from "../engine/agent/compaction.ts";
import type { Message } from "../engine/messages.ts";
import { type Conversation, messageJson, type PublicMessage, readMessages } from "./messages.ts";
import type { Transcript } from "./transcript.ts";

/**
 * System texts and messages of the next model call. The summary of what a compaction took out comes first, unless the
 * messages hold one.
 * @param path of the transcript in the request
 * @throws InvalidRequest
 */
export function transcriptHistory(
  { messages, visible_messages, summary, archived_messages = 0 }: Transcript,
  path: string,
): Conversation {
  const whole = readMessages(messages, `${path}.messages`);
  if (visible_messages !== undefined) {
    const seen = readMessages(visible_messages, `${path}.visible_messages`);
    return { system: [...whole.system, ...seen.system], messages: seen.messages };
  }
  if (summary === undefined || summary === "" || whole.messages.some(isSummary)) return whole;
  return { system: whole.system, messages: [summaryMessage(summary, archived_messages), ...whole.messages] };
}

/** The transcript with what the next model call receives, if that is not its messages. */
export function withVisible(transcript: Transcript, visible: readonly Message[]): Transcript {
  const { visible_messages: _, ...whole } = transcript;
  const seen = visible.flatMap(messageJson);
  const said = whole.messages.filter(({ role }) => role !== "system");
  return JSON.stringify(seen) === JSON.stringify(said) ? whole : { ...whole, visible_messages: seen };
}

/** The transcript with the messages of the next model call alone. */
export function seenAlone({ visible_messages: seen, ...whole }: Transcript): Transcript {
  if (seen === undefined) return whole;
  const system = whole.messages.filter(({ role }) => role === "system");
  return { ...whole, messages: [...system, ...seen] };
}

/** Compares messages, as they come, with those of the next model call. */
export class SeenMessages {
  readonly #visible: readonly Message[];
  readonly #expected: Generator<PublicMessage>;
  #same = true;

  constructor(visible: readonly Message[]) {
    this.#visible = visible;
    this.#expected = this.all();
  }

  *all(): Generator<PublicMessage> {
    for (const message of this.#visible) yield* messageJson(message);
  }

  /** Takes the next messages, and returns them. */
  compared(messages: readonly PublicMessage[]): readonly PublicMessage[] {
    for (const message of messages) {
      const { value } = this.#expected.next();
      this.#same &&= JSON.stringify(message) === JSON.stringify(value);
    }
    return messages;
  }

  /** Whether the messages so far are all that the next call receives. */
  isWhole(): boolean {
    return this.#same && this.#expected.next().done === true;
  }
}
