/** What names and addresses an MCP server may have, and how long a call of it may take. */

/** The form of its name, so that `<server>__<tool>` is a valid tool name. */
const NAME = /^[a-z][a-z0-9]*(?:[-_][a-z0-9]+)*$/;
const MAX_NAME = 32;
export const DEFAULT_MCP_TIMEOUT_MS = 60_000;
export const MAX_MCP_TIMEOUT_MS = 600_000;

/** The fault of a server's name; `null` if it is valid. */
export const serverNameFault = (name: string): string | null =>
  NAME.test(name) && name.length <= MAX_NAME
    ? null
    : `a name is 1 to ${MAX_NAME} of a-z, 0-9, - and _, beginning with a letter`;

/** The address of a server; `null` if no server may have this address. */
export function serverUrl(text: string): URL | null {
  const url = URL.canParse(text) ? new URL(text) : null;
  const fits = url !== null && /^https?:$/.test(url.protocol) && url.username === "" && url.password === "";
  return fits && url.hash === "" && !text.includes("${") ? url : null;
}
