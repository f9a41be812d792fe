/** Passes `hull.toml` to the Worker and the runner, in the same way for `hull dev` and `hull deploy`. */
import { servingSettings } from "../src/skill/serving-settings.ts";
import type { HullConfig } from "./config.ts";
import type { Project } from "./project.ts";

/**
 * The part for the Worker, as the text of its variable `HULL_CONFIG` (`src/env.ts`).
 * @param local how `hull dev` can be reached: whether only by loopback, and by which names and addresses in addition to
 *   those of loopback
 */
export function servingConfig(
  { config, dir }: Project,
  local: { loopback: boolean; hosts: readonly string[] },
): string {
  const { name, rate_limit, runner, host_delegate, daemons } = config;
  const shared = servingSettings();
  // JSON has no undefined members.
  return JSON.stringify({
    ...Object.fromEntries(Object.entries(config).filter(([key]) => key in shared)),
    name: name ?? (dir.split("/").at(-1) || "hull"),
    allowed_hosts: [...config.allowed_hosts, ...local.hosts],
    rate_limit,
    host: host_delegate,
    ...daemons,
    grace_ms: runner.grace_ms,
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
