/**
 * One `hull dev` for all files of a process of tests that need nothing special of a server, with one fake provider behind it: a
 * server of its own takes a file two seconds of processor time. Files of a process run one after the other.
 */
import { mkdir, mkdtemp, readdir, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test as anyTest, beforeEach } from "vitest";
import { type FakeProvider, startFakeProvider } from "./fake-provider.ts";
import { type HullDev, json, startHullDev, writeIn } from "./hull-dev.ts";
import { until } from "./runner.ts";

/** What a file may do with a server that is not its own. */
type CommonHull = Omit<HullDev, "end" | "stop" | "pid" | "remove">;

interface Common {
  hull: HullDev;
  fake: FakeProvider;
}

/** Of further providers, which the fake one stands in for: what the names of their variables begin with, and their keys. */
const PROVIDERS = {
  OPENAI: "sk-openai-e2e-key",
  XAI: "sk-XAI-e2e-key",
  GOOGLE: "sk-GOOGLE-e2e-key",
  DEEPSEEK: "sk-DEEPSEEK-e2e-key",
};

/**
 * A folder with a file for each of these servers that has not ended, or not as it should: vitest has no test left that could fail,
 * so `global-setup.ts` looks.
 */
const { HULL_TEST_SERVERS = "" } = process.env;
const note = join(HULL_TEST_SERVERS, String(process.pid));

let common: Promise<Common> | null = null;

async function start(): Promise<Common> {
  const fake = await startFakeProvider();
  const others = Object.entries(PROVIDERS).flatMap(([name, key]) => [
    [`${name}_API_KEY`, key],
    [`${name}_BASE_URL`, `${fake.url}/v1`],
  ]);
  const hull = await startHullDev({
    args: ["--direct"],
    project: { "hull.toml": '[workspace_tools]\nenv = ["BUILD_NAME"]\n' },
    env: {
      ANTHROPIC_API_KEY: "sk-ant-e2e-key",
      ANTHROPIC_BASE_URL: fake.url,
      BUILD_NAME: "nightly",
      ...Object.fromEntries(others),
    },
  });
  await writeFile(note, "");
  return { hull, fake };
}

/** The server ends with the process of tests, as vitest's fixtures of that scope do. */
const ending = anyTest
  .extend("started", { scope: "worker" }, () => common)
  .extend("ended", { scope: "worker" }, async ({ started }, { onCleanup }) => {
    onCleanup(async () => {
      await started?.fake.close();
      await started?.hull.stop().then(
        () => rm(note),
        (fault: unknown) => writeFile(note, String(fault)),
      );
    });
  });

/**
 * The common server with these skills and no others, for the tests of the file that asks: `const { hull, fake } = await
 * commonHull({...})`. What a file stores there (sessions, files, uploads) has names that no other file uses, and it asks for no
 * list of all there is. Before each test the provider forgets what it was asked, and what it was to say.
 * @param skills files by path; the last folder's skill is without errors, and its slug is the folder's name
 */
export async function commonHull(
  skills: Record<string, string | Uint8Array> = {},
): Promise<{ hull: CommonHull; fake: FakeProvider }> {
  common ??= start();
  const { hull, fake } = await common;
  const slugs = async (): Promise<string[]> =>
    (await json<{ slug: string }[]>(await hull.call("/skills"))).map(({ slug }) => slug);
  // Those of the file before; with its last test they would be gone a moment later than it ends.
  const folder = join(hull.root, "skills");
  for (const name of await readdir(folder)) await rm(join(folder, name), { recursive: true });
  await until(slugs, (served) => served.length === 0);
  // Whole folders appear at once, so who is served the last one is served them all.
  const made = await mkdtemp(join(hull.root, "made-"));
  for (const [path, text] of Object.entries(skills)) await writeIn(made, path, text);
  const names = [...new Set(Object.keys(skills).map((path) => path.split("/")[0] ?? ""))];
  await mkdir(folder, { recursive: true });
  for (const name of names) await rename(join(made, name), join(folder, name));
  const last = names.at(-1);
  if (last !== undefined) await until(slugs, (served) => served.includes(last));
  await rm(made, { recursive: true });
  ending.beforeAll(({ ended: _ }) => {});
  beforeEach(() => {
    fake.requests.length = 0;
    fake.script([]);
  });
  return { hull, fake };
}
