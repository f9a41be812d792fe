/** The wrangler configuration of one deployment: Hull's, with the names and variables of this project. */
import { mkdir } from "node:fs/promises";
import { dirname, join, relative, resolve } from "node:path";
import * as z from "zod";
import { CommandError, EXIT } from "../command.ts";
import { REPO_DIR } from "../dev/paths.ts";
import { workerModules } from "../dev/worker-bundle.ts";
import { ENTRY, writeModules } from "../dev/worker-modules.ts";
import { readIfThere } from "../read-if-there.ts";
import { replaceFile } from "../replace-file.ts";
import { readToml, tomlError } from "../toml-file.ts";

/** Binding of the namespace with the published objects. */
export const SKILLS_BINDING = "SKILLS";

const binding = z.looseObject({ binding: z.string() });
/** The parts of a wrangler.toml that Hull changes; everything else stays. */
const wranglerConfig = z.looseObject({
  name: z.string(),
  main: z.string(),
  account_id: z.string().optional(),
  build: z.looseObject({ cwd: z.string().optional() }).optional(),
  vars: z.record(z.string(), z.json()).default({}),
  kv_namespaces: z.array(binding.extend({ id: z.string().optional() })),
  d1_databases: z.tuple([binding.extend({ database_name: z.string(), migrations_dir: z.string() })]),
  r2_buckets: z.tuple([binding.extend({ bucket_name: z.string() })]),
  containers: z
    .array(
      z.looseObject({
        image: z.string(),
        image_build_context: z.string().optional(),
        image_vars: z.record(z.string(), z.string()).optional(),
      }),
    )
    .default([]),
  assets: z.looseObject({ directory: z.string() }),
});

export type WorkerConfig = z.infer<typeof wranglerConfig>;

const HINT = "Begin with a copy of Hull's own wrangler.toml: the Worker needs all of its bindings.";

/**
 * Reads a wrangler.toml, and makes its paths absolute.
 * @param worker another name than the file's; database and bucket get names derived from it, so that two deployments
 *   share nothing
 * @throws CommandError if the file cannot be read or lacks what Hull needs
 */
export async function readWorkerConfig(path: string, worker: string | undefined): Promise<WorkerConfig> {
  const dir = dirname(resolve(path));
  const bytes = await readIfThere(path);
  if (bytes === null)
    throw new CommandError(EXIT.missing, "config_missing", `There is no file ${resolve(path)}.`);
  const file = readToml(bytes, wranglerConfig);
  // The hint is for a file that lacks what the Worker needs; a syntax error has a place.
  if (!file.ok) throw tomlError(relative(process.cwd(), resolve(path)), file, file.isToml ? HINT : undefined);
  const config = file.data;
  const at = (file: string): string => resolve(dir, file);
  const [database] = config.d1_databases;
  const [bucket] = config.r2_buckets;
  const renamed = worker !== undefined && worker !== config.name;
  return {
    ...config,
    name: worker ?? config.name,
    main: at(config.main),
    ...(config.build === undefined ? {} : { build: { ...config.build, cwd: at(config.build.cwd ?? ".") } }),
    kv_namespaces: renamed ? config.kv_namespaces.map(({ id: _, ...rest }) => rest) : config.kv_namespaces,
    d1_databases: [
      {
        ...database,
        ...(renamed ? { database_name: worker, database_id: undefined } : {}),
        migrations_dir: at(database.migrations_dir),
      },
    ],
    r2_buckets: [{ ...bucket, ...(renamed ? { bucket_name: `${worker}-files` } : {}) }],
    containers: config.containers.map((container) =>
      // Anything but a path refers to an image in a registry.
      /^[./]/.test(container.image)
        ? {
            ...container,
            image: at(container.image),
            image_build_context: at(container.image_build_context ?? dirname(container.image)),
          }
        : container,
    ),
    assets: { ...config.assets, directory: at(config.assets.directory) },
  };
}

/** With a domain the Worker has only that address. @param domain `null`: the file decides */
export function withDomain(config: WorkerConfig, domain: string | null): WorkerConfig {
  if (domain === null) return config;
  return { ...config, routes: [{ pattern: domain, custom_domain: true }], workers_dev: false };
}

/**
 * Bundles Hull's own Worker into the folder of the deployment, so that nothing is written where Hull is installed. If
 * the file names another Worker, wrangler bundles it.
 */
export async function withWorker(projectDir: string, config: WorkerConfig): Promise<WorkerConfig> {
  if (config.main !== join(REPO_DIR, "dist", ENTRY)) return config;
  const dir = join(deploymentDir(projectDir, config), "worker");
  await writeModules(dir, await workerModules());
  const { build: _, ...rest } = config;
  return { ...rest, main: join(dir, ENTRY) };
}

/** Writes the configuration below the project's `.hull` and returns its path. */
export async function writeWorkerConfig(projectDir: string, config: WorkerConfig): Promise<string> {
  const dir = deploymentDir(projectDir, config);
  await mkdir(dir, { recursive: true });
  const path = join(dir, "wrangler.json");
  await replaceFile(path, `${JSON.stringify(config, null, 2)}\n`);
  return path;
}

function deploymentDir(projectDir: string, { name }: WorkerConfig): string {
  return join(projectDir, ".hull", "deploy", name);
}
