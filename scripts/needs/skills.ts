/** What the skills of a project use, but this machine, or the image of its deployment, does not have. */
import { readFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import type { Diagnostic } from "../../src/skill/manifest.ts";
import type { WorkspaceToolSettings } from "../../src/skill/workspace-settings.ts";
import { programFiles } from "../../src/skill/workspace-tools.ts";
import { listFiles } from "../build/list-files.ts";
import type { RootedDiagnostic } from "../build/roots.ts";
import { scanRoots } from "../build/roots.ts";
import type { BuiltSkill } from "../build/skill.ts";
import type { Project } from "../project.ts";
import { imageHas, imageWith, imageWithAll } from "./images.ts";
import { lookFor } from "./machine.ts";
import { type Need, needsOf, shownNeed } from "./needs.ts";

/** Larger files are not scripts. */
const MAX_SCRIPT_BYTES = 1024 * 1024;
const SCRIPT = /\.(?:sh|bash|py|[cm]?js|ts)$/;

interface SkillNeeds {
  slug: string;
  root: string;
  /** SKILL.md, relative to the root. */
  file: string;
  uses: Need[];
  /** Those of `uses`. */
  missing_here: Need[];
  /** Those of `uses`. */
  missing_in_image: Need[];
}

/** The needs of those skills whose runs have tools to run commands. @param skills as built */
export async function skillNeeds(project: Project, skills: readonly BuiltSkill[]): Promise<SkillNeeds[]> {
  const image = imageOf(project);
  const bySlug = new Map(
    skills.filter(({ card }) => card.workspaceTools).map((skill) => [skill.folder, skill]),
  );
  const { scans } = scanRoots(project.roots, project.dir, project.config);
  const read = scans.flatMap(({ root, rootContext, scan }) =>
    scan.skills.flatMap((folder) => {
      const skill = bySlug.get(folder.path);
      if (skill === undefined) return [];
      const { files } = listFiles(folder, rootContext);
      const scripts = files
        .filter(({ path, stats }) => SCRIPT.test(path) && stats.size <= MAX_SCRIPT_BYTES)
        .map(({ path, absolute }) => ({ path, bytes: readFileSync(absolute) }));
      const programs = programFiles(scripts, skill.manifest, skill.tools);
      const texts = scripts
        .filter(({ path }) => !programs.has(path))
        .map(({ path, bytes }) => ({ path, text: bytes.toString() }));
      const own = files.find(({ path }) => path === basename(folder.file));
      const text = own === undefined ? "" : readFileSync(own.absolute, "utf8");
      const hooks = (skill.manifest.activation?.command_hooks ?? []).map(({ command }) => command);
      return [{ slug: skill.card.slug, root, file: folder.file, uses: needsOf(text, texts, hooks) }];
    }),
  );
  const machine = await lookFor(read.flatMap(({ uses }) => uses));
  return read.map(({ uses: all, ...skill }) => {
    const uses = all.filter((need) => !machine.isOwn(need));
    return {
      ...skill,
      uses,
      missing_here: uses.filter((need) => !machine.has(need)),
      missing_in_image: uses.filter((need) => !imageHas(image, need)),
    };
  });
}

export function imageOf({ config }: Project): WorkspaceToolSettings["image"] {
  return config.workspace_tools.image;
}

/** Sentences that say what is missing and where to find it. */
export function missingSentences({ missing_here, missing_in_image }: SkillNeeds, image: string): string[] {
  const [here, there] = [list(missing_here), list(missing_in_image)];
  const lacks =
    here === there
      ? [`This machine and the image ${image} lack ${here}.`]
      : [
          ...(here === "" ? [] : [`This machine lacks ${here}.`]),
          ...(there === "" ? [] : [`The image ${image} lacks ${there}.`]),
        ];
  if (here === "" && there === "") return [];
  if (there === "") return lacks;
  const { best, missingEverywhere } = imageCoverage(missing_in_image);
  const single = missing_in_image.length === 1;
  if (best === null) return [...lacks, `No image has ${single ? "it" : "any of these"}.`];
  const all = single ? "it" : "all of these";
  const but = missingEverywhere.length === 0 ? all : `these except ${list(missingEverywhere)}`;
  return [...lacks, `The image ${best} has ${but}.`];
}

const list = (needs: readonly Need[]): string => needs.map(shownNeed).join(", ");

/**
 * `best`: the smallest image that has every need that at least one image has; `null`: no image has any of them.
 * `missingEverywhere`: the needs that no image has.
 */
function imageCoverage(needs: readonly Need[]): {
  best: WorkspaceToolSettings["image"] | null;
  missingEverywhere: Need[];
} {
  const somewhere = needs.filter((need) => imageWith(need) !== null);
  const missingEverywhere = needs.filter((need) => imageWith(need) === null);
  return { best: somewhere.length === 0 ? null : imageWithAll(somewhere), missingEverywhere };
}

function remedies({ missing_here, missing_in_image }: SkillNeeds): string[] {
  const { best, missingEverywhere } = imageCoverage(missing_in_image);
  return [
    ...(missing_here.length === 0
      ? []
      : [`Install ${missing_here.length === 1 ? "it" : "them"} on this machine.`]),
    ...(best === null ? [] : [`For deployments set image = "${best}" below [workspace_tools] in hull.toml.`]),
    ...(missingEverywhere.length === 0
      ? []
      : ["For what no image has, a deployment needs an image of your own (docs/deploy.md)."]),
  ];
}

/** A warning for each skill that lacks something. */
export function needsWarnings(needs: readonly SkillNeeds[], image: string): RootedDiagnostic[] {
  return needs.flatMap((skill) => {
    const sentences = missingSentences(skill, image);
    if (sentences.length === 0) return [];
    const diagnostic: Diagnostic = {
      level: "warning",
      code: "needs_missing",
      skill: basename(dirname(join(skill.root, skill.file))),
      file: skill.file,
      message: sentences.join(" "),
      hint: remedies(skill).join(" "),
    };
    return [{ root: skill.root, diagnostic }];
  });
}
