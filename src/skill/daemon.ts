/** The `daemon` of an llm skill: an agent that lives as long as the skill is served. */
import { isTimeZone, parseCron } from "./cron.ts";
import {
  MAX_MS,
  readInteger,
  readMap,
  readRequiredText,
  readText,
  readTexts,
  warnUnknown,
  wrongType,
} from "./fields.ts";
import type { Findings } from "./findings.ts";
import type { DaemonDeclaration, Mode } from "./manifest.ts";
import { child, type MapNode, mapToJson, type Slot } from "./tree.ts";

const KEYS = ["task", "cron", "time_zone", "wake_interval_ms", "watch_paths", "options"];

export function readDaemon(
  findings: Findings,
  root: MapNode,
  mode: Mode | undefined,
): DaemonDeclaration | undefined {
  const slot = child(root, "daemon");
  if (slot === undefined) return undefined;
  if (mode !== undefined && mode !== "llm") {
    const message = `daemon has no effect in mode: ${mode}; only llm skills can be daemons.`;
    findings.error("field_of_other_mode", slot, message, "Remove daemon.");
    return undefined;
  }
  const map = readMap(findings, slot);
  if (map === undefined) return undefined;
  warnUnknown(findings, map, "daemon", KEYS);
  const field = (name: string): Slot | undefined => child(map, name, "daemon");
  const task = readRequiredText(findings, { path: "daemon", at: slot.at }, "task", field("task"));
  const cron = readCron(findings, field("cron"));
  const time_zone = readZone(findings, field("time_zone"));
  const wake_interval_ms = readInteger(findings, field("wake_interval_ms"), { min: 1, max: MAX_MS });
  const watch_paths = readTexts(findings, field("watch_paths"), "paths of files", () => null);
  const options = readOptions(findings, field("options"));
  if (task === undefined) return undefined;
  return {
    task,
    ...(cron === undefined ? {} : { cron }),
    ...(time_zone === undefined ? {} : { time_zone }),
    ...(wake_interval_ms === undefined ? {} : { wake_interval_ms }),
    ...(watch_paths === undefined ? {} : { watch_paths: watch_paths.map(({ text }) => text) }),
    ...(options === undefined ? {} : { options }),
  };
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
