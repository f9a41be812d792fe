/** Passes `hull.toml` to the Worker and the runner, in the same way for `hull dev` and `hull deploy`. */
import type { HullConfig } from "./config.ts";
import type { Project } from "./project.ts";

/**
 * The part for the Worker, as the text of its variable `HULL_CONFIG` (`src/env.ts`). Settings whose defaults differ
 * between local and deployed are left out unless the project sets them.
 * @param local how `hull dev` can be reached: whether only by loopback, and by which names and addresses in addition to
 *   those of loopback
 */
export function servingConfig(
  { config, dir }: Project,
  local: { loopback: boolean; hosts: readonly string[] },
): string {
  const { name, auth, rate_limit, public_skills, pass_through, runner } = config;
  // JSON has no undefined members.
  return JSON.stringify({
    name: name ?? (dir.split("/").at(-1) || "hull"),
    cors_origins: config.cors_origins,
    public_skills: public_skills.length === 0 ? undefined : public_skills,
    pass_through: pass_through.length === 0 ? undefined : pass_through,
    allowed_hosts: [...config.allowed_hosts, ...local.hosts],
    allowed_origins: config.allowed_origins,
    auth: auth ?? undefined,
    max_body_bytes: config.max_body_bytes,
    max_output_bytes: config.max_output_bytes,
    limits: config.limits,
    grace_ms: runner.grace_ms,
    hook_timeout_ms: config.hook_timeout_ms,
    rate_limit: rate_limit === "none" ? null : (rate_limit ?? undefined),
    approvals: config.approvals,
    host: config.host_delegate,
    ...config.daemons,
    mcp: config.mcp,
    signatures: config.signatures,
    policy: config.policy,
    skill_catalogue_tokens: config.skill_catalogue_tokens,
    workspace_tools: config.workspace_tools,
    loopback: local.loopback,
  });
}

/** The part for the runner, as flags of `container/main.ts`. */
export function runnerFlags(config: HullConfig["runner"]): string[] {
  const { concurrency, installs, network } = config;
  const flags = {
    queue: config.queue,
    "queue-timeout-ms": config.queue_timeout_ms,
    "grace-ms": config.grace_ms,
    "drain-ms": config.drain_ms,
    "install-ms": config.install_ms,
    network: network === "declared" ? null : network,
    installs: installs === null ? null : installs ? "on" : "off",
    concurrency,
  };
  return Object.entries(flags).flatMap(([name, value]) =>
    value === null ? [] : [`--${name}`, String(value)],
  );
}
