/** `hull new`: one starter skill. */
import { rm } from "node:fs/promises";
import { basename, join, relative, resolve } from "node:path";
import { PROVIDER_KEY_VARIABLES } from "../../src/secrets.ts";
import { skillSlug, slugify } from "../../src/skill/slug.ts";
import { runningServer } from "../admin-client.ts";
import { statOf } from "../build/file-system.ts";
import { CommandError, defineCommand, EXIT, usageError } from "../command.ts";
import { loadEnvironment } from "../dotenv.ts";
import { openProject } from "../project.ts";
import { shellWord } from "../shell-word.ts";
import { LANGUAGES, starterSkill } from "../templates.ts";
import { writeNewFiles } from "../write-files.ts";

export const command = defineCommand({
  name: "new",
  summary: "Make a starter skill",
  usage: `
Usage: hull new <name> [-l bash|python|ts|llm|proxy|tools|typed] [-d dir]

  -l, --language   kind of skill (default: bash)
  -d, --dir        folder of skills for the new one (default: skills)

Example: hull new "Weather report" -l python
`,
  flags: {
    language: { type: "string", short: "l", default: "bash" },
    dir: { type: "string", short: "d", default: "skills" },
  },
  words: 1,
  async run({ values, positionals }) {
    const given = positionals[0]?.trim() ?? "";
    if (given === "") throw usageError("name_missing", "A new skill needs a name.", "hull new <name>");
    const language = LANGUAGES.find((l) => l === values.language);
    if (language === undefined) {
      throw usageError(
        "unknown_language",
        `There is no starter for ${JSON.stringify(values.language)}.`,
        `Choose one of: ${LANGUAGES.join(", ")}.`,
      );
    }
    const root = resolve(values.dir);
    if (statOf(join(root, "SKILL.md")) !== null) {
      throw new CommandError(
        EXIT.failed,
        "inside_skill",
        `${root} is a skill itself, and the new one would be part of it.`,
        "Give the folder of skills with -d.",
      );
    }
    // Letters without their marks, so that the name of the folder, and the address, stay readable.
    const plain = given.normalize("NFKD").replace(/\p{Mark}/gu, "");
    const slug = slugify(plain);
    const folder = slug === "" ? freeName(root) : slug;
    const name = skillSlug(given, folder) === folder ? given : plain;
    const dir = join(root, folder);
    if (statOf(dir) !== null) {
      throw new CommandError(
        EXIT.failed,
        "exists",
        `${dir} exists already.`,
        "Choose another name, or remove the folder.",
      );
    }
    const { written } = await writeNewFiles(dir, starterSkill(name, language)).catch(
      async (error: unknown) => {
        // Otherwise Hull would serve a part of a skill, and the repeated command would find its folder taken.
        await rm(dir, { recursive: true, force: true });
        throw error;
      },
    );
    const shown = relative(process.cwd(), dir) || ".";
    const lines = [
      ...written.map((path) => join(shown, path)),
      ...(await hints(name, { root, dir, language })),
    ];
    process.stdout.write(`${lines.join("\n")}\n`);
    return EXIT.ok;
  },
});

/** The next steps with the new skill in `dir`, below the folder of skills `root`. */
async function hints(
  name: string,
  { root, dir, language }: { root: string; dir: string; language: (typeof LANGUAGES)[number] },
): Promise<string[]> {
  const project = await openProject(undefined).catch(() => null);
  const served = project?.roots.includes(root) === true;
  const running = served && project !== null ? await runningServer(project.dir) : null;
  const folder = relative(process.cwd(), root) || ".";
  const start = served ? "npx hull dev" : `npx hull dev --skills ${shellWord(folder)}`;
  const next =
    running === null
      ? `Serve it with: ${start}`
      : `The running hull dev serves it: ${running}/skills/${skillSlug(name, basename(dir))}`;
  if (!WITH_MODEL.has(language)) return [next];
  const variables = await loadEnvironment(project?.dir ?? process.cwd()).catch(
    () => new Map<string, string>(),
  );
  if (PROVIDER_KEY_VARIABLES.some((name) => (variables.get(name) ?? "") !== "")) return [next];
  return [next, "It asks a model: put the key of a provider into .env, e.g. ANTHROPIC_API_KEY=…"];
}

/** Starters whose skill calls a model. */
const WITH_MODEL: ReadonlySet<string> = new Set(["llm", "tools", "typed"]);

/** For a name without ASCII letters or digits, whose slug is that of its folder. */
function freeName(root: string): string {
  for (let n = 1; ; n++) {
    const name = n === 1 ? "skill" : `skill-${n}`;
    if (statOf(join(root, name)) === null) return name;
  }
}
