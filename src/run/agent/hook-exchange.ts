/**
 * What the hooks of a run receive and may answer, by purpose. A hook gets conversations in the form that requests have,
 * and Hull turns its answer into canonical messages.
 */

import * as z from "zod/mini";
import { fold } from "../../engine/agent/apply.ts";
import { type AgentState, EMPTY_SESSION } from "../../engine/agent/state.ts";
import type { AgentStep, HookPurpose } from "../../engine/agent/step.ts";
import type { Message } from "../../engine/messages.ts";
import { HookInvalid } from "../../errors/hook.ts";
import { HullError } from "../../errors.ts";
import { HistoryReader } from "../../llm/history.ts";
import { messageJson, messageShape, readMessages } from "../../llm/messages.ts";
import { emptyTranscript } from "../../llm/transcript.ts";
import { once } from "../../memo.ts";
import { asJson, fromJson, isObject, objectOf } from "../../skill/json.ts";
import type { Json } from "../../skill/manifest.ts";
import type { RecordSource } from "./run-log.ts";

type HookStep = AgentStep & { type: "call_hook" };

/** The messages of all records. Each record is read once, although each model call may ask for the messages. */
export class RecordedMessages {
  readonly #source: RecordSource;
  readonly #reader: HistoryReader;
  #messages: Json[] = [];
  /** The place of the last record that was read, and the state after it. */
  #read: { place: number; state: AgentState } = { place: 0, state: EMPTY_SESSION };

  constructor(source: RecordSource) {
    let number = 0;
    this.#source = source;
    this.#reader = new HistoryReader(() => `m${++number}`, emptyTranscript(""));
  }

  /** Until now. */
  all(): Json[] {
    let { state } = this.#read;
    for (const applied of fold(this.#source.records(this.#read.place), state)) {
      const { messages } = this.#reader.read(applied);
      if (applied.record.type === "session_reset") this.#messages = [];
      this.#messages.push(...asJson<Json[]>(messages));
      state = { ...applied.after, visible: [] };
    }
    this.#read = { place: this.#source.lastRecord(), state };
    return [...this.#messages];
  }
}

/** The payload as the hook gets it. @param recorded of the session or run; read only if something in it was compacted */
export function hookPayload({ purpose, payload }: HookStep, recorded: Pick<RecordedMessages, "all">): Json {
  if (purpose === "compact" || purpose === "mask") return publicForm(payload);
  if (purpose !== "context" || !isObject(payload)) return payload;
  const { compacted, ...given } = payload;
  const visible = publicForm(payload.messages ?? []);
  const all = compacted === true ? recorded.all() : visible;
  return {
    ...given,
    messages: visible,
    visible_messages: visible,
    recorded_messages: all,
    recent_visible_messages: lastOf(visible, 8),
    recent_recorded_messages: lastOf(all, 12),
    latest_visible_user_message: latestText(visible, "user"),
    latest_visible_assistant_message: latestText(visible, "assistant"),
    latest_recorded_user_message: latestText(all, "user"),
    latest_recorded_assistant_message: latestText(all, "assistant"),
    latest_recorded_tool_result: latestText(all, "tool"),
  };
}

/** The hook's answer, in the engine's form. @throws HookInvalid that names the permitted answers */
export function hookAnswer({ purpose, hook }: HookStep, answer: Json): Json {
  if (purpose === "context") return contextAnswer(hook, answer);
  const shape = shapes()[purpose];
  if (shape.accepts.safeParse(answer).success) return answer;
  throw new HookInvalid({ hook, reason: `as ${purpose} it may answer ${shape.words}` });
}

function contextAnswer(hook: string, answer: Json): Json {
  if (answer === null) return null;
  const given = contextShape.safeParse(answer);
  if (!given.success) {
    const accepted = "null, a list of messages, or an object with messages and system";
    throw new HookInvalid({ hook, reason: `as context_callback it may answer ${accepted}` });
  }
  const { messages, system } = Array.isArray(given.data) ? { messages: given.data } : given.data;
  try {
    const read = messages === undefined ? null : readMessages(messages);
    const texts = [...(system === undefined ? [] : [system]), ...(read?.system ?? [])];
    return {
      ...(read === null ? {} : { messages: asJson<Json[]>(read.messages) }),
      ...(texts.length === 0 ? {} : { system: texts.join("\n\n") }),
    };
  } catch (error) {
    if (!(error instanceof HullError)) throw error;
    throw new HookInvalid({ hook, reason: error.message });
  }
}

const contextShape = z.lazy(() => {
  const messages = z.array(messageShape);
  return z.union([
    messages,
    z.strictObject({ messages: z.exactOptional(messages), system: z.exactOptional(z.string()) }),
  ]);
});

interface Shape {
  accepts: z.ZodMiniType;
  words: string;
}

const shapes = once((): Record<Exclude<HookPurpose, "context">, Shape> => {
  const text = z.string();
  const flag = z.boolean();
  const maybe = z.exactOptional;
  const anything = { accepts: z.unknown(), words: "anything" };
  const args = z.record(text, z.unknown());
  const grant = z.union([flag, z.literal("once"), z.literal("session")]);
  return {
    skill: anything,
    skill_commands: anything,
    command: anything,
    host_permission: anything,
    host_skill_match: anything,
    compact: {
      accepts: z.union([text, z.object({ summary: text })]),
      words: "the summary as a string, or an object with summary",
    },
    mask: {
      accepts: z.nullable(z.array(z.nullable(text))),
      words: "null, or a list with a string or null for each of the messages",
    },
    compress: { accepts: z.nullable(text), words: "null, or the shorter text as a string" },
    post_turn: {
      accepts: z.nullable(
        z.union([text, flag, z.strictObject({ message: maybe(z.nullable(text)), stop: maybe(flag) })]),
      ),
      words: "null, a string, a boolean, or an object with message and stop",
    },
    permission: { accepts: z.nullable(flag), words: "true, false or null" },
    escalation: {
      accepts: z.nullable(z.union([grant, z.object({ grant, reason: maybe(text), approver: maybe(text) })])),
      words: 'true, false, "once", "session", or an object with grant, reason and approver',
    },
    pre_tool: {
      accepts: z.nullable(z.union([z.strictObject({ deny: text }), z.strictObject({ args })])),
      words: "null, an object with deny, or an object with args",
    },
    post_tool: {
      accepts: z.nullable(
        z.union([text, z.strictObject({ content: maybe(text), status: maybe(z.enum(["ok", "error"])) })]),
      ),
      words: "null, a string, or an object with content and status",
    },
  };
});

/** Turns canonical messages, which a payload holds as JSON, into the form of requests. */
function publicForm(messages: Json): Json[] {
  return asJson(fromJson<Message[]>(messages).flatMap(messageJson));
}

const lastOf = (messages: Json, count: number): Json =>
  Array.isArray(messages) ? messages.slice(-count) : [];

/** The text of the newest message with this role that has text; `null`: none has. */
function latestText(messages: Json, role: "user" | "assistant" | "tool"): string | null {
  const list = Array.isArray(messages) ? messages : [];
  const texts = list.map((message) =>
    objectOf(message).role === role ? textIn(objectOf(message).content) : "",
  );
  return texts.findLast((text) => text !== "") ?? null;
}

/** The text of a message's content: a string, or the texts among its parts. */
function textIn(content: Json | undefined): string {
  if (typeof content === "string") return content;
  const parts = Array.isArray(content) ? content.map(objectOf) : [];
  return parts.flatMap(({ text }) => (typeof text === "string" ? [text] : [])).join("\n");
}
