/** A local Hull: runner, Worker and published skills together, for `hull dev` and `hull call`. */
import { existsSync } from "node:fs";
import { access, constants } from "node:fs/promises";
import { join } from "node:path";
import { keyVariablesOf } from "../../src/model/registry/layer.ts";
import { counted } from "../../src/plural.ts";
import { MIN_SECRET_LENGTH, Redactor, tooShortToRedact } from "../../src/redact.ts";
import { SECRET_VARIABLES } from "../../src/secrets.ts";
import type { BuildResult } from "../build/build.ts";
import type { BuildCache } from "../build/cache.ts";
import type { BuiltSkill } from "../build/skill.ts";
import { CommandError, EXIT, usageError } from "../command.ts";
import { loadEnvironment } from "../dotenv.ts";
import { modelVariables, projectModelRegistry } from "../models.ts";
import type { Project } from "../project.ts";
import { RegistryClient } from "../publish/registry-client.ts";
import { servingConfig } from "../serving-config.ts";
import { namedBy, unreadableInKv, variablesIn, variablesWithoutEffect } from "../worker-variables.ts";
import { Builder, SkillWatch } from "./builder.ts";
import { startFront } from "./front.ts";
import { freePort, hostNamesOf, LOOPBACK, originOf } from "./local-addresses.ts";
import { type MissingKey, missingKeys, type UnsetVariable, unsetVariables } from "./missing-keys.ts";
import { type ModelStandIns, startStandIns } from "./models.ts";
import { namedRunnerFault } from "./named-runner.ts";
import { REPO_DIR } from "./paths.ts";
import { randomSecret } from "./random-secret.ts";
import { type LocalRunner, startRunner } from "./runner.ts";
import { secretKey } from "./secret-key.ts";
import { serveChanges } from "./serve-changes.ts";
import { readSettings, watchSettings } from "./settings-watch.ts";
import { lockState, noteAddress } from "./state-lock.ts";
import { checkVariables, workerVariables } from "./variables.ts";
import { startWorker } from "./worker.ts";
import { workerFolder } from "./worker-bundle.ts";
import { bindingNames } from "./wrangler-toml.ts";

/** How long the Worker may take to answer one request of a publish, in ms. */
const PUBLISH_ANSWER_MS = 60_000;
/** Time until a publish that failed is repeated, in ms. */
const PUBLISH_AGAIN_MS = 10_000;

interface ServerOptions {
  project: Project;
  cache: BuildCache;
  host: string;
  /** 0 means any free port. */
  port: number;
  stateDir: string;
  direct: boolean;
  /** Listen in front of the Worker, to notice clients that leave early. Otherwise workerd itself listens. */
  front: boolean;
  /** Let callers without a key run things. */
  public: boolean;
  watch: boolean;
  /** Replacements of the providers. */
  models?: ModelStandIns;
  /** Called with what the start does next, for people. Absent: nobody wants to know. */
  onPhase?: (phase: string) => void;
  /** Called for every served build, including the first. */
  onBuild: (result: BuildResult, first: boolean) => void;
  onLine: (line: string, from: "worker" | "runner" | "hull") => void;
}

export interface LocalServer {
  url: string;
  /** The key that the server requires, if one is configured. */
  adminKey: string | undefined;
  skills: readonly BuiltSkill[];
  /** The skills that cannot call their model. */
  missingKeys: readonly MissingKey[];
  unsetVariables: readonly UnsetVariable[];
  runnerPid: () => number | undefined;
  stop: () => Promise<void>;
}

/** wrangler writes the Worker's modules where Hull is installed. @throws CommandError (exit 2) if this user may not */
async function checkInstalled(): Promise<void> {
  // An existing bundle is enough, even if another user built it.
  if (existsSync(join(REPO_DIR, "dist"))) return;
  const writable = await access(REPO_DIR, constants.W_OK).then(
    () => true,
    () => false,
  );
  if (writable) return;
  throw usageError(
    "install_read_only",
    `Hull is installed in ${REPO_DIR}. wrangler must write to this folder, but you have no write permission.`,
    "Add --direct, which needs no wrangler, or install Hull in your project: npm install hullrun",
  );
}

/** The checked settings of a start. */
interface Preparation {
  port: number;
  settings: Awaited<ReturnType<typeof readSettings>>;
  /** Content of `.env` and `.dev.vars`. */
  files: ReadonlyMap<string, string>;
  /** Names of the Worker's bindings. */
  bindings: ReadonlySet<string>;
}

