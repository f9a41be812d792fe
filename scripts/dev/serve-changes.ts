/** The publishes of watch mode: a build that differs from the served one takes its place, if need be at a later attempt. */
import type { BuildResult } from "../build/build.ts";
import type { RegistryClient } from "../publish/registry-client.ts";
import { reasonOf } from "../system-error.ts";
import type { Builder, SkillWatch } from "./builder.ts";

interface Serving {
  watch: SkillWatch;
  builder: Builder;
  publisher: RegistryClient;
  stateDir: string;
  /** After a publish that failed: time until the next attempt, in ms, if no change comes before. */
  againMs: number;
  onServed: (result: BuildResult) => void;
  /** Called with what went wrong, for people; once for attempts in a row that fail for the same reason. */
  onFault: (line: string) => void;
}

/** Builds and publishes after each change, and again later if the publish fails or gets no answer. */
export function serveChanges({
  watch,
  builder,
  publisher,
  stateDir,
  againMs,
  onServed,
  onFault,
}: Serving): void {
  watch.serve(async () => {
    const result = await builder.build();
    watch.add(result.imported);
    if (!builder.changed) return;
    try {
      // Instead of this catalog alone: an earlier publish without an answer may take effect later than this one.
      await publisher.publish(result, await publisher.served());
    } catch (error) {
      // The Worker ends next.
      if (!watch.isOn) return;
      watch.again(againMs);
      const reason = reasonOf(error).replace(/[^.\]]$/, "$&.");
      const next = `Hull publishes again in ${againMs / 1000} s and at the next change.`;
      const help = `If it keeps failing, check that the disk of ${stateDir} is not full, and restart hull dev.`;
      if (builder.noteFailed(reason)) onFault(`Publishing the last change failed: ${reason} ${next} ${help}`);
      return;
    }
    builder.noteServed();
    onServed(result);
  }, onFault);
}
