/** Examples in Markdown. */

interface Block {
  language: string;
  text: string;
}

/** The fenced blocks of a document. */
export function blocks(document: string): Block[] {
  const fenced = document.matchAll(/^```([a-z]*)\n([\s\S]*?)^```$/gm);
  return Array.from(fenced, ([, language = "", text = ""]) => ({ language, text }));
}

/** The commands of a document's shell examples, without comments and prompts. */
export function shellLines(document: string): string[] {
  return blocks(document)
    .filter(({ language }) => language === "bash")
    .flatMap(({ text }) => text.split("\n"))
    .map((line) => line.replace(/\s+#.*$/, "").trim())
    .filter((line) => line !== "" && !line.startsWith("#"));
}

/** The files of a tutorial by path: each block that follows a line which names its path, `path/to/file`:. */
export function namedFiles(document: string): Map<string, string> {
  const named = document.matchAll(/^`([\w./-]+)`:\n\n```[a-z]+\n([\s\S]*?)^```/gm);
  return new Map(Array.from(named, ([, path = "", text = ""]) => [path, text]));
}

/** A comment below a command, as a pattern of the command's output; `…` matches anything. */
export const printedPattern = (comment: string): RegExp =>
  new RegExp(
    comment
      .split("…")
      .map((text) => text.trim().replace(/[.*+?^${}()|[\]\\]/g, "\\$&"))
      .join("[^]*"),
  );
