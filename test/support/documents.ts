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

/** The commands of a document's shell examples, comments and prompts left out. */
export function shellLines(document: string): string[] {
  return blocks(document)
    .filter(({ language }) => language === "bash")
    .flatMap(({ text }) => text.split("\n"))
    .map((line) => line.replace(/\s+#.*$/, "").trim())
    .filter((line) => line !== "" && !line.startsWith("#"));
}
