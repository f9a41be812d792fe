/** Transcripts that are created, forked and ended. Pure. */
import * as z from "zod/mini";
import { asJson, defined } from "../../skill/json.ts";
import { anyJson } from "../../skill/json-shape.ts";
import type { JsonObject } from "../../skill/manifest.ts";
import { emptyTranscript, extraEvent, type IdSource, type Transcript } from "../transcript.ts";

const maybe = z.exactOptional;

/** The transcript with an event about itself. */
export function noted(
  transcript: Transcript,
  kind: string,
  metadata: Record<string, unknown>,
  ids: IdSource,
): Transcript {
  const event = extraEvent(kind, { role: "system", visibility: "internal", text: "", metadata }, ids);
  return { ...transcript, events: [...transcript.events, event] };
}

/** A new transcript without messages. */
export function begun(metadata: JsonObject | undefined, ids: IdSource): Transcript {
  return { ...emptyTranscript(ids()), ...defined({ metadata }) };
}

/** A new transcript whose event says that it was reset. */
export function reset(metadata: JsonObject | undefined, ids: IdSource): Transcript {
  return noted({ ...begun(metadata, ids), state: "active" }, "transcript_reset", {}, ids);
}

/** A copy under a new id that names its origin. Without its messages it has none of their events. */
export function forked(
  source: Transcript,
  retain: { messages: boolean; summary: boolean },
  ids: IdSource,
): Transcript {
  const { summary, archived_messages, visible_messages, ...rest } = source;
  const copy: Transcript = {
    ...rest,
    id: ids(),
    ...(retain.messages ? defined({ archived_messages, visible_messages }) : { messages: [], events: [] }),
    ...(retain.summary ? defined({ summary }) : {}),
    metadata: { ...source.metadata, parent_id: source.id },
    state: "forked",
  };
  return noted(copy, "transcript_fork", { parent_id: source.id }, ids);
}

const STATES = { archive: "archived", abandon: "abandoned", resume: "active" } as const;

/** The transcript in another state. */
export function moved(transcript: Transcript, to: keyof typeof STATES, ids: IdSource): Transcript {
  return noted({ ...transcript, state: STATES[to] }, `transcript_${to}`, {}, ids);
}

/** An asset as given; missing members are filled in. */
export const assetShape = z.lazy(() =>
  z.strictObject({
    _type: maybe(z.literal("transcript_asset")),
    id: maybe(z.string()),
    kind: maybe(z.string()),
    mime_type: maybe(z.string()),
    title: maybe(z.string()),
    path: maybe(z.string()),
    storage: maybe(z.string()),
    visibility: maybe(z.enum(["public", "private", "internal"])),
    data: maybe(anyJson()),
    metadata: maybe(z.record(z.string(), anyJson())),
  }),
);

/** The transcript with one more asset. */
export function withAsset(
  transcript: Transcript,
  asset: z.infer<typeof assetShape>,
  ids: IdSource,
): Transcript {
  const storage = asset.path !== undefined && asset.data === undefined ? "path" : "inline";
  const filled = asJson({
    id: ids(),
    kind: "blob",
    storage,
    visibility: "internal",
    metadata: {},
    ...asset,
    _type: "transcript_asset",
  });
  return { ...transcript, assets: [...transcript.assets, filled] };
}
