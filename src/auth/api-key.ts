/** An API key: `hull_` and 256 random bits, stored only as its SHA-256. */
import * as z from "zod/mini";
import { toBase64Url, utf8 } from "../bytes.ts";

export const SCOPES = ["invoke", "publish", "admin"] as const;
/**
 * `invoke` permits runs; `publish` uploads of skills, and publishing in the operator's tenant; `admin` permits the other
 * two, and manages keys, budgets and metrics.
 */
export type Scope = (typeof SCOPES)[number];

/** The operator's tenant: that of `HULL_ADMIN_KEY`, and of local dev without keys. It alone publishes. */
export const DEFAULT_TENANT = "default";

/** The stored form of a key: its rights, but not the key itself. */
export type ApiKey = z.output<typeof keyRowShape>;
export const keyRowShape = z.lazy(() => {
  return z.object({
    /** `key_<32 hex digits>`; in listings and logs. */
    id: z.string(),
    /** The first characters of the key itself, so that its owner recognises it in a list. */
    prefix: z.string(),
    tenant: z.string(),
    /** Without those that only a later version of Hull knows. */
    scopes: z.pipe(
      z.string(),
      z.transform((text): Scope[] => SCOPES.filter((scope) => text.split(" ").includes(scope))),
    ),
    name: z.nullable(z.string()),
    /** RFC 3339. */
    created_at: z.string(),
    /** RFC 3339, up to an hour too early; `null`: never. */
    last_used_at: z.nullable(z.string()),
  });
});

/** Characters of a key that are stored in the clear; the other 219 bits stay unknown. */
const PREFIX_LENGTH = "hull_".length + 6;

/** A new key, which is shown only once. */
export function makeKey(): string {
  return keyOf(crypto.getRandomValues(new Uint8Array(32)));
}

/** @param bytes 256 random bits, or bits that nobody can distinguish from such */
export const keyOf = (bytes: Uint8Array<ArrayBuffer>): string => `hull_${toBase64Url(bytes)}`;

export function prefixOf(key: string): string {
  return key.slice(0, PREFIX_LENGTH);
}

/** Whether a text has the form of Hull's keys. Any other text is unknown without a lookup in the database. */
export function hasKeyForm(text: string): boolean {
  return /^hull_[A-Za-z0-9_-]{43}$/.test(text);
}

/** SHA-256. A key is random and long, so it needs no salt and no slow hash. */
export function digestOf(key: string): Promise<ArrayBuffer> {
  return crypto.subtle.digest("SHA-256", utf8(key));
}

/** Whether these scopes contain the wanted one; `admin` contains all. */
export function grants(scopes: readonly Scope[], wanted: Scope): boolean {
  return scopes.includes(wanted) || scopes.includes("admin");
}
