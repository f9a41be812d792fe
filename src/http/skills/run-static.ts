/** Runs a static-file skill: sends one file from the registry. */

import { OutputTooLarge } from "../../errors/run.ts";
import { Internal } from "../../errors.ts";
import { readBytes } from "../../registry/published.ts";
import { DeltaText } from "../../run/delta.ts";
import type { RunHandle, RunOutput } from "../../run/handle.ts";
import { contentDisposition, isActive } from "../../run/output-files.ts";
import type { SkillRecord } from "../../skill/manifest.ts";
import { mediaTypeOf } from "../../skill/media.ts";
import { sliceStream } from "../conditional.ts";
import type { RequestContext } from "../context.ts";
import { answerBytes } from "../representation.ts";

interface ServedFile {
  path: string;
  size: number;
  sha256: string;
  type: string;
}

/**
 * Answers GET, HEAD and POST with the file: whole, a range of it, or 304.
 * @param runHeaders the headers of every run; those of the file win
 * @throws OutputTooLarge
 */
export async function serveStatic(
  context: RequestContext,
  record: SkillRecord,
  runHeaders: Record<string, string>,
): Promise<Response> {
  const file = fileWithin(record);
  const headers = {
    ...runHeaders,
    "content-type": file.type,
    "content-disposition": contentDisposition("inline", file.path),
    "cache-control": "public, max-age=0, must-revalidate",
    ...(isActive(file.type) ? { "content-security-policy": "sandbox allow-scripts" } : {}),
  };
  return answerBytes(context, {
    size: file.size,
    etag: `"${file.sha256}"`,
    headers,
    open: async (range) => {
      const blob = await context.deployment.registry.blob(file);
      if (range === null) return blob;
      if (blob instanceof Uint8Array) return blob.subarray(range.start, range.end);
      return blob.pipeThrough(sliceStream(range));
    },
  });
}

/** The file as events. @throws OutputTooLarge */
export async function streamStatic(run: RunHandle): Promise<RunOutput> {
  const file = fileWithin(run.record);
  const blob = await readBytes(run.context.env, "blob", file.sha256);
  run.started();
  const { eventRedactor } = run.context.settings;
  const deltas = new DeltaText(eventRedactor, (data) => run.emit({ event: "delta", data }));
  for await (const chunk of blob) await deltas.push(chunk);
  await deltas.end();
  return { body: "", headers: {}, done: {} };
}

/** The served file, if the skill's own limit allows its size, even where a client wants a part. */
function fileWithin(record: SkillRecord): ServedFile {
  const file = servedFile(record);
  const { max_output_bytes: limit } = record.manifest;
  if (limit !== undefined && file.size > limit) throw new OutputTooLarge({ limit });
  return file;
}

/** The file that a static skill serves. */
export function servedFile({ manifest, files }: SkillRecord): ServedFile {
  const file = files.find(({ path }) => path === manifest.serve);
  if (file === undefined) throw new Internal({ cause: `the static skill ${manifest.slug} has no file` });
  const { path, size, sha256 } = file;
  return { path, size, sha256, type: manifest.output_mime ?? mediaTypeOf(path) };
}
