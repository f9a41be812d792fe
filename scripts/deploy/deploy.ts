/**
 * Deploys Worker, container, migrations and skills to Cloudflare. It stores the objects of the catalog before the code
 * that is pinned to the catalog, so that no request finds one without the other, not even on the first deployment. The
 * previous version keeps serving its own catalog until it is replaced.
 */
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as z from "zod";
import { CommandError, EXIT } from "../command.ts";
import { objectNames, type Publication } from "../publish/objects.ts";
import { checkLogin, jsonOf, type Namespace, openNamespace, openStores } from "./account.ts";
import { uploadObjects } from "./upload.ts";
import { type WorkerConfig, writeWorkerConfig } from "./worker-config.ts";
import { commandLine, type Wrangler } from "./wrangler.ts";

export interface Deployment {
  projectDir: string;
  config: WorkerConfig;
  publication: Publication;
  containers: boolean;
  /** Secrets to set together with the code. */
  secretsFile: string | undefined;
}

export interface Deployed {
  /** Objects that were missing and have been stored. */
  sent: number;
  /** The Worker's addresses, as far as wrangler reports them. */
  urls: string[];
  /** Whether requests can be authenticated, or need not be. */
  keyed: boolean;
  /** Whether skills have secret parameters, although no key exists to seal them. */
  secretKeyMissing: boolean;
}

const CODE = {
  what: "wrangler could not deploy the Worker; the skills are stored, and the previous deployment keeps serving",
  hint: "wrangler says why above. Without Docker: --no-containers. Then run `hull deploy` again.",
};

/** Deploys. @throws CommandError with the failed step and what to do next; the earlier version stays in service */
export async function deploy(wrangler: Wrangler, deployment: Deployment): Promise<Deployed> {
  const { config, projectDir, publication } = deployment;
  await checkLogin(wrangler, config);
  let file = await writeWorkerConfig(projectDir, config);
  const namespace = await openNamespace(wrangler, config, file);
  checkKept(publication, namespace);
  await openStores(wrangler, config, file);
  file = await writeWorkerConfig(projectDir, config);
  await wrangler.ask(migrationArgs(config, file), {
    what: "wrangler could not migrate the database; nothing else has changed",
    hint: "Cloudflare rolls a failed migration back: fix the cause, then run `hull deploy` again.",
  });
  const sent = await uploadObjects(wrangler, publication, { namespace, config, file });
  const dir = await mkdtemp(join(tmpdir(), "hull-deploy-"));
  const report = join(dir, "report");
  try {
    await wrangler.run(deployArgs(deployment, file), CODE, { WRANGLER_OUTPUT_FILE_PATH: report });
    const urls = urlsOf(await readFile(report, "utf8").catch(() => ""));
    const open = isOpen(config);
    const wanted = wantsSecrets(publication);
    const secrets = open && !wanted ? null : await secretNames(wrangler, file);
    const has = (name: string): boolean => secrets === null || secrets.includes(name);
    const keyed = open || has("HULL_ADMIN_KEY");
    return { sent, urls, keyed, secretKeyMissing: wanted && !has("HULL_SECRET_KEY") };
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}

/** Tries everything that needs no account and no network; returns the calls that a real deployment would make. */
export async function dryRun(wrangler: Wrangler, deployment: Deployment): Promise<string[]> {
  const { config, projectDir, publication } = deployment;
  const file = await writeWorkerConfig(projectDir, config);
  const dir = await mkdtemp(join(tmpdir(), "hull-deploy-"));
  try {
    const dry = { ...deployment, containers: false, secretsFile: undefined };
    const purpose = { what: "The Worker cannot be built", hint: "wrangler says why above." };
    const args = [...deployArgs(dry, file), "--dry-run", "--outdir", dir];
    await wrangler.run(args, purpose, { WRANGLER_SEND_METRICS: "false" });
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
  const [{ database_name }] = config.d1_databases;
  const [{ bucket_name }] = config.r2_buckets;
  return [
    `make, where they are missing: KV ${config.name}-skills, D1 ${database_name}, R2 ${bucket_name}`,
    commandLine(migrationArgs(config, file)),
    `store the missing ones of ${objectNames(publication).size} objects: wrangler kv bulk put`,
    commandLine(deployArgs(deployment, file)),
  ];
}

function migrationArgs({ d1_databases: [{ database_name }] }: WorkerConfig, file: string): string[] {
  return ["d1", "migrations", "apply", database_name, "--remote", "--config", file];
}

function deployArgs({ containers, secretsFile }: Deployment, file: string): string[] {
  return [
    "deploy",
    "--config",
    file,
    ...(containers ? [] : ["--containers-rollout=none"]),
    ...(secretsFile === undefined ? [] : ["--secrets-file", secretsFile]),
  ];
}

const deployEntry = z.object({ type: z.literal("deploy"), targets: z.array(z.string()) });

/** The addresses in wrangler's report, one JSON object per line; of routes only whole domains. */
function urlsOf(report: string): string[] {
  return report
    .split("\n")
    .filter(Boolean)
    .flatMap((line) => deployEntry.safeParse(JSON.parse(line)).data?.targets ?? [])
    .flatMap((target) => {
      const domain = /^(\S+) \(custom domain/.exec(target)?.[1];
      const url = domain === undefined ? target : `https://${domain}`;
      return /^https?:/.test(url) && URL.canParse(url) ? [new URL(url).origin] : [];
    });
}

const secretList = z.array(z.object({ name: z.string() }));

/** Names of the Worker's secrets; `null` if they cannot be read; the first call will show. */
async function secretNames(wrangler: Wrangler, file: string): Promise<string[] | null> {
  const { code, stdout } = await wrangler.try(["secret", "list", "--format", "json", "--config", file]);
  const secrets = code === 0 ? secretList.safeParse(jsonOf(stdout)) : null;
  return secrets?.success ? secrets.data.map(({ name }) => name) : null;
}

function isOpen({ vars }: WorkerConfig): boolean {
  // A long value is in several variables, one after the other.
  const config = Object.entries(vars).map(([name, value]) => (name.startsWith("HULL_CONFIG") ? value : ""));
  return vars.HULL_PUBLIC === "1" || config.join("").includes('"auth":"none"');
}

/** Whether a tool of any skill has a secret parameter. */
const wantsSecrets = ({ skills }: Publication): boolean =>
  skills.some(({ tools }) => tools.some(({ config }) => config.some(({ type }) => type === "secret")));

/** @throws CommandError if the store lacks a deployed version that a skill keeps, so that another Hull must have named it */
function checkKept({ skills }: Publication, { keys }: Namespace): void {
  const lost = skills.find(({ card, digest }) => card.stale === true && !keys.has(`skill:${digest}`));
  if (lost === undefined) return;
  throw new CommandError(
    EXIT.failed,
    "kept_version_missing",
    `The kept version of ${lost.card.slug} is not in the store of this deployment: another Hull serves it.`,
    "Name the address of this deployment with --url, or repair the skill's folder.",
  );
}
