/** What is measured: a loopback provider, a Hull in workerd without wrangler's proxy, and bare Workers next to it. */
import { spawn } from "node:child_process";
import { chmod, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { convertV4MiniflareOptions, Miniflare } from "miniflare";
import * as z from "zod";
import { BuildCache } from "../../scripts/build/cache.ts";
import { type LocalServer, startServer } from "../../scripts/dev/server.ts";
import { openProject } from "../../scripts/project.ts";

/** The admin key of the Hull that wants keys. */
export const ADMIN_KEY = "bench-admin-key-0123456789";

/** The script of the script skill, of the tool and of the bare spawn. */
export const GREET = '#!/usr/bin/env bash\nread -r name\necho "Hello, ${name:-$1}!"\n';

const SKILLS: Record<string, string> = {
  "skills/greet/SKILL.md": "---\nname: greet\ndescription: Greets\nrun: [bash, greet.sh]\n---\n",
  "skills/greet/greet.sh": GREET,
  "skills/plain/SKILL.md":
    "---\nname: plain\ndescription: Answers\nmode: llm\nmodel: bench\n---\nAnswer briefly.\n",
  "skills/tool/SKILL.md":
    "---\nname: tool\ndescription: Uses a tool\nmode: llm\nmodel: bench\ntools:\n  - name: greet\n    description: Greets\n" +
    "    command: [bash, greet.sh]\n    parameters: [{name: name, description: who}]\n---\nUse the tool.\n",
  "skills/mocked/SKILL.md": "---\nname: mocked\ndescription: M\nmode: llm\nprovider: mock\n---\nAnswer.\n",
  "skills/tool/greet.sh": '#!/usr/bin/env bash\necho "Hello, $1!"\n',
};

/** Runs `start` with the key that makes a Hull want keys. */
async function withAdminKey<T>(start: () => Promise<T>): Promise<T> {
  process.env.HULL_ADMIN_KEY = ADMIN_KEY;
  try {
    return await start();
  } finally {
    delete process.env.HULL_ADMIN_KEY;
  }
}

/** A project folder with these files; a text that begins with `#!` becomes executable. */
export async function writeProject(
  files: Record<string, string>,
): Promise<{ dir: string; remove: () => Promise<void> }> {
  const dir = await mkdtemp(join(tmpdir(), "hull-bench-"));
  for (const [path, text] of Object.entries(files)) {
    const file = join(dir, path);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, text);
    if (text.startsWith("#!")) await chmod(file, 0o755);
  }
  return { dir, remove: () => rm(dir, { recursive: true, force: true }) };
}

/** A Hull for a project, its state in a folder of it. */
export async function startHull(dir: string, state = "state"): Promise<LocalServer> {
  return startServer({
    project: await openProject(dir),
    cache: new BuildCache(),
    host: "127.0.0.1",
    port: 0,
    stateDir: join(dir, state),
    direct: true,
    front: false,
    public: false,
    watch: false,
    onBuild: ({ diagnostics }) => {
      const [fault] = diagnostics.filter(({ diagnostic }) => diagnostic.level === "error");
      if (fault !== undefined) throw new TypeError(JSON.stringify(fault.diagnostic));
    },
    onLine: () => {},
  });
}

const addresses = z.object({ provider: z.string(), upstream: z.string() });

export interface Provider extends z.infer<typeof addresses> {
  stop: () => void;
}

/** The provider of a file, a process of its own; servers that are started from now on call it. */
export async function startProvider(file = "provider.ts"): Promise<Provider> {
  const child = spawn(process.execPath, [join(import.meta.dirname, file)], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  const lines = createInterface({ input: child.stdout });
  const line = await new Promise<string>((resolve) => lines.once("line", resolve));
  const known = addresses.parse(JSON.parse(line));
  process.env.ANTHROPIC_BASE_URL = known.provider;
  process.env.ANTHROPIC_API_KEY = "bench-key-0123456789";
  return { ...known, stop: () => child.stdin.end() };
}

/** A Worker with nothing but its own few lines. @param objects folder for the state of its Durable Objects, `Bare` */
export async function startBare(
  script: string,
  objects?: string,
): Promise<{ url: string; stop: () => Promise<void> }> {
  const bare = new Miniflare(
    convertV4MiniflareOptions({
      name: "bare",
      ...(objects === undefined
        ? {}
        : {
            durableObjects: { OBJECTS: { className: "Bare", useSQLite: true } },
            durableObjectsPersist: objects,
          }),
      modules: [{ type: "ESModule", path: "bare.mjs", contents: script }],
      compatibilityDate: "2026-10-20",
      workerLoaders: { LOADER: {} },
      unsafeDirectSockets: [{ host: "127.0.0.1", port: 0 }],
    }),
  );
  await bare.ready;
  return { url: (await bare.unsafeGetDirectURL()).origin, stop: () => bare.dispose() };
}

/** A function of a bare Worker: the model call that the skill `plain` makes, with nothing around it. */
export const bareModelCall = (provider: string): string => `
const body = (text) => JSON.stringify({ model: "bench", max_tokens: 4096, system: "Answer briefly.",
  messages: [{ role: "user", content: [{ type: "text", text }] }] });
async function callModel(request) {
  const answer = await fetch("${provider}/v1/messages", { method: "POST", body: body(await request.text()),
    headers: { "content-type": "application/json", "x-api-key": "k", "anthropic-version": "2023-06-01" } });
  const value = await answer.json();
  return new Response(value.content.map((b) => b.text ?? "").join(""));
}`;

export interface Subjects {
  provider: string;
  hull: string;
  /** A Hull that writes log lines of failures only. */
  quiet: string;
  /** One that wants keys. */
  keyed: string;
  bare: string;
  stop: () => Promise<void>;
}

export async function startSubjects(): Promise<Subjects> {
  const { dir, remove } = await writeProject(SKILLS);
  const provider = await startProvider();
  const hull = await startHull(dir);
  process.env.HULL_LOG = "failures";
  const quiet = await startHull(dir, "quiet");
  delete process.env.HULL_LOG;
  const keyed = await withAdminKey(() => startHull(dir, "keyed"));
  const bare = await startBare(
    `${bareModelCall(provider.provider)}\nexport default { fetch: (request) => callModel(request) };`,
  );
  const stop = async (): Promise<void> => {
    await hull.stop();
    await quiet.stop();
    await keyed.stop();
    await bare.stop();
    provider.stop();
    await remove();
  };
  const urls = { hull: hull.url, quiet: quiet.url, keyed: keyed.url, bare: bare.url };
  return { provider: provider.provider, ...urls, stop };
}
