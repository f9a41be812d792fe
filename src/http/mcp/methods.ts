/** The methods of Hull's MCP server, by name and revision. */
import { firstOf } from "../../cut.ts";
import type { JsonObject } from "../../skill/manifest.ts";
import { HULL_VERSION, LEGACY_VERSIONS, VERSIONS } from "../../tool/mcp/versions.ts";
import type { Watch } from "../skills/run.ts";
import { callTool } from "./call.ts";
import type { Exchange } from "./exchange.ts";
import { FAULT_CODES, fault, invalidParams, type Outcome } from "./message.ts";
import { getPrompt, listPrompts } from "./prompts.ts";
import { listResources, listTemplates, readResource } from "./resources.ts";
import { getSkillEntry, listSkillEntries, SKILLS_EXTENSION } from "./skills.ts";
import { listTools } from "./tools.ts";
import { SERVER_INFO_KEY } from "./version.ts";

type Method = (exchange: Exchange, params: JsonObject, watch: Watch | null) => Outcome | Promise<Outcome>;

/** The methods of every revision. */
const METHODS = new Map<string, Method>([
  ["tools/list", listTools],
  ["tools/call", callTool],
  ["prompts/list", listPrompts],
  ["prompts/get", getPrompt],
  ["resources/list", listResources],
  ["resources/templates/list", listTemplates],
  ["resources/read", readResource],
  ["skills/list", listSkillEntries],
  ["skills/get", getSkillEntry],
]);
const LEGACY_METHODS = new Map<string, Method>([
  ["initialize", initialize],
  ["ping", () => ({ result: {} })],
]);
const MODERN_METHODS = new Map<string, Method>([
  ["server/discover", discover],
  // Nothing that Hull serves announces changes, so a subscription ends as soon as it is confirmed.
  ["subscriptions/listen", () => ({ result: {} })],
]);

/** How long (ms) a modern client may cache a result. The set of skills differs between tenants. */
const FRESH_MS = 60_000;
/** Their results depend on the arguments, so the protocol lets no client cache them. */
const FOR_ONE_CALL = ["tools/call", "prompts/get"];

/** The method of this name in this revision, if it exists. */
export function methodOf({ protocol }: Pick<Exchange, "protocol">, name: string): Method | null {
  return METHODS.get(name) ?? (protocol.modern ? MODERN_METHODS : LEGACY_METHODS).get(name) ?? null;
}

export const unknownMethod = (name: string): Outcome =>
  fault(FAULT_CODES.methodNotFound, `Method not found: ${firstOf(name, 100)}`, { status: 404 });

/** A result in the form of its revision. */
export function withResultMeta({ context, protocol }: Exchange, method: string, outcome: Outcome): Outcome {
  if ("fault" in outcome || !protocol.modern) return outcome;
  const { _meta = {}, ...result } = outcome.result;
  const meta = { ...(typeof _meta === "object" ? _meta : {}), [SERVER_INFO_KEY]: serverInfo(context) };
  const cacheable = method === "server/discover" || (METHODS.has(method) && !FOR_ONE_CALL.includes(method));
  const caching = cacheable ? { ttlMs: FRESH_MS, cacheScope: "private" } : {};
  return { result: { resultType: "complete", ...result, ...caching, _meta: meta } };
}

const CAPABILITIES: JsonObject = {
  tools: {},
  prompts: {},
  resources: {},
  extensions: { [SKILLS_EXTENSION]: {} },
};

function serverInfo({ settings }: Exchange["context"]): JsonObject {
  return { name: settings.name, title: "Hull", version: HULL_VERSION };
}

const INSTRUCTIONS =
  "Each tool is a skill of this deployment, except that <skill>__<tool> is one of its own tools; ___ follows a namespace. " +
  "Prompts hold the skills' instructions, resources their files.";

function initialize({ context }: Exchange, { protocolVersion }: JsonObject): Outcome {
  if (typeof protocolVersion !== "string") return invalidParams("initialize takes a protocolVersion.");
  const version = LEGACY_VERSIONS.find((known) => known === protocolVersion) ?? LEGACY_VERSIONS[0];
  return {
    result: {
      protocolVersion: version,
      capabilities: CAPABILITIES,
      serverInfo: serverInfo(context),
      instructions: INSTRUCTIONS,
    },
  };
}

function discover(): Outcome {
  return {
    result: { supportedVersions: [...VERSIONS], capabilities: CAPABILITIES, instructions: INSTRUCTIONS },
  };
}
