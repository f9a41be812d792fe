/** The rate of calls to a provider: a sliding minute per tenant, in which callers wait. */
import { FAILURES } from "../errors/failure-class.ts";
import { ProviderRateLimited } from "../errors/provider.ts";
import type { WaitLimits } from "../model/clock.ts";
import type { RunContext } from "./context.ts";
import { askTenant } from "./ledger.ts";

/** The rates of the model registry. */
export type RpmOf = (provider: string) => number | null;

/**
 * The calls per minute that this deployment configures: `HULL_RATE_LIMIT_<PROVIDER>`, else the provider's own `rpm`.
 */
export function configuredRpm({ settings }: RunContext, provider: string, rpmOf: RpmOf): number | null {
  const variable = `HULL_RATE_LIMIT_${provider.toUpperCase().replaceAll("-", "_")}`;
  const text = settings.read(variable)?.trim() ?? "";
  if (text === "") return rpmOf(provider);
  return Number(text) === 0 ? null : Number(text);
}

/**
 * Waits until one more call to the provider may begin, and counts it.
 * @throws ProviderRateLimited immediately if that is later than `until`; the signal's reason
 */
export async function waitForTurn(
  context: RunContext,
  provider: string,
  rpm: number | null,
  { clock, signal, until }: WaitLimits,
): Promise<void> {
  for (;;) {
    const wait = await askTenant(context, (ledger) => ledger.takeTurn(provider, rpm));
    if (wait === 0) return;
    if (clock.now() + wait > until) {
      throw new ProviderRateLimited({
        provider,
        failure: FAILURES.rate_limit,
        retry_after_ms: wait,
        retry_after_s: Math.ceil(wait / 1000),
        late: true,
      });
    }
    await clock.sleep(wait, signal);
  }
}
