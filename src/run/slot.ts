/** `concurrency` of llm and proxy skills, which the ledger counts. The runner counts that of scripts. */
import { ConcurrencyLimited } from "../errors/request.ts";
import { once } from "../memo.ts";
import type { Manifest } from "../skill/manifest.ts";
import type { RunContext } from "./context.ts";
import { askLedger } from "./ledger.ts";

/** If a Worker dies, its slots are free after this many ms at the latest. */
const LEASE_MS = 60_000;
/** A run renews its slot this often, in ms: two renewals may fail before the slot is lost. */
const RENEW_MS = 20_000;

/**
 * Takes a slot of a skill that limits its simultaneous runs. The returned function gives it back, once, in the
 * background. Runs of all tenants count together.
 * @param runId names the slot's holder
 * @param resumed an earlier run attempt began the run: it is not refused, since it may have had effects
 * @throws ConcurrencyLimited
 */
export async function takeSlot(
  context: RunContext,
  { slug, concurrency }: Manifest,
  runId: string,
  resumed = false,
): Promise<() => void> {
  if (concurrency === undefined) return () => {};
  const { env } = context;
  const name = `skill:${slug}`;
  const most = resumed ? Number.MAX_SAFE_INTEGER : concurrency;
  const wait = await askLedger(env, name, (ledger) => ledger.takeSlot(runId, most, LEASE_MS));
  if (wait > 0) throw new ConcurrencyLimited({ skill: slug, limit: concurrency, retry_after_s: wait });
  // The run ignores both failures: a slot that is not renewed or not given back is free when its lease ends.
  const renewal = setInterval(() => {
    askLedger(env, name, (ledger) => ledger.renewSlot(runId, LEASE_MS)).catch(() => {});
  }, RENEW_MS);
  return once(() => {
    clearInterval(renewal);
    context.background(askLedger(env, name, (ledger) => ledger.releaseSlot(runId)).catch(() => {}));
  });
}
