/** Shortens conversations outside of runs. */
import {
  compactionDue,
  headedSummary,
  instructionsFor,
  joinedSummary,
  modelSummary,
  ownSummary,
  SUMMARY,
  shortenOutput,
  tokensIn,
} from "../../engine/agent/compaction.ts";
import { archivedSpan, type Span, spanBeforeLast } from "../../engine/agent/compaction-cut.ts";
import type { CompactionOptions } from "../../engine/agent/spec.ts";
import { InvalidRequest } from "../../errors/llm.ts";
import { asJson, objectOf } from "../../skill/json.ts";
import { type PublicMessage, resultText } from "../messages.ts";
import type { IdSource, Transcript } from "../transcript.ts";
import { seenAlone } from "../transcript-history.ts";
import { noted, withAsset } from "./lifecycle.ts";
import { archivedIn, type Measured, measured, rewritten, rewrittenTranscript } from "./public-history.ts";

/** Asks a model for a summary. */
export type Summarise = (instructions: string) => Promise<string>;

const SOURCE = "compaction_source_transcript";

const size = (items: readonly Measured[]): number =>
  items.reduce((sum, { characters }) => sum + characters, 0);
const itemsOf = (items: readonly Measured[]) => items.map(({ item }) => item);

interface SummarizeOptions {
  keep_last: number;
  /** Replaces Hull's own request; the conversation follows it. */
  prompt?: string | undefined;
}

/** A model's summary of the whole conversation, followed by its last messages. @throws InvalidRequest */
export async function summarized(
  given: Transcript,
  { keep_last, prompt }: SummarizeOptions,
  summarise: Summarise,
  ids: IdSource,
): Promise<Transcript> {
  const transcript = seenAlone(given);
  const { messages } = transcript;
  const items = measured(messages);
  const lines = items.flatMap((message) => message.lines);
  if (lines.length === 0) {
    throw new InvalidRequest({
      option: "transcript",
      detail: "The transcript has no messages to summarise.",
    });
  }
  const known = transcript.summary;
  const inside = lines.some(({ role }) => role === SUMMARY);
  const earlier = known === undefined || inside ? [] : [{ role: SUMMARY, text: known }];
  const summary = await summarise(instructionsFor([...earlier, ...lines], lines.length, prompt));
  const span = spanBeforeLast(itemsOf(items), keep_last);
  const count = archivedIn(messages, messages, span).length;
  const shortened =
    count === 0 ? transcript : rewrittenTranscript(transcript, span, modelSummary(summary, count), ids);
  return { ...shortened, summary, archived_messages: count };
}

interface CompactOptions {
  keep_first: number;
  keep_last: number;
  strategy: CompactionOptions["strategy"];
  /** Keeps fewer than `keep_last` messages if those would exceed this number of tokens. */
  target_tokens?: number | undefined;
  /** Replaces the strategy's summary. */
  summary?: string | undefined;
}

/** The transcript after a compaction; its earlier form becomes an asset. @throws InvalidRequest */
export async function compactedTranscript(
  given: Transcript,
  options: CompactOptions,
  summarise: Summarise,
  ids: IdSource,
): Promise<Transcript> {
  const { strategy, keep_first, keep_last, summary } = options;
  refuseCustom(strategy, "strategy");
  const transcript = seenAlone(given);
  const { messages } = transcript;
  const items = measured(messages);
  const span = wantedSpan(items, options);
  if (span === null && summary === undefined) return given;
  const archived = archivedIn(messages, items, span ?? { start: 0, end: 0 });
  const text = summary ?? (await summaryOf(archived, strategy, summarise));
  const shown = headedSummary(text, archived.length);
  const changed = span === null ? transcript : rewrittenTranscript(transcript, span, shown, ids);
  const before = size(items);
  const after = span === null ? before : before - size(archived) + shown.length;
  const metadata = {
    mode: "manual",
    strategy,
    engine_strategy: strategy,
    archived_messages: archived.length,
    estimated_tokens_before: tokensIn(before),
    estimated_tokens_after: tokensIn(after),
    keep_first,
    keep_last,
  };
  const done = { ...changed, summary: joinedSummary(transcript.summary, text) };
  return noted(withSource(done, given, ids), "compaction", metadata, ids);
}

