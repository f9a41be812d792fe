/** Secrets that `hull dev` makes for itself. */
import { randomBytes } from "node:crypto";

/**
 * An `X` followed by 256 random bits in Base64url. A redacted stream holds back an end with which a secret, plain or in
 * Base64, may begin. Text rarely ends in an `X`, or in the `W` of its Base64, so text is seldom delayed.
 */
export const randomSecret = (): string => `X${randomBytes(32).toString("base64url")}`;