/** The started parts of a server, in the order of their start. */
class Parts {
  readonly #stops: (() => Promise<void> | void)[] = [];

  /** @param stop ends the part */
  add(stop: () => Promise<void> | void): void {
    this.#stops.push(stop);
  }

  /** Stops all, the last one first, also after one of them could not be stopped. @throws what the first of those threw */
  async stop(): Promise<void> {
    const failures: unknown[] = [];
    for (const stop of this.#stops.splice(0).reverse()) {
      try {
        await stop();
      } catch (error) {
        failures.push(error);
      }
    }
    if (failures.length > 0) throw failures[0];
  }
}

/** Builds, starts everything and publishes. If a later step fails, everything started is stopped again. */
export async function startServer(options: ServerOptions): Promise<LocalServer> {
  const prepared = await prepare(options);
  const parts = new Parts();
  try {
    parts.add(await lockState(options.stateDir));
    return await serve(options, prepared, await startParts(options, prepared, parts), parts);
  } catch (error) {
    // Why the start failed says more than why a part of it did not end.
    await parts.stop().catch(() => {});
    throw error;
  }
}

/** Refuses wrong settings that no skill can change before anything starts. @throws CommandError (exit 2) */
async function prepare(options: ServerOptions): Promise<Preparation> {
  const { project, host } = options;
  const port = await freePort(host, options.port);
  const settings = await readSettings(project.dir);
  const files = await loadEnvironment(project.dir, {});
  const bindings = await bindingNames(REPO_DIR);
  const own = workerVariables(files, process.env, [], []);
  if (!LOOPBACK.has(host)) checkReachable(options, own.get("HULL_ADMIN_KEY") || undefined);
  checkVariables(own, files, bindings);
  if (!options.direct) await checkInstalled();
  return { port, settings, files, bindings };
}

/** What has started when the Worker answers. */
interface Running {
  first: BuildResult;
  builder: Builder;
  watch: SkillWatch;
  runner: LocalRunner;
  worker: Awaited<ReturnType<typeof startWorker>>;
  /** The Worker's variables. */
  variables: ReadonlyMap<string, string>;
  /** Those that it would have with these skills. */
  variablesFor: (skills: readonly BuiltSkill[]) => ReadonlyMap<string, string>;
  /** Those of its variables that hold the models. */
  models: ReadonlyMap<string, string>;
}

/** Builds the skills, and starts the runner and the Worker. */
async function startParts(
  options: ServerOptions,
  { port, files, bindings }: Preparation,
  parts: Parts,
): Promise<Running> {
  const { project, stateDir, host, front, onLine } = options;
  // Bundles the Worker and starts the runner while the skills are built.
  const bundle = options.direct || !front ? workerFolder(join(stateDir, "bundle")) : null;
  bundle?.catch(() => {});
  const ownRunner = project.config.runner.url === null ? ownRunnerOf(options) : null;
  ownRunner?.catch(() => {});
  parts.add(async () => (await ownRunner?.catch(() => null))?.stop());
  const builder = new Builder(project, options.cache);
  const first = await builder.build((folders) =>
    options.onPhase?.(`Building ${counted(folders, "skill")} …`),
  );
  options.onPhase?.("Starting the Worker and the runner …");
  const watch = new SkillWatch(options.watch ? project.roots : null, stateDir, first.imported);
  parts.add(() => watch.stop());
  const layers = [project.models.file, ...first.packages, project.models.root];
  const variablesFor = (skills: readonly BuiltSkill[]): Map<string, string> =>
    workerVariables(files, process.env, skills, layers, project.config);
  const variables = variablesFor(first.skills);
  warnOfShortSecrets(variables, onLine);
  const registry = projectModelRegistry(project.models, first.packages);
  for (const line of variablesWithoutEffect(variables, registry, namedBy(project.config)))
    onLine(`warning: ${line}.`, "hull");
  for (const name of variablesIn(project.config))
    if (!variables.has(name)) onLine(`warning: hull.toml names ${name}, which is not set.`, "hull");
  // wrangler itself prints each request's URL, whatever the client put there.
  const secrets = [...SECRET_VARIABLES, ...layers.flatMap(keyVariablesOf)];
  const redactor = new Redactor(secrets.flatMap((name) => variables.get(name) ?? []));
  const onModelLine = (line: string): void => onLine(redactor.text(line), "hull");
  parts.add(await startStandIns(options.models ?? {}, { variables, layers, redactor, onLine: onModelLine }));
  if (!variables.has("HULL_SECRET_KEY")) variables.set("HULL_SECRET_KEY", await secretKey(stateDir));
  const runner = ownRunner === null ? namedRunner(options, variables) : await ownRunner;
  if (ownRunner === null) parts.add(runner.stop);
  const models = modelVariables(first.packages, project.models);
  setLocalVariables(variables, options, runner, models);
  checkVariables(variables, files, bindings);
  const made = ["HULL_SECRET_KEY", "HULL_DEV_KEY"].map((name) => variables.get(name) ?? "");
  redactor.learn([runner.secret, ...made]);
  const worker = await startWorker({
    repoDir: REPO_DIR,
    stateDir,
    host: front ? "127.0.0.1" : host,
    port: front ? await freePort("127.0.0.1", 0) : port,
    bundle: await bundle,
    variables,
    onLine: (line) => onLine(redactor.text(line), "worker"),
    onRestarted: () => watch.again(),
  });
  parts.add(worker.stop);
  return { first, builder, watch, runner, worker, variables, variablesFor, models };
}

