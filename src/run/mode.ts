/** The modes that run a process or a model, by name. */
import { Internal } from "../errors.ts";
import { lazily } from "../lazily.ts";
import type { RunHandle, RunOutput } from "./handle.ts";
import { runScript } from "./script.ts";
import { takeSlot } from "./slot.ts";

/** A deployment that serves only scripts never loads the engine. */
const runServed = lazily(async () => (await import("./served.ts")).runServed);

/** Whether a run of this mode has effects that must not happen twice. */
export function hasEffects(mode: string): boolean {
  return mode === "llm" || mode === "script";
}

/** Runs a skill of mode llm or script. @throws HullError for every failure */
export async function runMode(handle: RunHandle): Promise<RunOutput> {
  const { manifest } = handle.record;
  const { mode } = manifest;
  const { deployment, background } = handle.context;
  const modelRegistry = await deployment.learnSecrets(background);
  if (mode === "llm") {
    const resumed = handle.durable !== null && handle.durable.log.state().run !== null;
    const release = await takeSlot(handle.context, manifest, handle.id, resumed);
    try {
      return await runServed(handle, modelRegistry);
    } finally {
      release();
    }
  }
  if (mode === "script") return runScript(handle);
  throw new Internal({ cause: `mode ${mode} is neither a script nor an llm skill` });
}
