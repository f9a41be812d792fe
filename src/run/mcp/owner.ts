/** Whose MCP servers there are: a skill's, the deployment's by name, those that a request brings along (docs/mcp.md). */
import type { Settings } from "../../env.ts";
import type { McpServer, SkillRecord } from "../../skill/manifest.ts";
import { grantsOf } from "../variables.ts";

export interface ServerOwner {
  /** The skill; `null`: the deployment or the request. */
  skill: string | null;
  servers: readonly McpServer[];
  /** Variables that headers may hold; `null`: any. */
  granted: ReadonlySet<string> | null;
}

/** Those of a skill's manifest. */
export function serversOfSkill(settings: Settings, record: SkillRecord): ServerOwner {
  const { slug, llm } = record.manifest;
  return { skill: slug, servers: llm?.mcp_servers ?? [], granted: grantsOf(settings, record) };
}

/** Those of hull.toml that this tenant may use. */
export function serversOfDeployment({ mcp }: Settings, tenant: string): ServerOwner {
  const servers = Object.entries(mcp.servers).flatMap(([name, { tenants, ...server }]): McpServer[] =>
    tenants === undefined || tenants.includes(tenant) ? [{ name, ...server }] : [],
  );
  return { skill: null, servers, granted: null };
}

/** Those that a request brought along: no variable of the Worker goes to them. */
export function serversOfRequest(servers: readonly McpServer[] = []): ServerOwner {
  return { skill: null, servers, granted: new Set() };
}

/** Those that a skill names in `mcp`, of the owners in their order; and the names that nobody has. */
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