/** Publishes the skills, and serves them and their changes. */
async function serve(
  options: ServerOptions,
  { settings }: Preparation,
  { first, builder, watch, runner, worker, variables, variablesFor, models }: Running,
  parts: Parts,
): Promise<LocalServer> {
  const { project, stateDir, host, cache } = options;
  const note = (line: string): void => options.onLine(line, "hull");
  if (!LOOPBACK.has(host)) await checkGuarded(worker.url);
  const adminKey = variables.get("HULL_ADMIN_KEY") || undefined;
  const key = adminKey ?? variables.get("HULL_DEV_KEY");
  const publisher = new RegistryClient(worker.url, key, PUBLISH_ANSWER_MS);
  options.onPhase?.(`Publishing ${counted(first.skills.length, "skill")} …`);
  await publisher.publish(first);
  builder.noteServed();
  const unreadable = await unreadableInKv(worker.url, variables);
  if (unreadable !== null) note(`warning: ${unreadable}`);
  await cache.save();
  parts.add(() => cache.save());
  let url = worker.url;
  if (options.front) {
    // Any free port is chosen here and not before: meanwhile another process could have taken it.
    const front = await startFront({ host, port: options.port, worker: worker.url, runner });
    parts.add(front.stop);
    url = originOf(host, front.port);
  }
  // An address that stands for all addresses cannot be called.
  const callable = url.replace("//0.0.0.0:", "//127.0.0.1:").replace("//[::]:", "//[::1]:");
  parts.add(await noteAddress(stateDir, callable));
  options.onBuild(first, true);
  const onServed = (result: BuildResult): void => {
    options.onBuild(result, false);
    const late = [...variablesFor(result.skills).keys()].filter((name) => !variables.has(name));
    if (late.length > 0) {
      const why = "no skill named it at the start; restart to use it.";
      note(`${late.join(", ")} of the environment: ${why}`);
    }
    if (!sameModels(models, modelVariables(result.packages, project.models)))
      note("The models of a skill folder's hull.toml changed; restart to use them.");
  };
  serveChanges({ watch, builder, publisher, stateDir, againMs: PUBLISH_AGAIN_MS, onServed, onFault: note });
  // Before the Worker ends: that a publish under way then breaks off is no news.
  parts.add(() => watch.stop());
  if (options.watch) parts.add(watchSettings(project.dir, settings, note));
  await watch.begun;
  const answered = options.models?.mocks !== undefined || options.models?.replay !== undefined;
  const registry = projectModelRegistry(project.models, first.packages);
  return {
    url,
    adminKey,
    skills: first.skills,
    missingKeys: answered ? [] : missingKeys(first.skills, registry, variables),
    unsetVariables: unsetVariables(first.skills, variables),
    runnerPid: runner.pid,
    stop: () => parts.stop(),
  };
}

