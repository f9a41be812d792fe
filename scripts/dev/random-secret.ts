/** Secrets that `hull dev` makes for itself. */
import { randomBytes } from "node:crypto";

/**
 * 256 random bits in Base64url behind an `X`. A redacted stream holds back a tail that a secret, plain or in Base64, may
 * begin with: an `X` here and the `W` of its Base64 are letters that text rarely ends in, so that it is seldom delayed.
 */
export const randomSecret = (): string => `X${randomBytes(32).toString("base64url")}`;
