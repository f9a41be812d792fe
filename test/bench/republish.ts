/** Publishing one changed skill among many: what watch mode does, and the command `hull publish`. */
import { spawn } from "node:child_process";
import { mkdir, mkdtemp, readdir, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { buildRoots } from "../../scripts/build/build.ts";
import { BuildCache } from "../../scripts/build/cache.ts";
import { REPO_DIR } from "../../scripts/dev/paths.ts";
import { RegistryClient } from "../../scripts/publish/registry-client.ts";
import { ms, type Row, row } from "./row.ts";
import { startHull, writeProject } from "./subjects.ts";

const TIMES = 7;

export async function republishRows(count: number): Promise<Row[]> {
  const dir = await mkdtemp(join(tmpdir(), "hull-bench-publish-"));
  const project = await writeProject({ "skills/a/SKILL.md": manifest("A", "first"), "hull.toml": "" });
  const hull = await startHull(project.dir);
  try {
    await writeFile(join(dir, "hull.toml"), "");
    for (let i = 0; i < count; i++) {
      const skill = join(dir, "skills", `skill-${i}`);
      await mkdir(skill, { recursive: true });
      await writeFile(join(skill, "SKILL.md"), manifest(`Skill ${i}`, "first"));
      await writeFile(join(skill, "run.sh"), `#!/usr/bin/env bash\necho ${i}\n`);
    }
    const cache = await BuildCache.open(dir);
    const registry = new RegistryClient(hull.url, undefined);
    const publish = async (): Promise<number> => {
      const result = await buildRoots([join(dir, "skills")], { projectDir: dir, cache });
      return registry.publish(result);
    };
    // Hull does not rely on the time of a file that was written less than this before.
    await sleep(100);
    await publish();
    await cache.save();
    const changed = async (word: string): Promise<void> => {
      await writeFile(join(dir, "skills", "skill-7", "SKILL.md"), manifest("Skill 7", word));
      await sleep(100);
    };
    const floor = await middle(
      async () => {},
      () => walk(join(dir, "skills")),
    );
    const within = await middle(changed, publish);
    const process_ = await middle(changed, () => command(dir, hull.url));
    const bare = await middle(
      async () => {},
      () => run(["--eval", "0"], dir),
    );
    const what = `republish of 1 of ${count} skills`;
    return [
      row(`${what}, as watch mode does; floor: a walk`, ms(floor), ms(within), within, 300, ms),
      row(`${what}, hull publish over a bare node`, ms(bare), ms(process_), process_ - bare, 300, ms),
    ];
  } finally {
    await hull.stop();
    await project.remove();
    await rm(dir, { recursive: true, force: true });
  }
}

const manifest = (name: string, word: string): string =>
  `---\nname: ${name}\ndescription: The ${word} one\nrun: [bash, -c, "echo ${word}"]\n---\nDocumentation.\n`;

/** The median time of some runs in ms; each is prepared outside of it. */
async function middle(
  prepare: (word: string) => Promise<unknown>,
  once: () => Promise<unknown>,
): Promise<number> {
  const times: number[] = [];
  for (let i = 0; i < TIMES; i++) {
    await prepare(`word ${i} of ${Math.random()}`);
    const begun = performance.now();
    await once();
    times.push(performance.now() - begun);
  }
  return times.toSorted((a, b) => a - b)[Math.floor(TIMES / 2)] ?? Number.NaN;
}

/** Asks after every file. */
async function walk(root: string): Promise<void> {
  for (const entry of await readdir(root, { recursive: true, withFileTypes: true })) {
    if (entry.isFile()) await stat(join(entry.parentPath, entry.name));
  }
}

function run(args: string[], cwd: string): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const child = spawn(process.execPath, args, { cwd, stdio: ["ignore", "ignore", "inherit"] });
  child.once("error", reject);
  child.once("close", (code) => (code === 0 ? resolve() : reject(new RangeError(`ended with ${code}`))));
  return promise;
}

const command = (dir: string, url: string): Promise<void> =>
  run([join(REPO_DIR, "bin", "hull.mjs"), "publish", dir, "--url", url], dir);