/** Adds the original as an asset. It contains no earlier originals, since these already are assets of the transcript. */
function withSource(changed: Transcript, source: Transcript, ids: IdSource): Transcript {
  const assets = source.assets.filter((asset) => objectOf(asset).kind !== SOURCE);
  const data = asJson({ ...source, assets });
  const asset = {
    kind: SOURCE,
    title: "The transcript before its compaction",
    mime_type: "application/json",
    visibility: "private" as const,
    data,
  };
  return withAsset(changed, asset, ids);
}

function wantedSpan(measures: readonly Measured[], options: CompactOptions): Span | null {
  const { keep_first, target_tokens } = options;
  const items = itemsOf(measures);
  const spanFor = (keep_last: number): Span | null => archivedSpan(items, { keep_first, keep_last });
  const most = Math.min(options.keep_last, items.length);
  if (target_tokens === undefined) return spanFor(most);
  const staying = (span: Span | null): number =>
    tokensIn(size(measures) - (span === null ? 0 : size(measures.slice(span.start, span.end))));
  /** The most messages that fit, and the least number known not to fit. */
  let [fits, least] = [0, most];
  while (fits < least) {
    const keep = Math.ceil((fits + least) / 2);
    if (staying(spanFor(keep)) <= target_tokens) fits = keep;
    else least = keep - 1;
  }
  return spanFor(fits);
}

async function summaryOf(
  archived: readonly Measured[],
  strategy: CompactionOptions["strategy"],
  summarise: Summarise,
): Promise<string> {
  const lines = archived.flatMap((message) => message.lines);
  const own = ownSummary(strategy, lines, archived.length);
  if (own !== null) return own;
  return modelSummary(await summarise(instructionsFor(lines, archived.length)), archived.length);
}

/** Hooks belong to skills, and no skill is running here. */
function refuseCustom(strategy: CompactionOptions["strategy"], option: string): void {
  if (strategy !== "custom") return;
  const summary = option === "strategy" ? "give a summary, or " : "";
  const detail = `${option} "custom" works in runs only, where there are hooks; ${summary}use observation_mask, llm or truncate.`;
  throw new InvalidRequest({ option, detail });
}

/**
 * The messages as a run would continue with them: if a compaction is due, it shortens long results of tools, and
 * archives what is still too much.
 * @param window tokens of the model's context; `null`: unknown
 */
export async function autoCompacted(
  messages: readonly PublicMessage[],
  options: CompactionOptions,
  window: number | null,
  summarise: Summarise,
): Promise<readonly PublicMessage[]> {
  refuseCustom(options.strategy, "compact_strategy");
  const dueFor = (items: readonly Measured[]) =>
    compactionDue(tokensIn(size(items)), options, window, "preflight");
  if (dueFor(measured(messages)) === null) return messages;
  const shortened = messages.map((message) => withShortResults(message, options.tool_output_max_chars));
  const items = measured(shortened);
  const due = dueFor(items);
  const span = due === null ? null : archivedSpan(itemsOf(items), options);
  if (due === null || span === null) return shortened;
  const archived = archivedIn(shortened, items, span);
  // The compaction at the hard limit must work even without a model.
  const summary = await summaryOf(archived, due.strategy, summarise).catch((error: unknown) => {
    if (due.mode !== "hard_limit") throw error;
    return summaryOf(archived, "truncate", summarise);
  });
  return rewritten(shortened, span, headedSummary(summary, archived.length));
}

function withShortResults(message: PublicMessage, limit: number): PublicMessage {
  if (message.role === "tool") {
    const text = resultText(message.content ?? null);
    return text.length <= limit ? message : { ...message, content: shortenOutput(text, limit) };
  }
  if (message.role !== "user" || !Array.isArray(message.content)) return message;
  const content = message.content.map((part) => {
    if (part.type !== "tool_result") return part;
    const text = resultText(part.content ?? null);
    return text.length <= limit ? part : { ...part, content: shortenOutput(text, limit) };
  });
  return { ...message, content };
}
