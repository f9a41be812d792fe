// `npm run docs` writes this file from src/client.
/** How the client and the command line repeat a request whose outcome is unknown. */
/** How often at most. */
export declare const RETRIES = 4;
/** Wait before attempt `attempt + 1` in ms: doubled each time, and different for each client. */
export declare function waitBefore(attempt: number): number;
/**
 * The header of a call that may arrive twice and count once. A page that is not served over HTTPS has no
 * `crypto.randomUUID`.
 * @param key of the caller's choice; `false`: the call has none
 */
export declare function idempotent(key?: string | false): Record<string, string>;
