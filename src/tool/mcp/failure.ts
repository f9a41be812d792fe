/** Why an MCP server was of no use: an outcome of the tool that it was asked for, never an error of Hull's caller. */

export type FailureKind =
  /** It was not asked: its address may not be. */
  | "refused"
  /** It is not there, or says that it cannot. */
  | "unavailable"
  | "timeout"
  /** What it answers is not MCP, or too much. */
  | "protocol"
  /** It answered with an error of the protocol. */
  | "error";

export interface McpFailure {
  kind: FailureKind;
  /** A sentence that is safe for models and callers. */
  message: string;
  /** HTTP status, where there was an answer. */
  status?: number;
  /** JSON-RPC code of an `error`. */
  code?: number;
  data?: unknown;
  /** For the operator alone. */
  hint?: string;
}

export type Reply<T> = { ok: true; value: T } | { ok: false; failure: McpFailure };

export const failed = (
  kind: FailureKind,
  message: string,
  more: Omit<McpFailure, "kind" | "message"> = {},
): { ok: false; failure: McpFailure } => ({ ok: false, failure: { kind, message, ...more } });
