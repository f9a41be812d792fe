/** A local Hull: runner, Worker and published skills together, as `hull dev` and `hull call` need it. */
import { keyVariablesOf } from "../../src/model/catalogue/layer.ts";
import { MIN_SECRET_LENGTH, Redactor, tooShortToRedact } from "../../src/redact.ts";
import { SECRET_VARIABLES } from "../../src/secrets.ts";
import { type BuildResult, buildRoots } from "../build/build.ts";
import type { BuildCache } from "../build/cache.ts";
import type { BuiltSkill } from "../build/skill.ts";
import { CommandError, EXIT } from "../command.ts";
import { loadEnvironment } from "../dotenv.ts";
import { modelVariables } from "../models.ts";
import type { Project } from "../project.ts";
import { RegistryClient } from "../publish/registry-client.ts";
import { servingConfig } from "../serving-config.ts";
import { startFront } from "./front.ts";
import { type ModelStandIns, startStandIns } from "./models.ts";
import { freePort, LOOPBACK, originOf, REPO_DIR } from "./places.ts";
import { type LocalRunner, startRunner } from "./runner.ts";
import { secretKey } from "./secret-key.ts";
import { lockState } from "./state-lock.ts";
import { workerVariables } from "./variables.ts";
import { watchRoots } from "./watch.ts";
import { startWorker } from "./worker.ts";

interface ServerOptions {
  project: Project;
  cache: BuildCache;
  host: string;
  /** 0: any free port. */
  port: number;
  stateDir: string;
  direct: boolean;
  /** Listen in front of the Worker, so that clients who leave early are noticed. */
  front: boolean;
  watch: boolean;
  /** What stands in the providers' place. */
  models?: ModelStandIns;
  /** Told of every build that is served, the first one included. */
  onBuild: (result: BuildResult, first: boolean) => void;
  onLine: (line: string, from: "worker" | "runner" | "hull") => void;
}

export interface LocalServer {
  url: string;
  /** The key that the server wants, where one is configured. */
  adminKey: string | undefined;
  skills: readonly BuiltSkill[];
  runnerPid: () => number | undefined;
  stop: () => Promise<void>;
}

