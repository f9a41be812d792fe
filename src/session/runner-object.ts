import { Container } from "@cloudflare/containers";
import type { Bindings, RunnerRpc } from "../env.ts";
import { Internal } from "../errors.ts";

const SECRET_KEY = "runner_secret";

/**
 * A container instance that runs subprocesses. The object creates the secret that signs tickets, keeps it in its
 * storage, and delivers it to the container at each start. The container's port is reachable only through this object,
 * and no environment variable ever holds the secret.
 */
export class RunnerObject extends Container<Bindings> implements RunnerRpc {
  override defaultPort = 8080;
  override sleepAfter = "10m";
  override enableInternet = this.env.HULL_RUNNER_EGRESS !== "off";
  override envVars = { HULL_RUNNER_FLAGS: runnerFlags(this.env) };

  async runnerSecret(): Promise<string> {
    const known = await this.ctx.storage.get<string>(SECRET_KEY);
    if (known !== undefined) return known;
    const secret = `${crypto.randomUUID()}${crypto.randomUUID()}`;
    await this.ctx.storage.put(SECRET_KEY, secret);
    return secret;
  }

  override async onStart(): Promise<void> {
    const body = await this.runnerSecret();
    const response = await this.containerFetch("http://runner/v1/secret", { method: "PUT", body });
    if (!response.ok) throw new Internal({ cause: `the runner refused its secret (${response.status})` });
  }
}

/** Without internet access, the container must not try to install packages, whatever the other flags say. */
function runnerFlags({ HULL_RUNNER_FLAGS: flags = "", HULL_RUNNER_EGRESS: egress }: Bindings): string {
  return egress === "off" ? `${flags} --installs off` : flags;
}
