/** `hull deploy`: Worker, container, migrations and skills to Cloudflare, switched together. */
import { isAbsolute, join, resolve } from "node:path";
import { parseEnv } from "node:util";
import { counted } from "../../src/plural.ts";
import { SERVER_FLAGS } from "../admin-client.ts";
import type { BuildResult } from "../build/build.ts";
import { BuildCache } from "../build/cache.ts";
import { printDiagnostics } from "../build/print.ts";
import { CommandError, defineCommand, EXIT, SWITCH, VALUE } from "../command.ts";
import { buildToDeploy } from "../deploy/build-to-deploy.ts";
import { type Deployed, type Deployment, deploy, dryRun } from "../deploy/deploy.ts";
import { waitUntilLive } from "../deploy/wait-until-live.ts";
import { readWorkerConfig, type WorkerConfig, withDomain, withWorker } from "../deploy/worker-config.ts";
import { warnOfNewName, workerName } from "../deploy/worker-name.ts";
import { Wrangler } from "../deploy/wrangler.ts";
import { REPO_DIR } from "../dev/paths.ts";
import { inVariables, modelVariables, projectModelRegistry } from "../models.ts";
import { imageOf } from "../needs/skills.ts";
import { buildOptionsOf, openProject, type Project } from "../project.ts";
import { keptLines } from "../publish/last-published.ts";
import { readIfThere } from "../read-if-there.ts";
import { runnerFlags, servingConfig } from "../serving-config.ts";
import { checkReadable, namedBy, unreadableInKv, variablesWithoutEffect } from "../worker-variables.ts";

export const command = defineCommand({
  name: "deploy",
  summary: "Deploy Worker, container, migrations and skills to Cloudflare",
  usage: `
Usage: hull deploy [dir] [options]

  --dry-run            build everything, show the steps, change nothing; needs no network
  --worker NAME        name of the Worker, its database and bucket (default: name of hull.toml; the first deploy asks for it)
  --config FILE        a wrangler.toml to use instead of Hull's own, e.g. with routes
  --secrets-file FILE  secrets to set with the code, as NAME=value lines
  --no-containers      leave the runner's container as it is; needs no Docker
  --keep-going         keep the deployed version of broken skills, marked as stale, instead of deploying nothing; without
                       one leave them out
  --url URL            with --keep-going, where the deployment answers now (default: domain of hull.toml, else $HULL_URL)
  --key KEY            with --keep-going, its API key (default: $HULL_API_KEY, then $HULL_ADMIN_KEY)

Makes what the account lacks, migrates the database, stores the skills, and deploys a Worker that is pinned to them, with
the settings of hull.toml. If a step fails, the previous deployment keeps serving; run the same command again to continue.
`,
  flags: {
    "dry-run": SWITCH,
    worker: VALUE,
    config: VALUE,
    "secrets-file": VALUE,
    "no-containers": SWITCH,
    "keep-going": SWITCH,
    ...SERVER_FLAGS,
  },
  words: 1,
  need: { url: "keep-going", key: "keep-going" },
  async run({ values, positionals }) {
    const project = await openProject(positionals[0]);
    const worker = await workerName(project, values);
    const { domain } = project.config;
    const config = withDomain(
      await readWorkerConfig(values.config ?? join(REPO_DIR, "wrangler.toml"), worker),
      domain,
    );
    if (values.worker === undefined) await warnOfNewName(project.dir, config.name);
    const keepGoing = values["keep-going"] === true;
    const cache = await BuildCache.open(project.dir);
    const { models } = project;
    const options = { ...buildOptionsOf(project), keepGoing, cache };
    const result = await buildToDeploy(project, options, values);
    printDiagnostics(result.diagnostics);
    const { catalog, skills } = result;
    if (catalog === null) {
      process.stderr.write("Nothing was deployed: the skills above have errors.\n");
      return EXIT.failed;
    }
    process.stderr.write(keptLines(skills));
    config.vars = {
      ...config.vars,
      ...Object.fromEntries(modelVariables(result.packages, models)),
      ...Object.fromEntries(
        inVariables("HULL_CONFIG", JSON.parse(servingConfig(project, { loopback: false, hosts: [] }))),
      ),
      HULL_RUNNER_FLAGS: runnerFlags(project.config.runner).join(" "),
      HULL_CATALOG: catalog.id,
    };
    config.containers = config.containers.map((container) =>
      isAbsolute(container.image)
        ? { ...container, image_vars: { HULL_IMAGE: imageOf(project), ...container.image_vars } }
        : container,
    );
    const secrets = values["secrets-file"];
    const variables = await checkedVariables(config, secrets);
    warnOfVariables(variables, project, result);
    warnOfBinding(project.config.host_delegate?.binding, config);
    const deployment: Deployment = {
      projectDir: project.dir,
      config: await withWorker(project.dir, config),
      publication: { skills, catalog },
      containers: values["no-containers"] !== true,
      secretsFile: secrets === undefined ? undefined : resolve(secrets),
    };
    const wrangler = new Wrangler(project.dir, (line) => process.stderr.write(`$ ${line}\n`));
    const what = `${config.name} with ${counted(skills.length, "skill")}, catalog ${catalog.id.slice(0, 12)}`;
    if (values["dry-run"] === true) {
      const steps = await dryRun(wrangler, deployment);
      process.stdout.write(`\nWould deploy ${what}:\n${steps.map((step) => `  ${step}\n`).join("")}`);
      return EXIT.ok;
    }
    const deployed = await deploy(wrangler, deployment);
    await cache.save();
    process.stdout.write(`\nDeployed ${what} (${counted(deployed.sent, "object")} sent).\n`);
    return report(deployed, config.name, catalog.id, variables);
  },
});

