/**
 * Replaces wrangler where a test would need an account (`HULL_WRANGLER`). It records its calls, keeps the content of an
 * account in `FAKE_DIR`, and lets the real wrangler execute on local state the calls that are meant for remote state. It
 * sends a deploy to `FAKE_CLOUD`, which returns the address. `FAKE_FAIL`: calls that begin with this text fail.
 */
import { spawnSync } from "node:child_process";
import { appendFileSync, existsSync, readFileSync, writeFileSync } from "node:fs";
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
function real(...rest: string[]): void {
  // No test reads the state of an account whose deployment fails.
  if (FAKE_FAIL !== "") return void (call.startsWith("kv key list") && say([]));
  const local = args.flatMap((arg) => {
    if (arg === "--remote") return ["--local", "--persist-to", join(FAKE_DIR, "state", "worker")];
    return arg === "kv-id-1" ? ["SKILLS"] : [arg];
  });
  const named = local.map((arg) => (arg === "--binding" ? "--namespace-id" : arg));
  const { status } = spawnSync(process.execPath, [WRANGLER, ...named, ...rest], {
    stdio: "inherit",
    env: { ...process.env, WRANGLER_SEND_METRICS: "false", CI: "1" },
  });
  if (status !== 0) process.exit(status ?? 1);
}

if (FAKE_FAIL !== "" && call.startsWith(FAKE_FAIL)) refuse("A request to the Cloudflare API failed.");
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
  ["kv key list", real],
  ["kv bulk put", real],
  ["d1 info", found("d1", args[2], 7404)],
  ["d1 create", made("d1", args[2])],
  // Further deployments have no further migration.
  ["d1 migrations apply", () => has("worker") || real()],
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

function whoami(): void {
  const accounts = Array.from({ length: Number(FAKE_ACCOUNTS) }, (_, i) => ({ name: `A${i}`, id: `id${i}` }));
  say({ loggedIn: accounts.length > 0, accounts });
  if (accounts.length === 0) process.exit(1);
}

async function deploy(): Promise<void> {
  const config = readFileSync(args[args.indexOf("--config") + 1] ?? "", "utf8");
  const answer = await fetch(FAKE_CLOUD, { method: "POST", body: config });
  if (!answer.ok) refuse(await answer.text());
  writeFileSync(mark("worker"), "");
  const entry = { type: "deploy", targets: [await answer.text(), "example.com/* (zone name: example.com)"] };
  appendFileSync(process.env.WRANGLER_OUTPUT_FILE_PATH ?? "", `${JSON.stringify(entry)}\n`);
}
