/** The modes that a process or a model carries out, by name. */
import { Internal } from "../errors.ts";
import { catalogueOf, loadCatalogue } from "../model/catalogue/load.ts";
import type { RunHandle, RunOutput } from "./handle.ts";
import { runLlm } from "./llm.ts";
import { runScript } from "./script.ts";
import { takeSlot } from "./slot.ts";

/** Whether a run of this mode does something that must not be done twice. */
export function hasEffects(mode: string): boolean {
  return mode === "llm" || mode === "script";
}

/** Runs a skill of mode llm or script. @throws HullError for everything that fails */
export async function runMode(handle: RunHandle): Promise<RunOutput> {
  const { manifest } = handle.record;
  const { mode } = manifest;
  const { settings, env } = handle.context;
  // Which variables are keys, and withheld from processes, is known only with the provider file.
  const catalogue = catalogueOf(settings) ?? (await loadCatalogue(settings, env));
  if (mode === "llm") {
    const release = await takeSlot(handle.context, manifest, handle.id);
    return runLlm(handle, catalogue).finally(release);
  }
  if (mode === "script") return runScript(handle);
  throw new Internal({ cause: `mode ${mode} is neither a script nor an llm skill` });
}
