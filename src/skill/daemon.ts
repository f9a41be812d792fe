/** The `daemon` of an llm skill: an agent that lives as long as the skill is served. */
import { isTimeZone, parseCron } from "./cron.ts";
import { readMapping, readText, readTexts } from "./fields.ts";
import type { Findings } from "./findings.ts";
import type { DaemonDeclaration, Mode } from "./manifest.ts";
import { DAEMON_FIELDS } from "./manifest-fields.ts";
import type { Slot } from "./tree.ts";
import { leadsOutside } from "./watch-path.ts";

export function readDaemon(
  findings: Findings,
  slot: Slot,
  mode: Mode | undefined,
): DaemonDeclaration | undefined {
  if (mode !== undefined && mode !== "llm") {
    const message = `daemon has no effect in mode: ${mode}; only llm skills can be daemons.`;
    findings.error("field_of_other_mode", slot, message, "Remove daemon.");
    return undefined;
  }
  return readMapping(findings, slot, DAEMON_FIELDS, {
    cron: (at) => readCron(findings, at),
    time_zone: (at) => readZone(findings, at),
    watch_paths: (at) =>
      readTexts(findings, at, "paths of files", (path) =>
        leadsOutside(path) ? "it is outside of the session's files; write it relative, without .." : null,
      )?.map(({ text }) => text),
  });
}

function readCron(findings: Findings, slot: Slot): string | undefined {
  const text = readText(findings, slot);
  if (text === undefined) return undefined;
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

function readZone(findings: Findings, slot: Slot): string | undefined {
  const text = readText(findings, slot);
  if (text === undefined || isTimeZone(text)) return text;
  findings.error(
    "time_zone",
    slot,
    `"${text}" is not a time zone.`,
    "Write an IANA name, e.g. Europe/Berlin.",
  );
  return undefined;
}
