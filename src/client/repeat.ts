/** How the client and the command line repeat a request whose outcome is unknown. */

/** How often at most. */
export const RETRIES = 4;
/** Wait before the first repetition in ms, doubled each time up to the longest. */
const FIRST_WAIT_MS = 250;
const LONGEST_WAIT_MS = 8000;

/** Wait before attempt `attempt + 1` in ms: doubled each time, and different for each client. */
export function waitBefore(attempt: number): number {
  return Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** attempt) * (0.5 + Math.random() / 2);
}

/**
 * The header of a call that may arrive twice and count once. A page that is not served over HTTPS has no
 * `crypto.randomUUID`.
 * @param key of the caller's choice; `false`: the call has none
 */
export function idempotent(key?: string | false): Record<string, string> {
  if (key === false) return {};
  const random = (): string =>
    Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join(
      "",
    );
  return { "idempotency-key": key ?? random() };
}
