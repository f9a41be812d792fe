/**
 * Replaces wrangler where a test would need an account (`HULL_WRANGLER`). It records its calls, keeps the content of an
 * account in `FAKE_DIR`, and lets the real wrangler execute on local state the calls that are meant for remote state. It
 * sends a deploy to `FAKE_CLOUD`, which returns the address. `FAKE_FAIL`: calls that begin with this text fail.
 */
import { spawnSync } from "node:child_process";
import { appendFileSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { WRANGLER } from "../../scripts/dev/paths.ts";

const { FAKE_DIR = "", FAKE_CLOUD = "", FAKE_FAIL = "", FAKE_ACCOUNTS = "1" } = process.env;
const args = process.argv.slice(2);
const call = args.join(" ");
appendFileSync(join(FAKE_DIR, "calls"), `${call}\n`);

const say = (value: unknown): void => void process.stdout.write(`${JSON.stringify(value)}\n`);
const mark = (name: string): string => join(FAKE_DIR, `has-${name}`);
const has = (name: string): boolean => existsSync(mark(name));

function refuse(text: string): never {
  process.stderr.write(`✘ [ERROR] ${text}\n`);
  process.exit(1);
}

/** The same call on local state, where a namespace has the name SKILLS instead of its remote binding or id. */
function real(config?: string): void {
  // No test reads the state of an account whose deployment fails.
  if (FAKE_FAIL !== "") return;
  const local = args.flatMap((arg) => {
    if (arg === "--remote") return ["--local", "--persist-to", join(FAKE_DIR, "state", "worker")];
    return arg === "kv-id-1" ? ["SKILLS"] : [arg];
  });
  const named = local.map((arg) => (arg === "--binding" ? "--namespace-id" : arg));
  if (config !== undefined) named[named.indexOf("--config") + 1] = config;
  const { status } = spawnSync(process.execPath, [WRANGLER, ...named], {
    stdio: "inherit",
    env: { ...process.env, WRANGLER_SEND_METRICS: "false", CI: "1" },
  });
  if (status !== 0) process.exit(status ?? 1);
}

if (FAKE_FAIL !== "" && call.startsWith(FAKE_FAIL)) refuse("A request to the Cloudflare API failed.");
const readConfig = (): string => readFileSync(args[args.indexOf("--config") + 1] ?? "", "utf8");

/** A resource that exists once it was made; its name is the word after the command. */
const made = (kind: string, name = ""): (() => void) => {
  return () => writeFileSync(mark(`${kind}-${name}`), "");
};
const found = (kind: string, name: string | undefined, code: number): (() => void) => {
  return () => has(`${kind}-${name}`) || refuse(`It does not exist. [code: ${code}]`);
};

const commands: [string, () => void | Promise<void>][] = [
  ["whoami", whoami],
  [
    "kv namespace list",
    () => say(has("kv") ? [{ id: "kv-id-1", title: readFileSync(mark("kv"), "utf8") }] : []),
  ],
  ["kv namespace create", () => writeFileSync(mark("kv"), args[3] ?? "")],
  [
    "kv key list --binding",
    () => (has("worker") ? real() : refuse("This Worker does not exist [code: 10007]")),
  ],
  // Before the first deployment there are none.
  ["kv key list", () => (has("worker") ? real() : say([]))],
  ["kv bulk put", real],
  ["d1 info", found("d1", args[2], 7404)],
  ["d1 create", made("d1", args[2])],
  // Further deployments have no further migration.
  ["d1 migrations apply", () => has("worker") || migrate()],
  ["r2 bucket info", found("r2", args[3], 10006)],
  ["r2 bucket create", made("r2", args[3])],
  ["r2 object put", object],
  ["deploy", deploy],
  ["secret list", () => say(has("key") ? [{ name: "HULL_ADMIN_KEY", type: "secret_text" }] : [])],
];
const [, carryOut] = commands.find(([name]) => call.startsWith(name)) ?? [];
await (carryOut ?? (() => refuse(`Unknown arguments: ${call}`)))();

/** An object stored under a digest never changes, so the real wrangler stores it only once. */
function object(): void {
  const name = `object-${args[3]?.split(":").at(-1)}`;
  if (has(name)) return;
  real();
  writeFileSync(mark(name), "");
}

/** The real wrangler starts a workerd for each migration: it gets all of them in one file. */
function migrate(): void {
  const config: { d1_databases: { migrations_dir: string }[] } = JSON.parse(readConfig());
  const own = join(FAKE_DIR, "migrations");
  mkdirSync(own, { recursive: true });
  const texts = config.d1_databases.flatMap(({ migrations_dir: dir }) =>
    readdirSync(dir)
      .toSorted()
      .map((name) => readFileSync(join(dir, name), "utf8")),
  );
  writeFileSync(join(own, "0001_all.sql"), texts.join("\n"));
  const databases = config.d1_databases.map((database) => ({ ...database, migrations_dir: own }));
  const file = join(FAKE_DIR, "migrating.json");
  writeFileSync(file, JSON.stringify({ ...config, d1_databases: databases }));
  real(file);
}

function whoami(): void {
  const accounts = Array.from({ length: Number(FAKE_ACCOUNTS) }, (_, i) => ({ name: `A${i}`, id: `id${i}` }));
  say({ loggedIn: accounts.length > 0, accounts });
  if (accounts.length === 0) process.exit(1);
}

async function deploy(): Promise<void> {
  const answer = await fetch(FAKE_CLOUD, { method: "POST", body: readConfig() });
  if (!answer.ok) refuse(await answer.text());
  writeFileSync(mark("worker"), "");
  const entry = { type: "deploy", targets: [await answer.text(), "example.com/* (zone name: example.com)"] };
  appendFileSync(process.env.WRANGLER_OUTPUT_FILE_PATH ?? "", `${JSON.stringify(entry)}\n`);
}
