/** Signed calls of `POST /daemons/:id/events`, which need no key. */

import { concat, fromHex, sha256, utf8 } from "../../bytes.ts";
import type { Settings } from "../../env.ts";
import { WebhookRefused } from "../../errors/daemon.ts";
import { memberInvalid } from "../../errors/member-invalid.ts";
import { webhookOf } from "../../session/daemon/directory.ts";
import type { Webhook } from "../../session/daemon/rpc.ts";
import { nameMatches } from "../../skill/glob.ts";
import type { RequestContext } from "../context.ts";
import { shieldKeyLookup } from "../rate.ts";

/** A daemon that accepts this call because of its signature. */
export interface SignedCall {
  tenant: string;
  body: Uint8Array;
  /** A name that is the same for a repetition of this call; `null`: repetitions cannot be recognised. */
  name: string | null;
}

/** @throws InputInvalid for a variable that is forbidden or has no value */
export function checkSecret(settings: Settings, { secret_env }: Webhook): void {
  const { providerKeys, read, webhook_secrets } = settings;
  const refused = (message: string): Error => memberInvalid("webhook.secret_env", message, ".");
  if (providerKeys.has(secret_env)) throw refused("names the key of a model provider");
  if (/^H(?:ULL|ARN)_/.test(secret_env)) throw refused("names one of Hull's own variables");
  if (!maySign(settings, secret_env)) {
    const names = webhook_secrets.join(", ") || "none";
    throw refused(
      `names ${secret_env}, which is not among the variables that this deployment lets webhooks use (${names}); \`[daemons] webhook_secrets\` of hull.toml lists them`,
    );
  }
  if (read(secret_env) === undefined)
    throw refused(`names ${secret_env}, which is not set in this deployment`);
}

const maySign = ({ webhook_secrets }: Settings, name: string): boolean =>
  webhook_secrets.some((glob) => nameMatches(glob, name));

/**
 * Checks the signature of a call without a key. `null`: it has no signature for a daemon of this id.
 * @param body reads the body, once
 * @throws WebhookRefused
 */
export async function signedCall(
  context: RequestContext,
  id: string,
  body: () => Promise<Uint8Array<ArrayBuffer>>,
): Promise<SignedCall | null> {
  await shieldKeyLookup(context);
  const hooked = await webhookOf(context.env, id);
  const { headers } = context.request;
  const sent = hooked === null ? null : headers.get(hooked.webhook.header);
  if (hooked === null || sent === null) return null;
  const { webhook, tenant } = hooked;
  const { secret_env, timestamp_header } = webhook;
  if (!maySign(context.settings, secret_env))
    throw new WebhookRefused({ reason: "this deployment no longer lets webhooks use its secret" });
  const secret = context.settings.read(secret_env);
  if (secret === undefined) throw new WebhookRefused({ reason: "its secret is not set here" });
  const time = timestamp_header === null ? null : timeIn(headers.get(timestamp_header), webhook);
  const bytes = await body();
  const signed = time === null ? bytes : concat([new TextEncoder().encode(`${time}.`), bytes]);
  const digits = digitsOf(sent);
  if (digits === null)
    throw new WebhookRefused({ reason: `the header ${webhook.header} has to hold an HMAC-SHA256 in hex` });
  if (!(await verified(secret, digits, signed)))
    throw new WebhookRefused({ reason: "the signature does not match" });
  return { tenant, body: bytes, name: time === null ? null : await sha256(`${id} ${time} ${digits}`) };
}

/** The time in the call. @throws WebhookRefused */
function timeIn(sent: string | null, { timestamp_header, tolerance_s }: Webhook): string {
  if (sent === null || !/^\d{1,12}$/.test(sent)) {
    throw new WebhookRefused({
      reason: `the header ${timestamp_header} has to hold the time in Unix seconds`,
    });
  }
  if (Math.abs(Date.now() / 1000 - Number(sent)) > tolerance_s) {
    throw new WebhookRefused({ reason: `the time in ${timestamp_header} is more than ${tolerance_s} s off` });
  }
  return sent;
}

/** A signature in its canonical form; a prefix `sha256=` is removed. `null`: it is malformed. */
function digitsOf(sent: string): string | null {
  return /^(?:sha256=)?([0-9a-f]{64})$/i.exec(sent)?.[1]?.toLowerCase() ?? null;
}

/** Verifies the signature; the platform compares in constant time. @param digits hex */
async function verified(secret: string, digits: string, signed: Uint8Array<ArrayBuffer>): Promise<boolean> {
  const signature = fromHex(digits);
  const algorithm = { name: "HMAC", hash: "SHA-256" };
  const key = await crypto.subtle.importKey("raw", utf8(secret), algorithm, false, ["verify"]);
  return crypto.subtle.verify("HMAC", key, signature, signed);
}
