/**
 * The parts of a skill that can break without stopping it: its tools.json as a whole, each tool of it, each workflow,
 * and the plugin that it belongs to. Watch mode compares them, so that a part that breaks does not replace one that
 * worked. Pure.
 */
import type { SkillRecord } from "./manifest.ts";
import { TOOLS_FILE } from "./tools-json/read.ts";

/** The plugin of a skill. */
export const PLUGIN_PART = "plugin";
const toolPart = (name: string): string => `tool ${name}`;
export const workflowPart = (name: string): string => `workflow ${name}`;

/**
 * The parts that errors leave out or disable.
 * @param tools names; `null`: tools.json cannot be read
 * @param workflows names
 */
export function brokenParts(tools: readonly string[] | null, workflows: readonly string[]): string[] {
  return [...(tools?.map(toolPart) ?? [TOOLS_FILE]), ...workflows.map(workflowPart)];
}

/** The parts of a skill that work. @param broken the parts that do not */
export function workingParts(
  { tools = [], workflows = [], plugin }: Pick<SkillRecord, "tools" | "workflows" | "plugin">,
  broken: readonly string[],
): string[] {
  const parts = [
    ...(tools.length === 0 ? [] : [TOOLS_FILE]),
    ...tools.map(({ name }) => toolPart(name)),
    ...workflows.map(({ name }) => workflowPart(name)),
    ...(plugin === undefined ? [] : [PLUGIN_PART]),
  ];
  return parts.filter((part) => !broken.includes(part));
}
