/**
 * The wire protocols of providers. The compiler requires for each its place here, its `Wire` (`call.ts`), what it
 * cannot carry (`fit.ts`), and recorded exchanges (`test/fixtures/wires`).
 */

/** Those of providers that Hull reaches over HTTP. */
export const HTTP_PROTOCOLS = ["anthropic", "openai-chat", "openai-responses", "ollama"] as const;
export type HttpProtocol = (typeof HTTP_PROTOCOLS)[number];

/** Every name of a provider's wire. The last two are inside the Worker: the AI binding, and the mock. */
export const PROTOCOLS = [...HTTP_PROTOCOLS, "workers-ai", "mock"] as const;
export type ProtocolName = (typeof PROTOCOLS)[number];

/** What configuration may say as `api` in place of `openai-<this>`. */
const SHORT_NAMES = ["chat", "responses"] as const;

/** The names of each wire in configuration, the preferred one first. */
export const apiNames = (protocol: ProtocolName): string[] => [
  ...SHORT_NAMES.filter((name) => protocol === `openai-${name}`),
  protocol,
];

/** What configuration may say as `api`. */
export const API_NAMES = [...PROTOCOLS, ...SHORT_NAMES] as const;

/** Paths after a provider's base: of a chat, and of a cheap request that shows whether the key is accepted. */
export const ENDPOINTS: Record<HttpProtocol, { chat: string; health: string }> = {
  anthropic: { chat: "/messages", health: "/models" },
  "openai-chat": { chat: "/chat/completions", health: "/models" },
  "openai-responses": { chat: "/responses", health: "/models" },
  ollama: { chat: "/api/chat", health: "/api/tags" },
};
