/** The rate of calls to a provider: a sliding minute per tenant, in which callers wait. */
import type { Settings } from "../env.ts";
import { FAILURES } from "../errors/failure-class.ts";
import { ProviderMisconfigured, ProviderRateLimited } from "../errors/provider.ts";
import { memo } from "../memo.ts";
import type { WaitLimits } from "../model/wait-limits.ts";
import type { RunContext } from "./context.ts";
import { askTenant } from "./ledger.ts";

/** The rates of the model registry. */
export type RpmOf = (provider: string) => number | null;

/** The text of `HULL_RATE_LIMIT_<PROVIDER>`, by provider; `""`: not set. */
const rateTexts = memo((_: Settings) => new Map<string, string>());

/**
 * The calls per minute that this deployment configures: `HULL_RATE_LIMIT_<PROVIDER>`, else the provider's own `rpm`.
 */
export function configuredRpm({ settings }: RunContext, provider: string, rpmOf: RpmOf): number | null {
  const known = rateTexts(settings);
  const found = known.get(provider);
  const text = found ?? settings.read(variableOf(provider))?.trim() ?? "";
  // Providers come from the configuration, so they are few.
  if (found === undefined) known.set(provider, text);
  if (text === "") return rpmOf(provider);
  if (/^\d{1,9}$/.test(text)) return Number(text) === 0 ? null : Number(text);
  const variable = variableOf(provider);
  const reason = `${variable} must be a whole number of calls a minute, or 0 for no limit`;
  throw new ProviderMisconfigured({ provider, variable, reason });
}

const variableOf = (provider: string): string =>
  `HULL_RATE_LIMIT_${provider.toUpperCase().replaceAll("-", "_")}`;

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
      });
    }
    await clock.sleep(wait, signal);
  }
}
