/** Who owns MCP servers: a skill, the deployment (by name), or a request (docs/mcp.md). */
import type { Settings } from "../../env.ts";
import type { McpProcess, McpServer, SkillRecord } from "../../skill/manifest.ts";
import { grantsOf } from "../variables.ts";

export interface ServerOwner<Server = McpServer | McpProcess> {
  /** The owning skill; `null`: the deployment or the request. */
  skill: string | null;
  servers: readonly Server[];
  /** The skill, in whose folder its processes start; `null`: the deployment and a request have no processes. */
  record: SkillRecord | null;
  /** Variables that headers and environments may hold; `null` means any. */
  granted: ReadonlySet<string> | null;
}

/** The servers of a skill's manifest. */
export function serversOfSkill(settings: Settings, record: SkillRecord): ServerOwner {
  const { slug, llm } = record.manifest;
  return { skill: slug, servers: llm?.mcp_servers ?? [], record, granted: grantsOf(settings, record) };
}

/** The servers of hull.toml that this tenant may use. */
export function serversOfDeployment({ mcp }: Settings, tenant: string): ServerOwner<McpServer> {
  const servers = Object.entries(mcp.servers).flatMap(([name, { tenants, ...server }]): McpServer[] =>
    tenants === undefined || tenants.includes(tenant) ? [{ name, ...server }] : [],
  );
  return { skill: null, servers, record: null, granted: null };
}

/** The servers that a request defines. They get no variable of the Worker. */
export function serversOfRequest(servers: readonly McpServer[] = []): ServerOwner<McpServer> {
  return { skill: null, servers, record: null, granted: new Set() };
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
