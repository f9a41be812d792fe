/**
 * A few `hull dev` for all test files of a process, with one fake provider for all: a server per file costs three
 * seconds of processor time, and more on a busy machine. Each server starts when the first file requests it. The files
 * of a process run one after the other.
 */
import { cp, mkdir, mkdtemp, readdir, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test as anyTest, beforeEach } from "vitest";
import { type FakeProvider, NOBODY, startFakeProvider } from "./fake-provider.ts";
import { type HullDev, type HullDevOptions, json, REPO, startHullDev, writeIn } from "./hull-dev.ts";
import { until } from "./runner.ts";

/** What a file may do with a server that it shares with others. */
export type CommonHull = Omit<HullDev, "end" | "stop" | "pid" | "remove">;

/** The operator's key of a `keyed` server. */
export const ADMIN = "admin-canary-of-e2e-0123456789";

/** Further providers, which the fake one replaces: the beginning of their variables' names, and their keys. */
const PROVIDERS = {
  OPENAI: "sk-openai-e2e-key",
  XAI: "sk-XAI-e2e-key",
  GOOGLE: "sk-GOOGLE-e2e-key",
  DEEPSEEK: "sk-DEEPSEEK-e2e-key",
};

/**
 * Values that no process of a skill, no answer and no log line of these servers may show unless a skill opts in. Each
 * contains `canary`.
 */
export const CANARIES = {
  SHELL_SECRET: "canary-shell-333",
  PROXY_SECRET: "canary-proxy-4444",
  UPSTREAM_KEY: "canary-upstream-77",
  DOCS_TOKEN: "mcp-secret-canary-77",
  HIDDEN: "canary-hidden-8",
  HULL_HOST_SECRET: "host-canary-5d1c9e",
  lower: "proxy-canary-0123456789",
};

/** A provider that has neither a key nor an address in these servers. */
export const UNSET = { provider: "openrouter", variable: "OPENROUTER_API_KEY" };
/** A provider that has a key, but an address where nothing listens. */
export const UNREACHABLE = "groq";

const environment = (fake: FakeProvider): Record<string, string> => ({
  ANTHROPIC_API_KEY: "sk-ant-e2e-key",
  ANTHROPIC_BASE_URL: fake.url,
  ...Object.fromEntries(
    Object.entries(PROVIDERS).flatMap(([name, key]) => [
      [`${name}_API_KEY`, key],
      [`${name}_BASE_URL`, `${fake.url}/v1`],
    ]),
  ),
  VLLM_BASE_URL: `${fake.url}/v1`,
  OLLAMA_BASE_URL: `${fake.url}/v1`,
  GROQ_API_KEY: "sk-groq-e2e-key",
  GROQ_BASE_URL: NOBODY,
  ...CANARIES,
});

/** Variables for a Worker, which gets from its environment only those that a skill names when the server starts. */
const NAMED = [
  "PROXY_SECRET",
  "UPSTREAM_KEY",
  "DOCS_TOKEN",
  "lower",
  "OPENAI_API_KEY",
  "ALIAS_OF_KEY",
  "WEATHER_KEY",
];

/**
 * The kinds of servers, with their settings in addition to the common ones. No two of their settings contradict each
 * other.
 */
const KINDS = {
  /** A server that requires no key. */
  plain: (fake) => ({
    args: ["--direct"],
    // examples.test.ts checks what the first of these servers prints at its start (`printedFirst`).
    skills: join(REPO, "skills"),
    project: {
      // load.test.ts holds so many calls at once.
      "hull.toml": `[runner]
concurrency = 64
[llm]
mock_routes = true
[workspace_tools]
env = ["BUILD_NAME"]
[mcp]
allow_loopback = true
allowed_hosts = ["127.0.0.1", "mcp.example.com"]
`,
      "skills/names/SKILL.md": `---\nname: names\ndescription: Test.\nrun: [echo]\ntool_env: [${NAMED.join(", ")}]\n---\nTest.\n`,
      ".env": "DOTENV_SECRET=canary-dotenv-4\nDOTENV_OPTED=opted-5\n",
    },
    env: {
      ...environment(fake),
      BUILD_NAME: "nightly",
      ALIAS_OF_KEY: PROVIDERS.OPENAI,
      WEATHER_KEY: "weather-7",
      LC_TEST: "kept",
    },
  }),
  /** The operator's key is `ADMIN`; `keyOf` makes other keys. */
  keyed: (fake) => ({
    args: ["--direct"],
    project: {
      "hull.toml": `[limits]
max_file_bytes = 20000000
[llm.providers.by-responses]
base_url = "${fake.url}"
api = "responses"
[llm.aliases]
plain = { id = "m", provider = "by-responses" }
[host_delegate]
url = "${fake.url}/hull"
timeout_ms = 20000
read_only_tools = ["look_*"]
`,
    },
    env: {
      ...environment(fake),
      HULL_ADMIN_KEY: ADMIN,
      HULL_GRANTS: JSON.stringify({ "acme/bounce": ["TOKEN"], "granted/trusted": ["workspace_tools"] }),
      TOKEN: "granted-7",
    },
  }),
} satisfies Record<string, (fake: FakeProvider) => HullDevOptions>;

type Kind = keyof typeof KINDS;

