/**
 * The MCP revision of a message. Clients up to 2025-11-25 begin with `initialize` and name their version in a header.
 * From 2026-07-28 on, each request names its version, and there is no `initialize`. Hull keeps no state of sessions for either.
 * Pure.
 */

import { base64OrNull, utf8OrNull } from "../../bytes.ts";
import { isObject, objectOf } from "../../skill/json.ts";
import type { JsonObject } from "../../skill/manifest.ts";
import { LEGACY_VERSIONS, META, MODERN_VERSIONS, VERSIONS } from "../../tool/mcp/versions.ts";
import { FAULT_CODES, type Fault, type RpcRequest } from "./message.ts";

/** The version of a client that names none: the last one without the header. */
const UNNAMED = "2025-03-26";
/** The only revision with batches. */
export const BATCH_VERSION = "2025-03-26";

export const SERVER_INFO_KEY = `${META}/serverInfo`;
export const SUBSCRIPTION_KEY = `${META}/subscriptionId`;

export interface ProtocolVersion {
  version: string;
  /** Whether each request names its version, and each result its type. */
  modern: boolean;
}

const refused = (code: number, message: string, data?: JsonObject): { fault: Fault } => ({
  fault: { code, message, status: 400, ...(data === undefined ? {} : { data }) },
});

const unsupported = (requested: string): { fault: Fault } =>
  refused(FAULT_CODES.unsupportedVersion, "Unsupported protocol version", {
    supported: [...VERSIONS],
    requested,
  });

const mismatch = (message: string): { fault: Fault } =>
  refused(FAULT_CODES.headerMismatch, `Header mismatch: ${message}`);

/** The version of messages whose body names none: notifications, responses, batches, and older requests. */
export function versionFromHeader(headers: Headers): ProtocolVersion | { fault: Fault } {
  const sent = headers.get("mcp-protocol-version");
  if (sent === null) return { version: UNNAMED, modern: false };
  if (!VERSIONS.includes(sent)) return unsupported(sent);
  return { version: sent, modern: MODERN_VERSIONS.some((version) => version === sent) };
}

/** The version of a request; a modern request's headers must agree with its body. */
export function negotiateVersion(request: RpcRequest, headers: Headers): ProtocolVersion | { fault: Fault } {
  const meta = objectOf(request.params._meta);
  const claimed = meta[`${META}/protocolVersion`];
  const header = headers.get("mcp-protocol-version");
  if (typeof claimed !== "string") {
    // An older client names its version in the parameters of `initialize`.
    if (request.method === "initialize") return { version: LEGACY_VERSIONS[0], modern: false };
    const protocol = versionFromHeader(headers);
    if ("fault" in protocol || !protocol.modern) return protocol;
    return refused(FAULT_CODES.invalidParams, `params._meta lacks ${META}/protocolVersion.`);
  }
  if (header === null) return mismatch("the header MCP-Protocol-Version is missing");
  if (header !== claimed) {
    return mismatch(`MCP-Protocol-Version is "${header}", but the request says "${claimed}"`);
  }
  if (!MODERN_VERSIONS.some((version) => version === claimed)) return unsupported(claimed);
  const disagreement = headerFault(request, headers);
  if (disagreement !== null) return mismatch(disagreement);
  if (!isObject(meta[`${META}/clientCapabilities`])) {
    return refused(FAULT_CODES.invalidParams, `params._meta lacks ${META}/clientCapabilities.`);
  }
  return { version: claimed, modern: true };
}

/** The source of `Mcp-Name`, by method. */
const NAMED = new Map([
  ["tools/call", "name"],
  ["prompts/get", "name"],
  ["resources/read", "uri"],
]);

function headerFault({ method, params }: RpcRequest, headers: Headers): string | null {
  const sent = headers.get("mcp-method");
  if (sent !== method) return `Mcp-Method is ${quoted(sent)}, but the request calls "${method}"`;
  const field = NAMED.get(method);
  const name = field === undefined ? undefined : params[field];
  // A request without a name is refused for that reason elsewhere.
  if (typeof name !== "string") return null;
  const header = headers.get("mcp-name");
  if (header !== null && decodedHeader(header) === name) return null;
  return `Mcp-Name is ${quoted(header)}, but the request names "${name}"`;
}

const quoted = (text: string | null): string => (text === null ? "missing" : `"${text}"`);

/** A header's value, decoded from Base64 of UTF-8 if it is encoded; `null` if it is malformed. */
function decodedHeader(value: string): string | null {
  const encoded = /^=\?base64\?(.*)\?=$/.exec(value)?.[1];
  if (encoded === undefined) return value;
  const bytes = base64OrNull(encoded);
  return bytes === null ? null : utf8OrNull(bytes);
}
