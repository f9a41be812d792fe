/** How often a caller may call: counted exactly in the ledger, with a shield in front of it. */
import { RateLimited } from "../errors/request.ts";
import { askTenant } from "../run/ledger.ts";
import type { Rate } from "../session/ledger/rate.ts";
import type { RequestContext } from "./context.ts";

/** The limit of the binding SHIELD of wrangler.toml per location, name and period. */
export const SHIELD_LIMIT = { requests: 600, period_s: 60 } as const;

/**
 * Counts this request of the caller, if a rate is configured.
 * @throws RateLimited
 */
export async function checkRate(context: RequestContext): Promise<void> {
  const { settings, caller } = context;
  const { refusals } = context.deployment;
  const rate = settings.rate_limit;
  if (rate === null) return;
  const subject = caller.key_id ?? `anonymous ${clientNetwork(context)}`;
  const name = `${caller.tenant}/${subject}`;
  const refusal = `${rate.requests}/${rate.window_ms} ${name}`;
  const until = refusals.get(refusal) ?? 0;
  const now = Date.now();
  if (until > now) throw new RateLimited({ retry_after_s: seconds(until - now) });
  if (!settings.local && edgeLimitCovers(rate)) await shield(context, name);
  const wait = await askTenant(context, (ledger) => ledger.countRequest(subject, rate));
  if (wait === 0) return;
  refusals.set(refusal, Date.now() + wait);
  throw new RateLimited({ retry_after_s: seconds(wait) });
}

/**
 * Limits the unknown keys that one client network may send, since the lookup of each costs a read of D1.
 * @throws RateLimited
 */
export async function shieldKeyLookup(context: RequestContext): Promise<void> {
  if (!context.settings.local) await shield(context, `key lookup ${clientNetwork(context)}`);
}

/** Whether the shield never refuses a request that the configured rate permits. */
export function edgeLimitCovers({ requests, window_ms }: Rate): boolean {
  const windows = Math.ceil((SHIELD_LIMIT.period_s * 1000) / window_ms);
  return requests * windows <= SHIELD_LIMIT.requests;
}

async function shield({ env }: RequestContext, key: string): Promise<void> {
  const { success } = await env.SHIELD.limit({ key });
  if (!success) throw new RateLimited({ retry_after_s: SHIELD_LIMIT.period_s });
}

const seconds = (ms: number): number => Math.max(1, Math.ceil(ms / 1000));

/**
 * A name for a caller without a key: its IPv4 address, or the /64 network of an IPv6 client. Locally there is none, since
 * any client can send the header there.
 */
function clientNetwork({ settings, request: { headers } }: RequestContext): string {
  const address = settings.local ? "" : (headers.get("cf-connecting-ip") ?? "");
  if (!address.includes(":")) return address;
  const [head = "", tail] = address.split("::");
  const first = head.split(":");
  const rest = tail === undefined || tail === "" ? [] : tail.split(":");
  const zeros = Array<string>(Math.max(0, 8 - first.length - rest.length)).fill("0");
  return [...first, ...(tail === undefined ? [] : zeros), ...rest].slice(0, 4).join(":");
}
