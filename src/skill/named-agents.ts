/** The agents that texts of skills name: skills whose `context` is `agent`. Pure. */

import { memo } from "../memo.ts";
import type { Card, SkillRecord } from "./manifest.ts";
import { byteOrder } from "./path.ts";
import { slugify } from "./slug.ts";
import { allowedTools, SUB_AGENT } from "./tool-names.ts";

/** The most agents that come with the skills of a run. */
const MAX_AGENTS = 50;

export const isAgent = ({ manifest }: SkillRecord): boolean => manifest.activation?.context === "agent";

interface Cards {
  readonly cards: readonly Card[];
}

/** The slugs of the agents that one skill's text names. A run may have a thousand skills. */
const namedBy = memo(({ cards }: Cards) => {
  const agents = cards.filter(({ agent }) => agent === true);
  return memo((record: SkillRecord): readonly string[] =>
    agents.filter((agent) => isNamedIn(record, agent)).map(({ slug }) => slug),
  );
});

/**
 * The slugs of the agents in a catalog that the texts of these skills name, sorted. An upload brings no agents: they may
 * have tools that it may not have.
 */
export function agentsIn(catalog: Cards, records: readonly SkillRecord[]): string[] {
  const trusted = records.filter(({ uploaded_by }) => uploaded_by === undefined);
  const named = new Set(trusted.flatMap(namedBy(catalog)));
  return [...named].sort(byteOrder).slice(0, MAX_AGENTS);
}

/** Whether a skill names an agent: one of its own plugin by its name, any agent as `plugin:name` or `plugin-name`. */
function isNamedIn(record: SkillRecord, { slug, name, namespace }: Card): boolean {
  const { manifest, body } = record;
  if (slug === manifest.slug) return false;
  const words = wordsOf(record);
  if (namespace !== undefined && [":", "-"].some((sign) => words.has(`${namespace}${sign}${name}`)))
    return true;
  if (namespace !== record.namespace || !words.has(name)) return false;
  return /[-_]/.test(name) || manifest.activation?.agent === name || isMarked(body, name);
}

/** The words of a skill's text, also as `plugin:name` with the plugin as a slug. */
const wordsOf = memo(({ body, manifest }: SkillRecord): ReadonlySet<string> => {
  const text = `${body}\n${manifest.activation?.agent ?? ""}`;
  const words = (text.match(/\w[\w:-]*/g) ?? []).flatMap((found) => {
    const parts = found.split(":").map((part) => part.replace(/(?<!-)-+$/, ""));
    return parts.flatMap((part, at) => [part, `${slugify(parts[at - 1] ?? "")}:${part}`]);
  });
  return new Set(words);
});

/** Whether a word, such as `planner`, means an agent there: it is marked as a name, or stands by the word "agent". */
const isMarked = (text: string, word: string): boolean =>
  new RegExp(
    `[\`"'*@]${word}[\`"'*]|@${word}\\b|\\b${word}[ -](?:sub-?)?agents?\\b|\\bsubagent_type\\W{1,6}${word}\\b`,
    "i",
  ).test(text);

/** The agent as which a skill works according to its fields `context: fork` and `agent`; `undefined`: none of these. */
export function agentOf(
  { manifest, namespace }: SkillRecord,
  records: readonly SkillRecord[],
): SkillRecord | undefined {
  const { context, agent = "" } = manifest.activation ?? {};
  if (context !== "fork") return undefined;
  const [, plugin, name = ""] = /^(?:(.*):)?([^:]+)$/s.exec(agent) ?? [];
  const home = plugin === undefined ? namespace : slugify(plugin);
  return records.find((one) => isAgent(one) && one.manifest.name === name && one.namespace === home);
}

/** How texts say that the model hands work to others. */
const DELEGATION =
  /\bsubagent_type\b|\b(?:Task|Agent) tool\b|\b(?:launch|spawn|dispatch)\w*[^.\n]{0,40}\b(?:sub-?)?agents?\b/i;

/**
 * Whether a skill says, in its text or by the tools that it names, that its model hands work to others. Uploads do not
 * decide what a run may spend.
 */
export const wantsSubAgents = memo(
  ({ manifest, body, uploaded_by }: SkillRecord): boolean =>
    uploaded_by === undefined &&
    (DELEGATION.test(body) ||
      allowedTools([...(manifest.allowed_tools ?? []), ...(manifest.tool_scope ?? [])]).some(
        ({ tool }) => tool === SUB_AGENT,
      )),
);
