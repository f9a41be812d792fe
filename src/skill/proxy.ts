/** Readers of the fields of a proxy skill. */
import { readSlots, readTexts, wrongType } from "./fields.ts";
import type { Findings } from "./findings.ts";
import type { ProxySettings } from "./manifest.ts";
import { isReserved, parseTemplate } from "./placeholder.ts";
import { type Slot, stringOf } from "./tree.ts";

const UNCALLABLE = "Every call of this skill will answer 503.";

const HEADER_NAME = /^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/;
/** Connection headers (RFC 9110 §7.6.1), and headers that the request itself sets. */
const FORBIDDEN_HEADERS = new Set([
  "connection",
  "keep-alive",
  "proxy-authenticate",
  "proxy-authorization",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
  "host",
  "content-length",
]);

export function readProxyUrl(findings: Findings, slot: Slot): string | undefined {
  const text = stringOf(slot.node)?.trim();
  const problem = text === undefined ? "it is not a string" : urlProblem(text);
  if (problem === null && text !== undefined) {
    checkVariables(findings, slot, text, UNCALLABLE);
    return text;
  }
  findings.error(
    "proxy_url",
    slot,
    `The field ${slot.path} must be an http or https URL with a host and without user name; \${VAR} may appear in its path and query only. Here ${problem}.`,
    "Write for example https://api.example.com/v1/search.",
  );
  return undefined;
}

function urlProblem(text: string): string | null {
  const parts = /^https?:\/\/([^/?#]*)([^#]*)(.*)$/i.exec(text);
  if (parts === null) return "the scheme is not http:// or https://";
  const [, authority = "", pathAndQuery = "", fragment = ""] = parts;
  if (authority === "") return "the host is missing";
  if (authority.includes("@")) return "it holds a user name";
  if (authority.includes("$")) return "there is a placeholder in the host";
  if (fragment.includes("${")) return "there is a placeholder after #";
  const template = parseTemplate(pathAndQuery);
  if (template.problem !== undefined) return `${template.problem} is not a placeholder such as \${API_KEY}`;
  const filled = template.pieces.map((piece) => ("text" in piece ? piece.text : "x")).join("");
  return URL.canParse(text.slice(0, text.length - pathAndQuery.length - fragment.length) + filled)
    ? null
    : "it cannot be read as a URL";
}

/**
 * Headers by lower-case name, whose values may contain `${VAR}`.
 * @param effect a sentence that says what happens because of a variable that Hull never fills in; absent: the sentence
 * about proxies
 */
export function readHeaders(
  findings: Findings,
  slot: Slot,
  effect: string = UNCALLABLE,
): ProxySettings["headers"] {
  const headers = new Map<string, string>();
  for (const [key, entry] of readSlots(findings, slot) ?? []) {
    const name = key.toLowerCase();
    const problem = headerNameProblem(key);
    if (problem !== null || headers.has(name)) {
      findings.error(
        "header_name",
        entry,
        `The header ${key} is not accepted: ${problem ?? "it is set twice"}.`,
      );
      continue;
    }
    const value = readTemplate(findings, entry, `the header ${key}`, effect);
    if (value === undefined) continue;
    if (/[^\t\x20-\x7e\x80-\u{10ffff}]/u.test(value)) {
      findings.error("header_value", entry, `The value of the header ${key} contains control characters.`);
    } else headers.set(name, value);
  }
  return Object.fromEntries(headers);
}

/** A text that may contain `${VAR}`. @param where it stands @param effect as for `readHeaders` */
export function readTemplate(
  findings: Findings,
  slot: Slot,
  where: string,
  effect: string,
): string | undefined {
  if (slot.node.kind !== "scalar" || typeof slot.node.value !== "string") {
    wrongType(findings, slot, "text", "Put the value in quotes.");
    return undefined;
  }
  const { value } = slot.node;
  const { problem } = parseTemplate(value);
  if (problem === undefined) {
    checkVariables(findings, slot, value, effect);
    return value;
  }
  const message = `${problem} in ${where} is not a placeholder such as \${API_KEY}.`;
  findings.error("placeholder", slot, message, "Write $${ for a literal ${.");
  return undefined;
}

export function readHeaderNames(findings: Findings, slot: Slot): string[] {
  const names = readTexts(findings, slot, "header names", headerNameProblem) ?? [];
  return Array.from(new Set(names.map(({ text }) => text.toLowerCase())));
}

function headerNameProblem(name: string): string | null {
  if (!HEADER_NAME.test(name)) return "it is not a header name";
  return FORBIDDEN_HEADERS.has(name.toLowerCase()) ? "it belongs to the connection, not to the skill" : null;
}

function checkVariables(findings: Findings, slot: Slot, template: string, effect: string): void {
  for (const piece of parseTemplate(template).pieces) {
    if ("variable" in piece && isReserved(piece.variable)) {
      findings.warning(
        "placeholder_reserved",
        slot,
        `Hull never fills in \${${piece.variable}}: names that begin with HULL_ or HUSK_ are its own. ${effect}`,
        "Use a variable with another name.",
      );
    }
  }
}
