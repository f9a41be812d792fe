/**
 * Notes the calls that the Worker itself executes in the index of runs: after they have ended, several together; a long
 * call also while it runs. If the Worker dies before that, the note is lost.
 */
import * as z from "zod/mini";
import { toHullError } from "../../errors.ts";
import type { RunContext } from "../../run/context.ts";
import type { RunHandle, RunOutput } from "../../run/handle.ts";
import { hasEffects } from "../../run/mode.ts";
import { queueRows } from "../../session/index-rows.ts";
import { beginningCall, type RunEntry } from "../../session/run-entry.ts";

/** A call that runs longer than this, in ms, is also noted while it runs. */
const LONG_MS = 1000;

const usageShape = z.lazy(() =>
  z.object({
    usage: z.object({ input_tokens: z.number(), output_tokens: z.number() }),
    cost_usd: z.number(),
  }),
);

/** Runs a call and notes its outcome. A call that neither runs a program nor calls a model is not noted. */
export async function indexedCall(
  { id, record, context }: RunHandle,
  carryOut: () => Promise<RunOutput>,
): Promise<RunOutput> {
  if (!hasEffects(record.manifest.mode)) return carryOut();
  const run = beginningCall(id, record.manifest.slug, Date.now());
  const soon = setTimeout(() => indexRun(context, run), LONG_MS);
  try {
    const output = await carryOut();
    indexRun(context, ended(run, "done", null, context.log));
    return output;
  } catch (error) {
    const { code } = toHullError(error);
    indexRun(
      context,
      ended(run, code === "client_closed_request" ? "cancelled" : "error", code, context.log),
    );
    throw error;
  } finally {
    clearTimeout(soon);
  }
}

function ended(run: RunEntry, state: string, code: string | null, said: unknown): RunEntry {
  const now = Date.now();
  const { data } = usageShape.safeParse(said);
  return {
    ...run,
    state,
    code,
    settled_at: new Date(now).toISOString(),
    duration_ms: now - Date.parse(run.created_at),
    input_tokens: data?.usage.input_tokens ?? 0,
    output_tokens: data?.usage.output_tokens ?? 0,
    cost_usd: data?.cost_usd ?? 0,
  };
}

function indexRun({ deployment, tenant, background }: RunContext, run: RunEntry): void {
  queueRows(deployment, [{ tenant, run }], background);
}
