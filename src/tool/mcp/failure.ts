/** Why an MCP server failed: an outcome of the requested tool, never an error for Hull's caller. */

export type FailureKind =
  /** Hull did not ask it, since its address is forbidden. */
  | "refused"
  /** It cannot be reached, or reports that it cannot answer. */
  | "unavailable"
  | "timeout"
  /** Its answer is not MCP, or too long. */
  | "protocol"
  /** It answered with an error of the protocol. */
  | "error";

export interface McpFailure {
  kind: FailureKind;
  /** A sentence that is safe for models and callers. */
  message: string;
  /** HTTP status, if there was an answer. */
  status?: number;
  /** JSON-RPC code of an `error`. */
  code?: number;
  data?: unknown;
  /** The server did nothing, because it does not know the session. */
  forgotten?: true;
  /** The server may have acted on the message, whatever it answered. */
  begun?: "perhaps";
  /** For the operator alone. */
  hint?: string;
}

export type Reply<T> = { ok: true; value: T } | { ok: false; failure: McpFailure };

export const failed = (
  kind: FailureKind,
  message: string,
  more: Omit<McpFailure, "kind" | "message"> = {},
): { ok: false; failure: McpFailure } => ({ ok: false, failure: { kind, message, ...more } });
