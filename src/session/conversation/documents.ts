/**
 * Documents about a whole session. They are made from its records page by page while they are sent, so they may be
 * larger than the memory. Each covers the records that exist when it begins.
 */
import { type Applied, fold } from "../../engine/agent/apply.ts";
import type { AgentRecord } from "../../engine/agent/records.ts";
import type { AgentState } from "../../engine/agent/state.ts";
import { CallNotFound } from "../../errors/llm.ts";
import { HistoryReader, stateBefore } from "../../llm/history.ts";
import { emptyTranscript, newId, type TranscriptEvent } from "../../llm/transcript.ts";
import { SeenMessages } from "../../llm/transcript-history.ts";
import { renderFull, renderVisible } from "../../llm/transcript-operations/view.ts";
import { RecordedResults, recordedAnswer } from "./recorded-calls.ts";
import type { SessionDocument } from "./rpc.ts";
import type { SessionLog } from "./session-log.ts";
import type { ConversationStore, SessionRow } from "./store.ts";

/** Bytes of records per read, and of the document per write; a larger piece is sent alone. */
const PAGE_BYTES = 256 * 1024;
const PIECE_BYTES = 64 * 1024;

/** Streams a document as UTF-8. The stream breaks off if the session is removed meanwhile. */
export function documentStream(
  log: SessionLog,
  row: SessionRow,
  what: SessionDocument,
): ReadableStream<Uint8Array> {
  const { readable, writable } = new IdentityTransformStream();
  void send(writable.getWriter(), documentOf(log, row, what));
  return readable;
}

/**
 * Sends the pieces, and waits when the reader is slow. All pieces share one buffer, since the runtime frees memory late.
 */
async function send(
  writer: WritableStreamDefaultWriter<Uint8Array>,
  pieces: Iterable<string>,
): Promise<void> {
  const encoder = new TextEncoder();
  const buffer = new Uint8Array(PIECE_BYTES);
  let filled = 0;
  try {
    for (const piece of pieces) {
      for (let rest = piece; rest !== ""; ) {
        const { read, written } = encoder.encodeInto(rest, buffer.subarray(filled));
        rest = rest.slice(read);
        filled += written;
        if (rest === "") continue;
        await writer.write(buffer.subarray(0, filled));
        filled = 0;
      }
    }
    if (filled > 0) await writer.write(buffer.subarray(0, filled));
    await writer.close();
  } catch (error) {
    // The reader left, or the session was removed.
    await writer.abort(error).catch(() => {});
  }
}

function documentOf(log: SessionLog, row: SessionRow, what: SessionDocument): Generator<string> {
  if (what === "cassette") return cassette(log, row);
  if (what === "raw") return transcript(log, row);
  return lines(log, row, what === "visible" ? renderVisible : renderFull);
}

function* transcript(log: SessionLog, row: SessionRow): Generator<string> {
  const until = log.store.lastRecord();
  const { metadata, state } = row;
  const { messages: _, events: __, ...rest } = { ...emptyTranscript(newId()), metadata, state };
  const now = log.state();
  const seen = new SeenMessages(now.visible);
  yield opened(log.answered(rest));
  const said = new HistoryReader(newId, rest);
  yield* list(
    log,
    "messages",
    each(
      conversation(log, row, until, now),
      (applied) => seen.compared(said.read(applied).messages),
      () => said.waiting(now).messages,
    ),
  );
  if (!seen.isWhole()) {
    const all = function* () {
      yield* seen.all();
      yield* said.waiting(now).messages;
    };
    yield* list(log, "visible_messages", all());
  }
  const reader = new HistoryReader(newId, rest);
  yield* list(
    log,
    "events",
    each(
      conversation(log, row, until, now),
      (applied) => reader.read(applied).events,
      () => reader.waiting(now).events,
    ),
  );
  const { summary } = reader.rest;
  if (summary !== undefined) yield `,"summary":${JSON.stringify(log.answered(summary))}`;
  yield "}";
}