/** Builds, starts everything and publishes. What was started is stopped again when a later step fails. */
export async function startServer(options: ServerOptions): Promise<LocalServer> {
  const { project, stateDir, host } = options;
  const port = await freePort(host, options.port);
  const builder = new Builder(project, options.cache);
  const first = await builder.build();
  const files = await loadEnvironment(project.dir, {});
  const stops: (() => Promise<void> | void)[] = [];
  const stop = async (): Promise<void> => {
    for (const end of stops.splice(0).reverse()) await end();
  };
  stops.push(await lockState(stateDir));
  try {
    const layers = [project.models.file, first.packages, project.models.root];
    const models = modelVariables(first.packages, project.models);
    const variables = workerVariables(
      files,
      process.env,
      first.skills.map((skill) => skill.manifest),
      layers,
      Object.values(project.config.mcp?.servers ?? {}),
      project.config.daemons?.webhook_secrets,
    );
    for (const name of tooShortToRedact(variables.keys(), (each) => variables.get(each))) {
      const why = `${name} has fewer than ${MIN_SECRET_LENGTH} characters: it is not removed from outputs and logs.`;
      options.onLine(`warning: ${why} If it is a secret, use a longer one.`, "hull");
    }
    // wrangler prints each request's URL itself, whatever the client put there.
    const secrets = [...SECRET_VARIABLES, ...layers.flatMap(keyVariablesOf)];
    const redactor = new Redactor(secrets.flatMap((name) => variables.get(name) ?? []));
    const onModelLine = (line: string): void => options.onLine(redactor.text(line), "hull");
    stops.push(
      await startStandIns(options.models ?? {}, { variables, layers, redactor, onLine: onModelLine }),
    );
    if (!variables.has("HULL_SECRET_KEY")) variables.set("HULL_SECRET_KEY", await secretKey(stateDir));
    redactor.learn([variables.get("HULL_SECRET_KEY") ?? ""]);
    const runner = await runnerOf(options, variables);
    stops.push(runner.stop);
    redactor.learn([runner.secret]);
    for (const [name, value] of models) variables.set(name, value);
    variables
      .set("HULL_ENV", "local")
      .set("HULL_CONFIG", servingConfig(project, LOOPBACK.has(host)))
      .set("HULL_RUNNER_URL", runner.url)
      .set("HULL_RUNNER_SECRET", runner.secret);
    const worker = await startWorker({
      repoDir: REPO_DIR,
      stateDir,
      host: options.front ? "127.0.0.1" : host,
      port: options.front ? await freePort("127.0.0.1", 0) : port,
      direct: options.direct,
      variables,
      onLine: (line) => options.onLine(redactor.text(line), "worker"),
    });
    stops.push(worker.stop);
    const adminKey = variables.get("HULL_ADMIN_KEY");
    const registry = new RegistryClient(worker.url, adminKey);
    await registry.publish(first);
    await options.cache.save();
    stops.push(() => options.cache.save());
    let url = worker.url;
    if (options.front) {
      stops.push(await startFront({ host, port, worker: worker.url, runner }));
      url = originOf(host, port);
    }
    options.onBuild(first, true);
    if (options.watch) {
      stops.push(
        await watchRoots(project.roots, async () => {
          try {
            const result = await builder.build();
            if (!builder.changed) return;
            await registry.publish(result);
            options.onBuild(result, false);
            if (!sameModels(models, modelVariables(result.packages, project.models))) {
              options.onLine(
                "The models of a skill folder's hull.toml changed; restart to use them.",
                "hull",
              );
            }
          } catch (error) {
            options.onLine(error instanceof Error ? error.message : String(error), "hull");
          }
        }),
      );
    }
    return { url, adminKey, skills: first.skills, runnerPid: runner.pid, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

function sameModels(before: ReadonlyMap<string, string>, now: ReadonlyMap<string, string>): boolean {
  return JSON.stringify([...before]) === JSON.stringify([...now]);
}

/** Builds again and again; what breaks keeps its last good version. */
class Builder {
  readonly #project: Project;
  readonly #cache: BuildCache;
  #lastGood = new Map<string, BuiltSkill>();
  #lastSeen = "";
  /** Whether the last build differs from the one before, in what is served or in what is wrong. */
  changed = true;

  constructor(project: Project, cache: BuildCache) {
    this.#project = project;
    this.#cache = cache;
  }

  async build(): Promise<BuildResult> {
    const result = await buildRoots(this.#project.roots, {
      projectDir: this.#project.dir,
      models: this.#project.models,
      signatures: this.#project.config.signatures,
      cache: this.#cache,
      previous: this.#lastGood,
      keepLastGood: true,
    });
    this.#lastGood = new Map(result.skills.map((skill) => [skill.folder, skill]));
    const seen = JSON.stringify([result.catalog?.id, result.diagnostics, result.packages]);
    this.changed = seen !== this.#lastSeen;
    this.#lastSeen = seen;
    return result;
  }
}

/** A runner that hull.toml names, or one of our own. */
async function runnerOf(
  { project, stateDir, onLine }: ServerOptions,
  variables: ReadonlyMap<string, string>,
): Promise<LocalRunner> {
  const config = project.config.runner;
  if (config.url === null) {
    return startRunner({ repoDir: REPO_DIR, stateDir, config, onLine: (line) => onLine(line, "runner") });
  }
  const secret = variables.get("HULL_RUNNER_SECRET");
  if (secret === undefined) {
    throw new CommandError(
      EXIT.usage,
      "runner_secret_missing",
      `hull.toml names the runner ${config.url}, and HULL_RUNNER_SECRET is not set.`,
      "Set HULL_RUNNER_SECRET in .env to the secret that the runner was started with.",
    );
  }
  return { url: config.url, secret, pid: () => undefined, stop: async () => {} };
}
