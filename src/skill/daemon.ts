/** The `daemon` of an llm skill: an agent that lives as long as the skill is served. */
import { isTimeZone, parseCron } from "./cron.ts";
import { readMapping, readText, wrongType } from "./fields.ts";
import type { Findings } from "./findings.ts";
import type { DaemonDeclaration, Mode } from "./manifest.ts";
import { DAEMON_FIELDS } from "./manifest-fields.ts";
import { mapToJson, type Slot } from "./tree.ts";

export function readDaemon(
  findings: Findings,
  slot: Slot | undefined,
  mode: Mode | undefined,
): DaemonDeclaration | undefined {
  if (slot === undefined) return undefined;
  if (mode !== undefined && mode !== "llm") {
    const message = `daemon has no effect in mode: ${mode}; only llm skills can be daemons.`;
    findings.error("field_of_other_mode", slot, message, "Remove daemon.");
    return undefined;
  }
  return readMapping(findings, slot, DAEMON_FIELDS, {
    cron: (at) => readCron(findings, at),
    time_zone: (at) => readZone(findings, at),
    options: (at) => readOptions(findings, at),
  });
}

function readCron(findings: Findings, slot: Slot | undefined): string | undefined {
  const text = readText(findings, slot);
  if (text === undefined || slot === undefined) return undefined;
  const parsed = parseCron(text);
  if ("cron" in parsed) return text;
  findings.error(
    "cron",
    slot,
    `The field ${slot.path} ${parsed.fault}.`,
    'Write for example "30 9 * * mon-fri".',
  );
  return undefined;
}

function readZone(findings: Findings, slot: Slot | undefined): string | undefined {
  const text = readText(findings, slot);
  if (text === undefined || slot === undefined || isTimeZone(text)) return text;
  findings.error(
    "time_zone",
    slot,
    `"${text}" is not a time zone.`,
    "Write an IANA name, e.g. Europe/Berlin.",
  );
  return undefined;
}

/** Their names are checked when the daemon starts, since they depend on the deployment. */
function readOptions(findings: Findings, slot: Slot | undefined) {
  if (slot === undefined) return undefined;
  if (slot.node.kind === "map") return mapToJson(slot.node);
  wrongType(findings, slot, "a mapping of options of a run");
  return undefined;
}
