/**
 * Where the runner of `hull dev` keeps its state: outside of the project. There, as in a deployment, programs that look
 * upwards for their project (Node, npm, Git, dotenv, pytest) find none above the folders of skills and sessions. The
 * state folder has a link to it.
 */
import { mkdir, mkdtemp, readdir, readFile, realpath, rm, symlink, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import { removeTree } from "../../container/tree.ts";

/** Ends the name of the file that says where the link to a folder is. */
const OF = ".link";

const folderOfAll = (): string =>
  join(process.env.XDG_CACHE_HOME || join(homedir(), ".cache"), "hull", "runners");

/** Makes the runner's folder for a state folder, or finds it; returns its path without links. */
export async function runnerFolder(stateDir: string): Promise<string> {
  await removeUnusedRunners();
  const link = join(await realpath(stateDir), "runner");
  const known = await realOf(link);
  // An earlier version of Hull kept it in the state folder itself.
  if (known !== null && known !== link) return known;
  const folder = await newFolder().catch(() => null);
  if (known === null || folder !== null) await removeTree(link);
  if (folder === null) {
    await mkdir(link, { recursive: true, mode: 0o700 });
    return link;
  }
  await symlink(folder, link);
  await writeFile(folder + OF, link);
  return folder;
}

/** A short name: the paths of sockets in `TMPDIR` have at most 107 bytes. */
async function newFolder(): Promise<string> {
  const all = folderOfAll();
  await mkdir(all, { recursive: true, mode: 0o700 });
  return realpath(await mkdtemp(`${all}/`));
}

/** Removes the folders to which no state folder has a link any more. */
export async function removeUnusedRunners(): Promise<void> {
  const all = folderOfAll();
  const names = await readdir(all).catch((): string[] => []);
  for (const name of names.filter((each) => each.endsWith(OF))) {
    const [file, folder] = [join(all, name), join(all, name.slice(0, -OF.length))];
    const link = await readFile(file, "utf8").catch(() => "");
    if ((await realOf(link)) === (await realOf(folder))) continue;
    await removeTree(folder);
    await rm(file, { force: true });
  }
}

const realOf = (path: string): Promise<string | null> => realpath(path).catch(() => null);
