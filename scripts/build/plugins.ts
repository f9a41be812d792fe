/** Plugins in folders of skills: what `.claude-plugin/plugin.json` and `marketplace.json` say about them. */
import { dirname, join, resolve } from "node:path";
import * as z from "zod";
import { isWithin, jsonIn, orNull, readRegular } from "./file-system.ts";
import { declaredServers, type ExpectedServer, expectedServers } from "./plugin-servers.ts";

/** A folder of this name makes its parent a plugin, or a marketplace of plugins. */
export const PLUGIN_FOLDER = ".claude-plugin";

/** Skills of Claude Code that are one file each, by the name of the folder and of the setting in hull.toml. */
export const SINGLES = ["commands", "agents"] as const;
export type Single = (typeof SINGLES)[number];

/** Of commands and agents the absolute files and folders that hold its only ones; `null`: the usual folder. */
export interface Plugin extends Record<Single, string[] | null> {
  name: string;
  /** Absolute. */
  path: string;
  /** Absolute folders, which are its only skills; `null`: everything inside it. */
  skills: string[] | null;
  /** Absolute folders in which it has skills, also where one of them is inside another skill. */
  places: string[];
  /** The MCP servers that its skills expect. */
  servers: ExpectedServer[];
}

const paths = z
  .union([z.string().transform((path) => [path]), z.array(z.string())])
  .optional()
  .catch(undefined);
const pluginFile = z.looseObject({
  name: z.string().trim().min(1),
  skills: paths,
  commands: paths,
  agents: paths,
  mcpServers: declaredServers,
});
const marketplaceFile = z.looseObject({
  metadata: z.looseObject({ pluginRoot: z.string().optional() }).optional().catch(undefined),
  plugins: z.array(z.unknown()),
});
/** A plugin elsewhere, `source: {github: …}`, is not in the folder. */
const marketplaceEntry = z.looseObject({
  name: z.string().trim().min(1),
  source: z.string(),
  skills: paths,
  commands: paths,
  agents: paths,
  mcpServers: declaredServers,
});

export interface DeclaredPlugins {
  plugins: Plugin[];
  /** Absolute paths of the files that cannot be read. */
  unreadable: string[];
}

/** The folders whose plugins cannot be read. */
export const unreadableIn = ({ unreadable }: DeclaredPlugins): string[] =>
  unreadable.map((file) => dirname(dirname(file)));

/**
 * The plugins that a folder with a `.claude-plugin` declares.
 * @param folder absolute
 */
export function readPlugins(folder: string): DeclaredPlugins {
  const plugins: Plugin[] = [];
  const unreadable: string[] = [];
  const read = <T>(name: string, shape: z.ZodType<T>): T | null => {
    const file = join(folder, PLUGIN_FOLDER, name);
    const bytes = orNull(() => readRegular(file));
    if (bytes === null) return null;
    const parsed = shape.safeParse(jsonIn(bytes));
    if (!parsed.success) unreadable.push(file);
    return parsed.success ? parsed.data : null;
  };
  const marketplace = read("marketplace.json", marketplaceFile);
  const base = join(folder, marketplace?.metadata?.pluginRoot ?? ".");
  for (const given of marketplace?.plugins ?? []) {
    const entry = marketplaceEntry.safeParse(given);
    if (!entry.success) continue;
    const { name, source, mcpServers } = entry.data;
    const path = resolve(/^\.{0,2}\//.test(source) ? folder : base, source);
    if (!isWithin(path, folder)) continue;
    const skills = absolute(path, entry.data.skills);
    const servers = expectedServers(path, mcpServers);
    const singles = singlesOf(path, entry.data);
    plugins.push({ name, path, skills, places: skills ?? usual(path), ...singles, servers });
  }
  const own = read("plugin.json", pluginFile);
  // `skills` of a plugin.json adds folders to the usual one, but everything inside the plugin belongs to it.
  if (own !== null) {
    const more = absolute(folder, own.skills) ?? [];
    const servers = expectedServers(folder, own.mcpServers);
    plugins.push({
      name: own.name,
      path: folder,
      skills: null,
      places: [...usual(folder), ...more],
      ...singlesOf(folder, own),
      servers,
    });
  }
  return { plugins, unreadable };
}

/** Where a plugin that lists no skills has them: anywhere, or in `skills` if its folder is itself a skill. */
const usual = (path: string): string[] => [path, join(path, "skills")];

const absolute = (folder: string, listed: readonly string[] | undefined): string[] | null =>
  listed?.map((each) => resolve(folder, each)) ?? null;

const singlesOf = (
  folder: string,
  { commands, agents }: { [kind in Single]?: string[] | undefined },
): Pick<Plugin, Single> => ({ commands: absolute(folder, commands), agents: absolute(folder, agents) });

/** Where a plugin has its commands or its agents. */
export const singlePlaces = (plugin: Plugin, kind: Single): string[] =>
  plugin[kind] ?? [join(plugin.path, kind)];

/** The plugin of a skill: one that lists its folder, or has its one file, else the innermost one that contains it. */
export function pluginOf(
  { path, single }: { path: string; single?: Single },
  plugins: readonly Plugin[],
): Plugin | null {
  const holds = (base: string): boolean => isWithin(path, base);
  const around = plugins.filter(({ path }) => holds(path));
  const listing = around.filter((plugin) => {
    const { skills } = plugin;
    return skills !== null && (single === undefined ? skills : singlePlaces(plugin, single)).some(holds);
  });
  const whole = around.filter(({ skills }) => skills === null);
  // For the same folder, its own plugin.json follows the marketplace's entry in the list, and therefore wins.
  const deepest = (list: Plugin[]): Plugin | undefined =>
    list.toSorted((a, b) => a.path.length - b.path.length).at(-1);
  const inner = deepest(whole);
  const listed = deepest(listing);
  if (listed === undefined) return inner ?? null;
  return inner !== undefined && inner.path.length > listed.path.length ? inner : listed;
}
