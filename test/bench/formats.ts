/** Reading a folder of many Agent Skills: the strict verdict and the lenient reading of each. */
import { parseSkill } from "../../src/skill/parse-skill.ts";
import { type Row, row } from "./row.ts";

const seconds = (value: number): string => `${value.toFixed(2)} s`;
/** The time of a parser of YAML alone is no floor: the split, the rules and the lint are the work. */
const TARGET_S = 2;

/** Like those in the wild: most with fields of other clients, some with lists in brackets, some that need quotes. */
function skillText(i: number): string {
  const odd = [
    "version: 1.0\nauthor: someone\n",
    "allowed-tools: [Read, Grep, Bash]\n",
    "metadata:\n  version: 1.0\n  tags:\n    - a\n    - b\n",
    `risk: unknown\ndate_added: "2026-01-0${i % 9}"\n`,
    "note: Use when: asked\n",
  ];
  const description = `Does number ${i} of many things, with care. ${"Use when a table has to be read. ".repeat(4)}`;
  const body = `# Skill ${i}\n\n${"A line of instructions that a model reads, about as long as such lines are.\n".repeat(80)}`;
  return `---\nname: skill-${i}\ndescription: ${description}\n${odd[i % odd.length]}---\n\n${body}`;
}

export async function formatRows(count: number): Promise<Row[]> {
  const encoder = new TextEncoder();
  const files = Array.from({ length: count }, (_, i) => encoder.encode(skillText(i)));
  const begun = performance.now();
  const loaded = files.filter(
    (file, i) => parseSkill(file, { directory: `skill-${i}` }).record !== undefined,
  );
  const took = (performance.now() - begun) / 1000;
  if (loaded.length !== count) throw new RangeError(`${loaded.length} of ${count} files load`);
  return [row(`parse and validate ${count} SKILL.md`, "", seconds(took), took, TARGET_S, seconds)];
}
