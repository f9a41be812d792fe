/** Examples in Markdown. */
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

interface Block {
  language: string;
  text: string;
}

/** The fenced blocks of a document. */
export function blocks(document: string): Block[] {
  const fenced = document.matchAll(/^```([a-z]*)\n([\s\S]*?)^```$/gm);
  return Array.from(fenced, ([, language = "", text = ""]) => ({ language, text }));
}

/** The commands of a document's shell examples, comments and prompts left out. */
export function shellLines(document: string): string[] {
  return blocks(document)
    .filter(({ language }) => language === "bash")
    .flatMap(({ text }) => text.split("\n"))
    .map((line) => line.replace(/\s+#.*$/, "").trim())
    .filter((line) => line !== "" && !line.startsWith("#"));
}

/** The files of a tutorial: each block below a line that names it, `path/to/file`:, by path. */
export function namedFiles(document: string): Map<string, string> {
  const named = document.matchAll(/^`([\w./-]+)`:\n\n```[a-z]+\n([\s\S]*?)^```/gm);
  return new Map(Array.from(named, ([, path = "", text = ""]) => [path, text]));
}

/** A comment below a command as a pattern of what it prints; `…` stands for anything. */
export const printedPattern = (comment: string): RegExp =>
  new RegExp(
    comment
      .split("…")
      .map((text) => text.trim().replace(/[.*+?^${}()|[\]\\]/g, "\\$&"))
      .join("[^]*"),
  );

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
