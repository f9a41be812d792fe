/** Programs and commands of documents, run with what is in this checkout. */
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

/** A program of a document that can run anywhere: its client is this checkout's. */
export const withOwnClient = (program: string): string =>
  program.replaceAll(
    '"hullrun/client"',
    JSON.stringify(new URL("../../typed/client/client.mjs", import.meta.url).href),
  );

/** What a script prints in a shell where `npx hull`, `npm install` and `node` are this checkout's. */
export async function exampleShell(
  script: string,
  { cwd, home, env = {} }: { cwd: string; home: string; env?: Record<string, string> },
): Promise<string> {
  const repo = fileURLToPath(new URL("../..", import.meta.url));
  const own = `npx() { case "$1" in hull|hullrun) shift;; esac; "${process.execPath}" "${repo}bin/hull.mjs" "$@"; }
node() { "${process.execPath}" "$@"; }
npm() { mkdir -p node_modules && ln -s "${repo}" node_modules/hullrun; }`;
  const { PATH = "" } = process.env;
  const { stdout } = await promisify(execFile)("bash", ["-euo", "pipefail", "-c", `${own}\n${script}`], {
    cwd,
    env: { PATH, HOME: home, ...env },
  });
  return stdout;
}
