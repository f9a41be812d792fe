/**
 * One SKILL.md by the rules of the Agent Skills format alone: what a strict reader says of it, and
 * what can be loaded of it. Import it lazily in the Worker, since it evaluates the `yaml` module.
 */
import { type AgentSkillText, PLAIN_FIELDS, readAgentSkill, unifySpelling } from "./agent-skill.ts";
import { decodeText, noteSize, reportEncoding } from "./file-text.ts";
import { Findings } from "./findings.ts";
import { readFrontmatter, reportRemedies } from "./frontmatter/read.ts";
import type { Diagnostic } from "./manifest.ts";
import { judgeStrictly } from "./verdict.ts";

interface SkillSource {
  /** Name of the skill's folder; absent: it has none. */
  directory?: string;
  /** Of the file in it; `SKILL.md` unless given. */
  fileName?: string;
}

export interface Verdict {
  valid: boolean;
  diagnostics: Diagnostic[];
}

export interface ParsedAgentSkill {
  /** As the lenient reading has it; absent where it refuses the skill. */
  record?: AgentSkillText;
  verdicts: { strict: Verdict; lenient: Verdict };
  /** Those of the lenient reading. */
  diagnostics: Diagnostic[];
}

/** @param content the file's bytes, or its text where that is known to be UTF-8 */
export function parseSkill(content: Uint8Array | string, source: SkillSource = {}): ParsedAgentSkill {
  const { directory, fileName = "SKILL.md" } = source;
  const found = () => new Findings(directory ?? "", fileName);
  const { text, valid } = typeof content === "string" ? { text: content, valid: true } : decodeText(content);
  const strict = found();
  if (fileName !== "SKILL.md" && fileName !== "skill.md") {
    const message = `The Agent Skills format looks for SKILL.md, then skill.md, and does not find ${fileName}.`;
    strict.error("skill_file_missing", {}, message, "Rename it to SKILL.md.");
  } else if (!valid) reportEncoding(strict, true);
  else judgeStrictly(strict, text, directory);
  const lenient = found();
  if (fileName !== "SKILL.md")
    lenient.warning(
      "file_name_case",
      {},
      `The file is called ${fileName}, not SKILL.md.`,
      "Rename it to SKILL.md.",
    );
  if (!valid) reportEncoding(lenient, false);
  const { root, body, remedies } = readFrontmatter(text, lenient);
  reportRemedies(lenient, remedies, false);
  const record =
    root === null ? null : readAgentSkill(lenient, unifySpelling(root, PLAIN_FIELDS), body, directory);
  if (record !== null) noteSize(lenient, text, body);
  return {
    ...(record === null ? {} : { record }),
    verdicts: { strict: verdict(strict), lenient: verdict(lenient) },
    diagnostics: lenient.list,
  };
}

const verdict = ({ failed, list }: Findings): Verdict => ({ valid: !failed, diagnostics: list });
