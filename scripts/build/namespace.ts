/** The plugin of a skill, and the namespace that distinguishes it from others of the same name. */
import { basename, relative, sep } from "node:path";
import { present } from "../../src/skill/json.ts";
import { slugify } from "../../src/skill/slug.ts";
import { isWithin } from "./file-system.ts";
import { type DeclaredPlugins, pluginOf, unreadableIn } from "./plugins.ts";
import type { SkillFolder } from "./skill-folder.ts";

/**
 * The folder with its plugin and its namespace: the plugin's name, or its folder's if no slug follows from that; without a
 * plugin the folders between the root and itself.
 */
export function placed(folder: SkillFolder, declared: readonly DeclaredPlugins[]): SkillFolder {
  const plugin = pluginOf(
    folder,
    declared.flatMap(({ plugins }) => plugins),
  );
  const hidden = declared.some((each) => unreadableIn(each).some((base) => isWithin(folder.path, base)));
  const namespace =
    plugin === null
      ? foldersAbove(folder, folder.within)
      : slugify(plugin.name) || slugify(basename(plugin.path));
  const isAgent = folder.single === "agents";
  const inPlugin =
    plugin?.skills === null || (plugin !== null && isAgent) ? relative(plugin.path, folder.path) : "";
  const above = inPlugin.split(sep, 1)[0] === "skills" ? "" : foldersAbove(folder, inPlugin);
  // An agent is another thing than a skill of its name.
  const pluginFolders = isAgent ? slugify(`agents ${above}`) : above;
  return {
    ...folder,
    ...present({ plugin, namespace, pluginFolders }),
    ...(plugin === null && hidden ? { pluginUnreadable: true } : {}),
  };
}

/** Folders that structure a collection, but do not name the author of their skills. */
const LAYOUT = new Set(
  "skills skill plugins packages src agents claude codex cursor gemini github opencode".split(" "),
);

/** The folders that lead to a skill, without those that only structure a collection, as a part of a slug. */
const foldersAbove = ({ single }: SkillFolder, path: string): string =>
  path
    .split(/[/\\]/)
    .slice(0, -1)
    .map(slugify)
    .filter((name) => name !== "" && !LAYOUT.has(name) && name !== single)
    .join("-");
