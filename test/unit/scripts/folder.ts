/** Temporary folders of skills for the tests of the build and the command line. */
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { onTestFinished } from "vitest";
import { type BuildOptions, buildRoots } from "../../../scripts/build/build.ts";

/** A fresh folder with these files, removed after the test. A path that ends in `*` is made executable. */
export function folder(files: Record<string, string | Uint8Array> = {}): string {
  const dir = mkdtempSync(join(tmpdir(), "hull-test-"));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  for (const [path, content] of Object.entries(files)) put(dir, path, content);
  return dir;
}

export function put(dir: string, path: string, content: string | Uint8Array): void {
  const full = join(dir, path.replace(/\*$/, ""));
  mkdirSync(dirname(full), { recursive: true });
  writeFileSync(full, content);
  chmodSync(full, path.endsWith("*") ? 0o755 : 0o644);
}

/** Builds a project's skills; `found` has its diagnostics in a short form. */
export async function build(
  project: string,
  options: Partial<BuildOptions> = {},
  roots = [join(project, "skills")],
) {
  const result = await buildRoots(roots, { projectDir: project, ...options });
  return {
    ...result,
    found: result.diagnostics.map(({ diagnostic: d }) => `${d.level} ${d.code} ${d.file}`),
    slugs: result.skills.map((skill) => skill.card.slug),
  };
}

/** A SKILL.md; `fields` are further frontmatter lines. */
export function skillText(name: string, fields = "mode: llm"): string {
  return `---\nname: ${name}\ndescription: d\n${fields}\n---\nBody.\n`;
}
