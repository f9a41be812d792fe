/** What is known of the MCP servers of hull.toml and of the logins there. */
import type { Deployment } from "../../deployment.ts";
import type { McpServerEntry } from "../../registry/answers.ts";
import { listLogins, type StoredLogin } from "../../registry/mcp-logins.ts";
import { hasOwnLogin } from "./owner.ts";

/** The servers that a tenant may use; `null`: all. */
export async function listedServers(
  { env, settings }: Pick<Deployment, "env" | "settings">,
  tenant: string | null,
): Promise<McpServerEntry[]> {
  const servers = Object.entries(settings.mcp.servers).filter(
    ([, { tenants }]) => tenant === null || tenants === undefined || tenants.includes(tenant),
  );
  if (servers.length === 0) return [];
  const rows = new Map((await listLogins(env)).map((row) => [row.server, row]));
  return servers.map(([name, { url, headers, oauth }]) => {
    const row = rows.get(name);
    const at = row?.url === new URL(url).href ? row : undefined;
    const login = hasOwnLogin(headers)
      ? ("header" as const)
      : oauth?.grant === "client_credentials"
        ? ("client_credentials" as const)
        : at?.sealed == null
          ? ("none" as const)
          : ("stored" as const);
    const { expires_at = null, renewable = false, failure = null, failed_at = null } = at ?? {};
    return {
      name,
      url,
      login,
      needs_login: needsLogin(login, at, oauth !== undefined),
      expires_at,
      renewable,
      failure,
      failed_at,
    };
  });
}

/** @param expected whether hull.toml says that the server wants a login */
function needsLogin(
  login: McpServerEntry["login"],
  row: StoredLogin | undefined,
  expected: boolean,
): boolean {
  if (login === "stored") return row?.lost === true;
  return login === "none" && (expected || row?.failure != null);
}
