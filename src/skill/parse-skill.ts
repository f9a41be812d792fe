/**
 * Reads one SKILL.md by the rules of the Agent Skills format alone: a strict reader's verdict, and what Hull can load
 * of it. Import it lazily in the Worker, since it evaluates the `yaml` module.
 */
import { type AgentSkillText, readAgentSkill, unifySpelling } from "./agent-skill.ts";
import { noteSize, reportEncoding, reportName } from "./file-findings.ts";
import { decodeText } from "./file-text.ts";
import { Findings } from "./findings.ts";
import { type PlaceInBody, readFrontmatter, reportRemedies } from "./frontmatter/read.ts";
import type { Diagnostic } from "./manifest.ts";
import { PLAIN_FIELDS } from "./manifest-fields.ts";
import { validateStrictly } from "./strict-validation.ts";

interface SkillSource {
  /** Name of the skill's folder; absent: it has none. */
  directory?: string;
  /** Name of the file; `SKILL.md` by default. */
  fileName?: string;
}

interface FormatVerdict {
  valid: boolean;
  diagnostics: Diagnostic[];
}

export interface ParsedAgentSkill {
  /** The lenient reading; absent if it refuses the skill. */
  record?: AgentSkillText;
  /** For an offset into the record's body. */
  placeInBody: PlaceInBody;
  verdicts: { strict: FormatVerdict; lenient: FormatVerdict };
  /** Diagnostics of the lenient reading. */
  diagnostics: Diagnostic[];
}

/** @param content the file's bytes, or its text if known to be UTF-8 */
export function parseSkill(content: Uint8Array | string, source: SkillSource = {}): ParsedAgentSkill {
  const { directory, fileName = "SKILL.md" } = source;
  const found = () => new Findings(directory ?? "", fileName);
  const { text, fault } = typeof content === "string" ? { text: content, fault: null } : decodeText(content);
  const strict = found();
  if (fileName !== "SKILL.md" && fileName !== "skill.md") {
    const message = `The Agent Skills format looks for SKILL.md, then skill.md, and does not find ${fileName}.`;
    strict.error("skill_file_missing", {}, message, "Rename it to SKILL.md.");
  } else if (fault !== null) reportEncoding(strict, fault, true);
  else validateStrictly(strict, text, directory);
  const lenient = found();
  if (fileName !== "SKILL.md") reportName(lenient, fileName);
  if (fault !== null) reportEncoding(lenient, fault, false);
  const { root, body, placeInBody, remedies } = readFrontmatter(text, lenient);
  reportRemedies(lenient, remedies, false);
  const record =
    root === null ? null : readAgentSkill(lenient, unifySpelling(root, PLAIN_FIELDS), body, directory);
  if (record !== null) noteSize(lenient, text, body);
  return {
    ...(record === null ? {} : { record }),
    placeInBody,
    verdicts: { strict: verdict(strict), lenient: verdict(lenient) },
    diagnostics: lenient.list,
  };
}

const verdict = ({ failed, list }: Findings): FormatVerdict => ({ valid: !failed, diagnostics: list });