function* lines(
  log: SessionLog,
  row: SessionRow,
  render: (events: readonly TranscriptEvent[]) => string,
): Generator<string> {
  const reader = new HistoryReader(newId, emptyTranscript(""));
  let between = "";
  const now = log.state();
  const all = conversation(log, row, log.store.lastRecord(), now);
  const read = (applied: Applied) => [reader.read(applied).events];
  for (const events of each(all, read, () => [reader.waiting(now).events])) {
    const text = render(events);
    if (text === "") continue;
    yield between + String(log.answered(text));
    between = "\n";
  }
}

function* cassette(log: SessionLog, row: SessionRow): Generator<string> {
  const { store } = log;
  const until = store.lastRecord();
  yield opened({ session_id: row.id });
  yield* list(
    log,
    "mocks",
    each(records(store, row, 0, until), (record) => present(recordedAnswer(record))),
  );
  const results = new RecordedResults();
  yield* list(
    log,
    "tool_results",
    each(fold(records(store, row, 0, until)), (applied) => present(results.read(applied))),
  );
  yield "}";
}

const present = <T>(value: T | null): T[] => (value === null ? [] : [value]);

/** A value as JSON without its closing brace, so that members can follow. */
const opened = (value: unknown): string => JSON.stringify(value).slice(0, -1);

function* list(log: SessionLog, name: string, items: Iterable<unknown>): Generator<string> {
  let before = `,${JSON.stringify(name)}:[`;
  let empty = true;
  for (const item of items) {
    yield before + JSON.stringify(log.answered(item));
    before = ",";
    empty = false;
  }
  yield empty ? `${before}]` : "]";
}

/** @param last text that follows the last record */
function* each<R, T>(
  from: Iterable<R>,
  read: (record: R) => readonly T[],
  last: () => readonly T[] = () => [],
): Generator<T> {
  for (const record of from) yield* read(record);
  yield* last();
}

/** The records of a transcript: those after the last reset. @param now the state after record `until` */
function* conversation(log: SessionLog, row: SessionRow, until: number, now: AgentState): Generator<Applied> {
  const reset = lastReset(log.store, until);
  const rows = records(log.store, row, Math.max(0, reset - 1), until);
  const before = stateBefore(now.run?.spec ?? null);
  let begun = reset === 0;
  for (const applied of fold(rows, before)) {
    begun ||= applied.record.type === "session_reset";
    if (begun) yield applied;
  }
}

/**
 * Number, up to `until`, of the last row of records that emptied the conversation; 0: none did. Such a row is always
 * short.
 */
function lastReset(store: ConversationStore, until: number): number {
  const found = store
    .shortRows(until, '"type":"session_reset"')
    .find((seq) => pageAfter(store, seq - 1, seq).records.some(({ type }) => type === "session_reset"));
  return found ?? 0;
}

/**
 * Reads a page of records synchronously; others may write between two pages.
 * @throws CallNotFound if the session has been removed
 */
function* records(
  store: ConversationStore,
  { id, tenant }: SessionRow,
  after: number,
  until: number,
): Generator<AgentRecord> {
  for (let seen = after; seen < until; ) {
    const now = store.session();
    if (now === null || now.id !== id || now.tenant !== tenant || now.state === "deleted") {
      throw new CallNotFound({ what: "session", id });
    }
    const page = pageAfter(store, seen, until);
    yield* page.records;
    seen = page.last;
  }
}

/** The rows after number `after`, up to `until`. Unreadable rows are left out. */
function pageAfter(
  store: ConversationStore,
  after: number,
  until: number,
): { records: AgentRecord[]; last: number } {
  const page: AgentRecord[] = [];
  let bytes = 0;
  for (const row of store.recordRows(after)) {
    if (row.seq > until) break;
    if (row.ok) page.push(...row.value);
    if (row.ok) bytes += row.bytes;
    if (bytes >= PAGE_BYTES) return { records: page, last: row.seq };
  }
  return { records: page, last: until };
}
