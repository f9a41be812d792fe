/** The mode of a skill, and which fields belong to which mode. */
import { readChoice } from "./fields.ts";
import type { Findings } from "./findings.ts";
import type { Mode } from "./manifest.ts";
import { FIELDS, MODES } from "./manifest-fields.ts";
import { child, type MapNode, type Slot } from "./tree.ts";

const MODE_OF_KEY = new Map<string, Mode>(
  FIELDS.flatMap(([name, { makes }]) => (makes === undefined ? [] : [[name, makes]])),
);

const fieldsOf = (mode: Mode, all: boolean): string[] =>
  FIELDS.flatMap(([name, { modes = [] }]) =>
    modes.includes(mode) && (all || modes.length === 1) ? [name] : [],
  );
/** Includes the fields that llm skills may have too. */
const PROXY_FIELDS = fieldsOf("proxy", true);
const PROXY_ONLY = fieldsOf("proxy", false);
const LLM_ONLY = fieldsOf("llm", false);

/** The mode, given or inferred; `undefined` if it is unclear, which is then reported. */
export function readMode(findings: Findings, root: MapNode): Mode | undefined {
  const modeSlot = child(root, "mode");
  const stated = modeSlot && readChoice(findings, modeSlot, MODES);
  if (modeSlot !== undefined && stated === undefined) return undefined;
  const present = Array.from(MODE_OF_KEY.keys()).flatMap((key) => {
    const slot = child(root, key);
    return slot === undefined ? [] : [slot];
  });
  if (present.length > 1) {
    const names = present.map((slot) => slot.path).join(" and ");
    const last = present.reduce((a, b) => (b.at.line > a.at.line ? b : a));
    findings.error(
      "conflicting_modes",
      last,
      `${names} exclude each other: a skill is a script (run), a static file (serve), a proxy (proxy) or an llm skill (tools).`,
      "Keep one of them, or make two skills.",
    );
    return undefined;
  }
  const [own] = present;
  const inferred = own === undefined ? "llm" : MODE_OF_KEY.get(own.path);
  if (stated === undefined) return inferred;
  if (own !== undefined && inferred !== stated) return reportForeign(findings, own, inferred, stated);
  if (own === undefined && stated !== "llm") {
    const [key] = FIELDS.find(([, { makes }]) => makes === stated) ?? [];
    findings.error(
      "mode_key_missing",
      modeSlot ?? {},
      `mode: ${stated} needs the field ${key}.`,
      `Add ${key}:, or change the mode.`,
    );
    return undefined;
  }
  return stated;
}

function reportForeign(findings: Findings, own: Slot, inferred: Mode | undefined, stated: Mode): undefined {
  findings.error(
    "mode_mismatch",
    own,
    `mode: ${stated} contradicts ${own.path}, which belongs to mode: ${inferred}.`,
    `Remove ${own.path}, or set mode: ${inferred}.`,
  );
}

/** Reports fields without meaning in this mode: errors for proxy fields, warnings for llm settings. */
export function checkModeFields(findings: Findings, root: MapNode, mode: Mode): void {
  for (const key of mode === "proxy" ? [] : PROXY_FIELDS) {
    const slot = child(root, key);
    const counts = mode === "llm" && !PROXY_ONLY.includes(key);
    if (slot !== undefined && !counts) {
      findings.error(
        "field_of_other_mode",
        slot,
        `${key} belongs to proxy skills; this is mode: ${mode}.`,
        `Remove ${key}.`,
      );
    }
  }
  for (const key of mode === "llm" ? [] : LLM_ONLY) {
    const slot = child(root, key);
    if (slot !== undefined) {
      findings.warning(
        "field_of_other_mode",
        slot,
        `${key} has no effect in mode: ${mode}.`,
        `Remove ${key}.`,
      );
    }
  }
}