/** The variables and secrets that the Worker gets now. @throws CommandError (exit 2) for one that it could not read */
async function checkedVariables(
  { vars }: WorkerConfig,
  secretsFile: string | undefined,
): Promise<Map<string, string>> {
  const text = secretsFile === undefined ? null : await readIfThere(secretsFile);
  const secrets = text === null ? {} : parseEnv(text.toString("utf8"));
  const variables = new Map(
    Object.entries({ ...vars, ...secrets }).flatMap(([name, value]) =>
      typeof value === "string" ? [[name, value] as const] : [],
    ),
  );
  checkReadable(variables);
  return variables;
}

function warnOfVariables(
  variables: ReadonlyMap<string, string>,
  { models, config }: Project,
  { packages }: BuildResult,
): void {
  const registry = projectModelRegistry(models, packages);
  for (const line of variablesWithoutEffect(variables, registry, namedBy(config)))
    process.stderr.write(`warning: ${line}.\n`);
}

/** Warns if the settings name a binding that the Worker does not have under any key of its configuration. */
function warnOfBinding(binding: string | undefined, config: WorkerConfig): void {
  if (binding === undefined || JSON.stringify(config).includes(JSON.stringify(binding))) return;
  process.stderr.write(
    `warning: host_delegate.binding names ${binding}, which the Worker does not have. Add it under [[services]] of a copy of Hull's wrangler.toml, and deploy with --config.\n`,
  );
}

/** The result of the deployment, and the remaining steps. */
async function report(
  { urls, keyed, secretKeyMissing }: Deployed,
  worker: string,
  catalog: string,
  variables: ReadonlyMap<string, string>,
): Promise<number> {
  if (!keyed) {
    process.stderr.write(
      "The secret HULL_ADMIN_KEY is not set. Without any key Hull refuses everything but health checks. Set it with:\n" +
        '  export HULL_ADMIN_KEY="$(openssl rand -hex 32)"\n' +
        `  printf %s "$HULL_ADMIN_KEY" | npx wrangler secret put HULL_ADMIN_KEY --name ${worker}\n`,
    );
  }
  if (secretKeyMissing) {
    process.stderr.write(
      "Skills have secret parameters, which cannot be stored because the secret HULL_SECRET_KEY is not set. Set it with:\n" +
        `  openssl rand -hex 32 | npx wrangler secret put HULL_SECRET_KEY --name ${worker}\n`,
    );
  }
  if (urls.length === 0) {
    process.stderr.write("wrangler names no address: give the Worker a route, or workers_dev = true.\n");
    return EXIT.ok;
  }
  const live = await waitUntilLive(urls, catalog);
  if ("url" in live) {
    process.stdout.write(`It answers at ${live.url}\n`);
    const unreadable = await unreadableInKv(live.url, variables);
    if (unreadable !== null) process.stderr.write(`warning: ${unreadable}\n`);
    return EXIT.ok;
  }
  throw new CommandError(
    EXIT.unreachable,
    "not_live",
    `The deployment does not serve its catalog yet. Last answer of ${live.said}`,
    "A new address can take some minutes. `npx wrangler tail` shows what the Worker logs.",
  );
}