function warnOfShortSecrets(variables: ReadonlyMap<string, string>, onLine: ServerOptions["onLine"]): void {
  for (const name of tooShortToRedact(variables.keys(), (each) => variables.get(each))) {
    const why = `${name} has fewer than ${MIN_SECRET_LENGTH} characters: Hull does not remove it from outputs and logs.`;
    onLine(`warning: ${why} If it is a secret, use a longer one.`, "hull");
  }
}

/**
 * Sets the Worker's variables that do not come from the developer's environment.
 * @param models those of `modelVariables`
 */
function setLocalVariables(
  variables: Map<string, string>,
  { project, host, ...options }: ServerOptions,
  runner: LocalRunner,
  models: ReadonlyMap<string, string>,
): void {
  const loopback = LOOPBACK.has(host);
  for (const [name, value] of models) variables.set(name, value);
  variables
    .set("HULL_ENV", "local")
    .set("HULL_CONFIG", servingConfig(project, { loopback, hosts: hostNamesOf(host) }))
    .set("HULL_RUNNER_URL", runner.url)
    .set("HULL_RUNNER_SECRET", runner.secret)
    .set("HULL_RUNNER_ROOT", runner.root);
  if (options.public) variables.set("HULL_PUBLIC", "1");
  variables.delete("HULL_DEV_KEY");
  const adminKey = variables.get("HULL_ADMIN_KEY") ?? "";
  if (!loopback && adminKey === "") variables.set("HULL_DEV_KEY", randomSecret());
}

function sameModels(before: ReadonlyMap<string, string>, now: ReadonlyMap<string, string>): boolean {
  return JSON.stringify([...before]) === JSON.stringify([...now]);
}

/**
 * If others can reach the address, it is served through the front and with keys; otherwise only if that is requested.
 * @throws CommandError (exit 2)
 */
function checkReachable(options: ServerOptions, adminKey: string | undefined): void {
  const { host, front } = options;
  if (!front) {
    throw usageError(
      "host_needs_front",
      `${host} can be reached from other machines, and --no-front is for this machine alone.`,
      "Leave --no-front out, or listen on 127.0.0.1.",
    );
  }
  if (adminKey !== undefined || options.public) return;
  throw usageError(
    "host_needs_keys",
    `${host} can be reached from other machines, and no API key is configured.`,
    "Set HULL_ADMIN_KEY (16 characters or more), or pass --public to run skills for everybody; publishing still needs the key.",
  );
}

/**
 * Checks that the Worker itself refuses to publish without a key, before others can reach it.
 * @throws CommandError (exit 4)
 */
async function checkGuarded(url: string): Promise<void> {
  const response = await fetch(`${url}/_hull/bundles`);
  await response.body?.cancel();
  if (response.status === 401 || response.status === 503) return;
  throw new CommandError(
    EXIT.unreachable,
    "worker_not_guarded",
    `The Worker answered ${response.status} to a request for its bundles without a key. Nothing is served.`,
    "Check HULL_ADMIN_KEY; without --host, Hull serves only this machine.",
  );
}

async function ownRunnerOf({ project, stateDir, onLine }: ServerOptions): Promise<LocalRunner> {
  const { runner } = project.config;
  return startRunner({
    repoDir: REPO_DIR,
    stateDir,
    config: runner,
    variables: await loadEnvironment(project.dir),
    onLine: (line) => onLine(line, "runner"),
  });
}

/**
 * The runner that hull.toml names. The start does not wait for it: a line says later that it takes no work.
 * @throws CommandError (exit 2) if its secret is unknown
 */
function namedRunner(
  { project, onLine }: ServerOptions,
  variables: ReadonlyMap<string, string>,
): LocalRunner {
  const { url } = project.config.runner;
  const secret = variables.get("HULL_RUNNER_SECRET");
  if (url === null || secret === undefined) {
    throw usageError(
      "runner_secret_missing",
      `hull.toml names the runner ${url}, and HULL_RUNNER_SECRET is not set.`,
      "Set HULL_RUNNER_SECRET in .env to the secret that the runner was started with.",
    );
  }
  const root = variables.get("HULL_RUNNER_ROOT") ?? "/var/lib/hull";
  const question = new AbortController();
  void namedRunnerFault(url, question.signal).then((fault) => {
    if (fault !== null && !question.signal.aborted)
      onLine(`warning: ${fault.message}; scripts and tools fail. ${fault.remedy}`, "hull");
  });
  return { url, secret, root, pid: () => undefined, stop: async () => question.abort() };
}
