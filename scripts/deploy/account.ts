/** The account of a deployment, and what must exist before the Worker (docs/deploy.md). */
import * as z from "zod";
import { CommandError, EXIT, usageError } from "../command.ts";
import { SKILLS_BINDING, type WorkerConfig } from "./worker-config.ts";
import type { Purpose, Wrangler } from "./wrangler.ts";

/** The store of a deployment's objects. */
export interface Namespace {
  /** wrangler's flags that name it. */
  flags: readonly string[];
  /** The names of stored objects. */
  keys: ReadonlySet<string>;
}

const LOGIN_HINT = "Log in with `npx wrangler login`, or set CLOUDFLARE_API_TOKEN and CLOUDFLARE_ACCOUNT_ID.";

const whoami = z.object({
  loggedIn: z.boolean(),
  accounts: z.array(z.object({ name: z.string(), id: z.string() })).default([]),
});
const namespaces = z.array(z.object({ id: z.string(), title: z.string() }));
const keyList = z.array(z.object({ name: z.string() }));

/** @throws CommandError if wrangler is not logged in, or cannot decide which account to use */
export async function checkLogin(wrangler: Wrangler, config: WorkerConfig): Promise<void> {
  const { stdout } = await wrangler.try(["whoami", "--json"]);
  const known = whoami.safeParse(jsonOf(stdout));
  if (!known.success || !known.data.loggedIn) {
    throw new CommandError(
      EXIT.unauthorised,
      "not_logged_in",
      "wrangler is not logged in to Cloudflare.",
      LOGIN_HINT,
    );
  }
  const { accounts } = known.data;
  if (accounts.length < 2 || config.account_id !== undefined || process.env.CLOUDFLARE_ACCOUNT_ID) return;
  const list = accounts.map(({ name, id }) => `\n  ${id}  ${name}`).join("");
  throw usageError(
    "account_unclear",
    `The login reaches several accounts:${list}`,
    "Choose one: export CLOUDFLARE_ACCOUNT_ID=…",
  );
}

/**
 * The namespace of published skills: that of the deployed Worker, else one named after it, which is made if missing. In
 * the second case `config` gets its id, so that the first deploy binds it.
 */
export async function openNamespace(
  wrangler: Wrangler,
  config: WorkerConfig,
  file: string,
): Promise<Namespace> {
  const entry = config.kv_namespaces.find((kv) => kv.binding === SKILLS_BINDING);
  const bound = ["--binding", SKILLS_BINDING];
  const listing = (flags: readonly string[]) => ["kv", "key", "list", ...flags, "--remote", "--config", file];
  const known = await wrangler.try(listing(bound));
  if (known.code === 0) return { flags: bound, keys: keysOf(known.stdout) };
  const title = `${config.name}-${SKILLS_BINDING.toLowerCase()}`;
  const purpose: Purpose = {
    what: `The KV namespace ${title} could not be found or made`,
    hint: "The API token needs the permission Workers KV Storage: Edit.",
  };
  const find = async (): Promise<string | undefined> => {
    const list = await wrangler.ask(["kv", "namespace", "list", "--config", file], purpose);
    return namespaces.parse(jsonOf(list)).find((kv) => kv.title === title)?.id;
  };
  let id = await find();
  if (id === undefined) {
    await wrangler.ask(["kv", "namespace", "create", title, "--config", file], purpose);
    id = await find();
  }
  if (id === undefined || entry === undefined) {
    throw new CommandError(EXIT.failed, "namespace_missing", `${purpose.what}.`, purpose.hint);
  }
  entry.id = id;
  const flags = ["--namespace-id", id];
  return { flags, keys: keysOf(await wrangler.ask(listing(flags), purpose)) };
}

const keysOf = (text: string): ReadonlySet<string> =>
  new Set(keyList.parse(jsonOf(text)).map(({ name }) => name));

/** Ensures that the database and the bucket exist, which a deploy finds by their names. */
export async function openStores(wrangler: Wrangler, config: WorkerConfig, file: string): Promise<void> {
  const [{ database_name }] = config.d1_databases;
  const [{ bucket_name }] = config.r2_buckets;
  await ensure(wrangler, ["d1", "info", database_name, "--json"], ["d1", "create", database_name], file, {
    what: `The D1 database ${database_name} could not be made`,
    hint: "The API token needs the permission D1: Edit.",
  });
  await ensure(
    wrangler,
    ["r2", "bucket", "info", bucket_name, "--json"],
    ["r2", "bucket", "create", bucket_name],
    file,
    {
      what: `The R2 bucket ${bucket_name} could not be made`,
      hint: "Activate R2 once in the dashboard; the API token needs the permission Workers R2 Storage: Edit.",
    },
  );
}

async function ensure(
  wrangler: Wrangler,
  info: readonly string[],
  create: readonly string[],
  file: string,
  purpose: Purpose,
): Promise<void> {
  const found = await wrangler.try([...info, "--config", file]);
  if (found.code !== 0) await wrangler.ask([...create, "--config", file], purpose);
}

/** The JSON after wrangler's banner; `undefined` if it is not JSON. */
export function jsonOf(text: string): unknown {
  const start = text.search(/^[[{]/m);
  try {
    return JSON.parse(text.slice(Math.max(start, 0)));
  } catch {
    return undefined;
  }
}