/**
 * A folder with a file for each of these servers that has not ended, or not properly. `global-setup.ts` checks it, since
 * at that time vitest has no test left that could fail.
 */
const { HULL_TEST_SERVERS = "" } = process.env;
const noteOf = (kind: Kind): string => join(HULL_TEST_SERVERS, `${process.pid}-${kind}`);

let provider: Promise<FakeProvider> | null = null;
const servers = new Map<Kind, Promise<HullDev>>();
const firstOutputs = new Map<Kind, () => string>();

async function start(kind: Kind, fake: FakeProvider, from?: HullDev): Promise<HullDev> {
  const settings: HullDevOptions = KINDS[kind](fake);
  const hull = await startHullDev(from === undefined ? settings : { ...settings, skills: {}, from });
  await writeFile(noteOf(kind), "");
  if (from === undefined) firstOutputs.set(kind, hull.output);
  return hull;
}

/** What the first server of a kind has printed: one that a file restarted began with the skills of that file. */
export const printedFirst = (kind: Kind): string => firstOutputs.get(kind)?.() ?? "";

/** The servers end with the test process, as vitest's fixtures of that scope do. */
const ending = anyTest
  .extend("started", { scope: "worker" }, () => servers)
  .extend("ended", { scope: "worker" }, ({ started }, { onCleanup }) => {
    onCleanup(async () => {
      await (await provider)?.close();
      for (const [kind, server] of started) {
        // If a server did not start, the file that requested it has already failed.
        const hull = await server.catch(() => null);
        await hull?.stop().then(
          () => rm(noteOf(kind)),
          (fault: unknown) => writeFile(noteOf(kind), String(fault)),
        );
      }
    });
  });

/**
 * A common server with these skills and no others, for the tests of the calling file: `const { hull, fake } = await
 * commonHull({...})`. Whatever a file stores there (sessions, files, uploads) has names that no other file uses, and the
 * file requests no complete lists. Before each test, the provider forgets its calls and its script. Tests may kill the
 * Worker and the runner (`kill` in `shared.ts`), and restart the whole server (`restarted`).
 * @param skills files by path, or a folder that is copied; the last folder's skill is without errors, and its slug is
 * the folder's name
 */
export async function commonHull(
  skills: Record<string, string | Uint8Array> | string = {},
  kind: Kind = "plain",
): Promise<{ hull: CommonHull; fake: FakeProvider }> {
  provider ??= startFakeProvider();
  const fake = await provider;
  const started = servers.get(kind) ?? start(kind, fake);
  servers.set(kind, started);
  const hull = await started;
  const headers = { authorization: `Bearer ${ADMIN}` };
  // A Worker that the previous file killed takes a while to answer again.
  const slugs = async (): Promise<string[] | null> => {
    const response = await hull.call("/skills", undefined, { headers }).catch(() => null);
    return response?.ok ? (await json<{ slug: string }[]>(response)).map(({ slug }) => slug) : null;
  };
  // The skills of the previous file. Removing them after its last test would make them disappear a moment after that
  // test ends.
  const folder = join(hull.root, "skills");
  for (const name of await readdir(folder)) await rm(join(folder, name), { recursive: true });
  await until(slugs, (served) => served?.length === 0);
  // Whole folders appear at once, so when the last skill is served, all are.
  const made = await mkdtemp(join(hull.root, "made-"));
  if (typeof skills === "string") await cp(skills, made, { recursive: true });
  else for (const [path, text] of Object.entries(skills)) await writeIn(made, path, text);
  const names =
    typeof skills === "string"
      ? (await readdir(made)).sort()
      : [...new Set(Object.keys(skills).map((path) => path.split("/")[0] ?? ""))];
  await mkdir(folder, { recursive: true });
  for (const name of names) await rename(join(made, name), join(folder, name));
  const last = names.at(-1);
  if (last !== undefined) await until(slugs, (served) => served?.includes(last) === true);
  await until(
    async () => (await hull.call("/readyz").catch(() => null))?.status,
    (status) => status === 200,
  );
  await rm(made, { recursive: true });
  ending.beforeAll(({ ended: _ }) => {});
  beforeEach(() => {
    fake.requests.length = 0;
    fake.script([]);
    fake.others(null);
  });
  return { hull, fake };
}

/** Ends the common server of the calling file with a signal; returns the next one, with the same folder and skills. */
export async function restarted(kind: Kind, signal: "SIGTERM" | "SIGKILL"): Promise<CommonHull> {
  const [fake, hull] = await Promise.all([provider, servers.get(kind)]);
  if (fake === null || hull === undefined) throw new RangeError(`there is no ${kind} server`);
  await hull.end(signal);
  await until(hull.processes, (all) => all.size === 0);
  const next = start(kind, fake, hull);
  servers.set(kind, next);
  return next;
}

/** A new key of a tenant of a `keyed` server. */
export async function keyOf(
  hull: CommonHull,
  tenant: string,
  scopes: readonly string[] = ["invoke", "publish"],
): Promise<string> {
  const asked = { tenant, scopes, name: tenant };
  const made = await json<{ key: string }>(
    await hull.post("/admin/keys", asked, { authorization: `Bearer ${ADMIN}` }),
  );
  return made.key;
}
