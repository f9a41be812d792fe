/** Who owns MCP servers: a skill, the deployment (by name), or a request (docs/mcp.md). */
import type { Settings } from "../../env.ts";
import type { McpProcess, McpServer, SkillRecord } from "../../skill/manifest.ts";
import { toolPrefix } from "../../skill/mcp-servers.ts";
import { allowedTools } from "../../skill/tool-names.ts";
import type { RunContext } from "../context.ts";
import { grantsOf } from "../variables.ts";
import type { OAuthSettings } from "./login.ts";

export interface ServerOwner<Server = McpServer | McpProcess> {
  /** The owning skill; `null`: the deployment or the request. */
  skill: string | null;
  servers: readonly Server[];
  /** The skill, in whose folder its processes start; `null`: the deployment and a request have no processes. */
  record: SkillRecord | null;
  /** Of the deployment's servers, how Hull logs in; `null`: requests to these servers bring only their headers. */
  logins: ReadonlyMap<string, OAuthSettings> | null;
  /** Variables that headers and environments may hold; `null` means any. */
  granted: ReadonlySet<string> | null;
}

/** The servers of a skill's manifest. */
export function serversOfSkill(settings: Settings, record: SkillRecord): ServerOwner {
  const { slug, llm } = record.manifest;
  return {
    skill: slug,
    servers: llm?.mcp_servers ?? [],
    record,
    logins: null,
    granted: grantsOf(settings, record),
  };
}

/** A server of which hull.toml says nothing else: it may have a login. */
export const LOGIN: OAuthSettings = { grant: "authorization_code" };

/** Whether a header of hull.toml says who Hull is. */
export const hasOwnLogin = (headers: { [name: string]: string }): boolean =>
  Object.keys(headers).some((name) => name.toLowerCase() === "authorization");

/** The servers of hull.toml that this tenant may use. */
export function serversOfDeployment({ mcp }: Settings, tenant: string): ServerOwner<McpServer> {
  const entries = Object.entries(mcp.servers).filter(
    ([, { tenants }]) => tenants === undefined || tenants.includes(tenant),
  );
  const servers = entries.map(
    ([name, { tenants: _, oauth: __, ...server }]): McpServer => ({ name, ...server }),
  );
  const logins = new Map(
    entries.flatMap(([name, { headers, oauth = LOGIN }]) =>
      hasOwnLogin(headers) ? [] : [[name, oauth] as const],
    ),
  );
  return { skill: null, servers, record: null, logins, granted: null };
}

/**
 * The servers that a skill uses in addition to its own: those that it names in `mcp`, and those of the deployment whose
 * tools `allowed-tools` or `tool_scope` name, or that its plugin expects.
 */
export function serversUsed(
  { settings, tenant }: Pick<RunContext, "settings" | "tenant">,
  { manifest, plugin }: SkillRecord,
): string[] {
  const { allowed_tools = [], tool_scope = [], activation = {}, llm } = manifest;
  const named = allowedTools([...allowed_tools, ...tool_scope]).map(({ tool }) => prefixOf(tool));
  const wanted = new Set([...named, ...(plugin?.mcp_servers ?? []).map(toolPrefix)]);
  for (const { name } of llm?.mcp_servers ?? []) wanted.delete(toolPrefix(name));
  const deployed = serversOfDeployment(settings, tenant).servers.map(({ name }) => name);
  return [
    ...new Set([...(activation.mcp ?? []), ...deployed.filter((name) => wanted.has(toolPrefix(name)))]),
  ];
}

/** What the name of a server's tool begins with; `""`: it is no such name. */
const prefixOf = (tool: string): string => /^.+?__/.exec(tool)?.[0] ?? "";

/** The servers that a request defines. They get no variable of the Worker. */
export function serversOfRequest(servers: readonly McpServer[] = []): ServerOwner<McpServer> {
  return { skill: null, servers, record: null, logins: null, granted: new Set() };
}

/** The servers that a skill names in `mcp`, from the owners in their order; and the names that no owner has. */
export function namedServers(
  names: readonly string[],
  owners: readonly ServerOwner[],
): { found: ServerOwner[]; unknown: string[] } {
  const owner = (name: string) => owners.find(({ servers }) => servers.some((one) => one.name === name));
  const found = names.flatMap((name): ServerOwner[] => {
    const one = owner(name);
    if (one === undefined) return [];
    return [{ ...one, servers: one.servers.filter((server) => server.name === name) }];
  });
  return { found, unknown: names.filter((name) => owner(name) === undefined) };
}
