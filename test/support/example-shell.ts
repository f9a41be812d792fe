/** Runs programs and commands of documents with the code of this checkout. */
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { hullScript, REPO, shared } from "./hull-dev.ts";

/** A program of a document in a form that runs anywhere, with the client of this checkout. */
export const withOwnClient = (program: string): string =>
  program.replaceAll(
    '"hullrun/client"',
    JSON.stringify(new URL("../../typed/client/client.mjs", import.meta.url).href),
  );

/** The output of a script in a shell where `npx hull`, `npm install` and `node` are those of this checkout. */
export async function exampleShell(
  script: string,
  { cwd, home, env = {} }: { cwd: string; home: string; env?: Record<string, string> },
): Promise<string> {
  const own = `npx() { case "$1" in hull|hullrun) shift;; esac; "${process.execPath}" "${hullScript(REPO)}" "$@"; }
node() { "${process.execPath}" "$@"; }
npm() { mkdir -p node_modules && ln -s "${REPO}" node_modules/hullrun; }`;
  const { PATH = "" } = process.env;
  const { stdout } = await promisify(execFile)("bash", ["-euo", "pipefail", "-c", `${own}\n${script}`], {
    cwd,
    env: { PATH, HOME: home, ...shared(REPO), ...env },
  });
  return stdout;
}
