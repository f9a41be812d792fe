/** JSON-RPC 2.0 as MCP uses it (https://modelcontextprotocol.io/specification, "Base Protocol"). Pure. */
import { isObject } from "../../skill/json.ts";
import type { Json, JsonObject } from "../../skill/manifest.ts";

export type RequestId = string | number;

export const FAULT_CODES = {
  parse: -32700,
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
  internal: -32603,
  /** Up to 2025-11-25; from 2026-07-28 on an unknown resource is `invalidParams`. */
  resourceNotFound: -32002,
  headerMismatch: -32020,
  unsupportedVersion: -32022,
} as const;

/** Why a request has no result. */
export interface Fault {
  code: number;
  message: string;
  data?: Json;
  /** HTTP status of the answer, if not 200. */
  status?: number;
}

/** The answer of a method. */
export type Outcome = { result: JsonObject } | { fault: Fault };

export interface RpcRequest {
  kind: "request";
  id: RequestId;
  method: string;
  params: JsonObject;
}

export type Message =
  | RpcRequest
  | { kind: "notification"; method: string; params: JsonObject }
  | { kind: "response" }
  | { kind: "invalid"; id: RequestId | null; reason: string };

/** Whether a value identifies something in every message: a larger integer would lose digits on its way. */
export function isId(value: Json | undefined): value is RequestId {
  return typeof value === "string" || Number.isSafeInteger(value);
}

/** Reads one JSON value as a message. */
export function readMessage(value: Json): Message {
  if (!isObject(value)) return { kind: "invalid", id: null, reason: "A message is a JSON object." };
  const { jsonrpc, method, params = {} } = value;
  const known = isId(value.id) ? value.id : null;
  const invalid = (reason: string): Message => ({ kind: "invalid", id: known, reason });
  if (jsonrpc !== "2.0") return invalid('The member "jsonrpc" must be "2.0".');
  if (method === undefined) {
    const answers = Object.hasOwn(value, "result") || Object.hasOwn(value, "error");
    return answers && Object.hasOwn(value, "id")
      ? { kind: "response" }
      : invalid('The member "method" is missing.');
  }
  if (typeof method !== "string") return invalid('The member "method" must be a string.');
  if (!isObject(params)) return invalid('The member "params" must be an object.');
  if (!Object.hasOwn(value, "id")) return { kind: "notification", method, params };
  if (known === null) return invalid('The member "id" must be a string or an integer of at most 53 bits.');
  return { kind: "request", id: known, method, params };
}

/** The response to a request; `id` is `null` if the request was unreadable. */
export function responseTo(id: RequestId | null, outcome: Outcome): JsonObject {
  if ("result" in outcome) return { jsonrpc: "2.0", id, result: outcome.result };
  const { code, message, data } = outcome.fault;
  return { jsonrpc: "2.0", id, error: { code, message, ...(data === undefined ? {} : { data }) } };
}

export const fault = (code: number, message: string, more: Pick<Fault, "data" | "status"> = {}): Outcome => ({
  fault: { code, message, ...more },
});

export const invalidParams = (message: string): Outcome => fault(FAULT_CODES.invalidParams, message);
