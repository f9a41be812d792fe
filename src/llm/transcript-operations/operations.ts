/** The operations of `POST /transcripts/:operation`: by name, with their fields. */
import * as z from "zod/mini";
import { faultsIn } from "../../engine/fault.ts";
import { parsedJson } from "../../skill/json-depth.ts";
import { anyJson } from "../../skill/json-shape.ts";
import { messageShape, type PublicMessage } from "../messages.ts";
import { refused } from "../prepare.ts";
import { type Transcript, transcriptShape, withPublic } from "../transcript.ts";
import { COMPACTING } from "./compacting.ts";
import { assetShape, begun, forked, moved, reset, withAsset } from "./lifecycle.ts";
import { type Operation, type OperationDeps, operation } from "./operation.ts";
import {
  optionalTranscript,
  requiredTranscript,
  type TranscriptInput,
  transcriptFields,
  wrong,
} from "./read-body.ts";
import { eventsOf, fromMessages, renderFull, renderVisible, statsOf } from "./view.ts";

const maybe = z.exactOptional;
const metadata = () => ({ metadata: maybe(z.record(z.string(), anyJson())) });

/** An operation that reads a conversation, if there is one. */
const look = (see: (seen: Transcript | null, deps: OperationDeps) => unknown): Operation =>
  operation(transcriptFields, (body, deps) => see(optionalTranscript(body, deps.ids), deps));

/**
 * An operation that adds one message to a transcript or a list, and returns the same form.
 * @param needed fields that must be given
 */
const append = (
  role: PublicMessage["role"],
  fields: readonly string[],
  needed: readonly string[] = [],
): Operation =>
  operation(
    () => ({
      ...transcriptFields(),
      ...Object.fromEntries(fields.map((name) => [name, maybe(anyJson())])),
      ...Object.fromEntries(needed.map((name) => [name, anyJson("is required")])),
    }),
    (body: TranscriptInput & JsonFields, { ids }) => {
      const whole = requiredTranscript(body, ids);
      const { transcript, messages, ...message } = body;
      const added = readMessage({ role, ...message });
      return messages === undefined ? withPublic(whole, [added], ids) : [...messages, added];
    },
  );

type JsonFields = { [name: string]: unknown };

function readMessage(message: JsonFields): PublicMessage {
  const parsed = messageShape.safeParse(message);
  if (parsed.success) return parsed.data;
  throw refused(faultsIn(parsed.error, message));
}

const move = (to: Parameters<typeof moved>[1]): Operation =>
  operation(transcriptFields, (body, { ids }) => moved(requiredTranscript(body, ids), to, ids));

/** The transcript that a JSON text holds. @throws InputInvalid */
function imported(text: string): Transcript {
  const value = parsedJson(text);
  if (value === undefined) {
    const message =
      "transcript is not JSON, or nests too deep; it is the text that the operation export answered";
    throw wrong("transcript", message);
  }
  const parsed = transcriptShape.safeParse(value);
  if (parsed.success) return parsed.data;
  throw refused(faultsIn(parsed.error, value, ["transcript"]));
}

const OPERATIONS: Record<string, Operation> = {
  transcript: operation(metadata, (body, { ids }) => begun(body.metadata, ids)),
  from_messages: operation(
    () => ({ messages: z.array(messageShape), ...metadata() }),
    ({ messages, ...own }, { ids }) => ({ ...fromMessages(messages, ids), ...own }),
  ),
  messages: look((transcript) => transcript?.messages ?? []),
  events: look((transcript, { ids }) => (transcript === null ? [] : eventsOf(transcript, ids))),
  assets: look((transcript) => transcript?.assets ?? []),
  summary: look((transcript) => transcript?.summary ?? null),
  id: operation(transcriptFields, ({ transcript }) => transcript?.id ?? null),
  events_by_kind: operation(
    () => ({ ...transcriptFields(), kind: z.string() }),
    ({ kind, ...body }, deps) => {
      const transcript = optionalTranscript(body, deps.ids);
      const events = transcript === null ? [] : eventsOf(transcript, deps.ids);
      return events.filter((event) => event.kind === kind);
    },
  ),
  add_asset: operation(
    () => ({ ...transcriptFields(), asset: assetShape }),
    ({ asset, ...body }, { ids }) => withAsset(requiredTranscript(body, ids), asset, ids),
  ),
  add_user: append("user", [], ["content"]),
  add_assistant: append("assistant", ["content", "tool_calls", "blocks"]),
  add_system: append("system", [], ["content"]),
  add_tool_result: append("tool", ["tool_call_id", "content", "name", "is_error"]),
  render_visible: look((transcript, { ids }) =>
    transcript === null ? "" : renderVisible(eventsOf(transcript, ids)),
  ),
  render_full: look((transcript, { ids }) =>
    transcript === null ? "" : renderFull(eventsOf(transcript, ids)),
  ),
  export: operation(transcriptFields, (body, { ids }) => JSON.stringify(requiredTranscript(body, ids))),
  import: operation(
    () => ({ transcript: z.string() }),
    ({ transcript }) => imported(transcript),
  ),
  fork: operation(
    () => ({
      ...transcriptFields(),
      retain_messages: maybe(z.boolean()),
      retain_summary: maybe(z.boolean()),
    }),
    ({ retain_messages = true, retain_summary = true, ...body }, { ids }) =>
      forked(requiredTranscript(body, ids), { messages: retain_messages, summary: retain_summary }, ids),
  ),
  reset: operation(metadata, (body, { ids }) => reset(body.metadata, ids)),
  archive: move("archive"),
  abandon: move("abandon"),
  resume: move("resume"),
  stats: look((transcript, { ids }) =>
    statsOf(transcript?.messages ?? [], transcript === null ? [] : eventsOf(transcript, ids)),
  ),
  ...COMPACTING,
};

/** A map, since names come from clients. */
export const TRANSCRIPT_OPERATIONS: ReadonlyMap<string, Operation> = new Map(Object.entries(OPERATIONS));
