/**
 * Cron expressions of five fields in the wall time of a zone. A local time that a clock change skips counts at the next
 * existing minute; one that occurs twice counts the first time. croner reads expressions and finds local times. Its own
 * zones have other rules: lists and steps leave out what is skipped, and count twice what occurs twice. Pure.
 */
import { Cron } from "croner";
import { counted } from "../plural.ts";

/** The name of each field, in order, the numbers that it takes, and how many different ones there are. */
const FIELDS = [
  ["minute", "0 to 59", 60],
  ["hour", "0 to 23", 24],
  ["day of the month", "1 to 31", 31],
  ["month", "1 to 12", 12],
  ["day of the week", "0 to 7", 7],
] as const;

const WORDS = "jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec|sun|mon|tue|wed|thu|fri|sat";
const VALUE = `(?:\\d{1,2}|${WORDS})`;
const ITEM = `(?:\\*|${VALUE}(?:-${VALUE})?)(?:/(?!00?\\b)\\d{1,2})?`;
/** croner takes more: `L`, `W`, `#`, `?`, `+`, and words that touch numbers. */
const FIELD = new RegExp(`^${ITEM}(?:,${ITEM})*$`, "i");

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;

/** Reads `minute hour day month weekday`, or says what is wrong with it. */
export function parseCron(text: string): { cron: Cron } | { fault: string } {
  const fields = text.trim().split(/\s+/);
  if (fields.length !== 5) {
    return { fault: `has ${counted(fields.length, "field")}; it needs five: minute hour day month weekday` };
  }
  for (const [at, [name, numbers]] of FIELDS.entries()) {
    const given = fields[at] ?? "";
    // croner does not look at an end that no step reaches, nor at a beginning beyond it.
    const alone = fields.map((field, n) => (n === at ? field.replace(/\/\d+/g, "") : "*"));
    if (!FIELD.test(given) || cronOf(alone) === null)
      return { fault: `"${given}" is no ${name}: numbers from ${numbers}, *, a-b, */n, lists` };
  }
  const cron = cronOf(fields);
  return cron === null || cron.nextRun() === null ? { fault: "names a date that no month has" } : { cron };
}

/** In local time as if it were UTC; `null`: it cannot be read. */
function cronOf(fields: readonly string[]): Cron | null {
  const [, , day = "", , weekday = ""] = fields;
  const pattern = fields.map((field, n) => withinField(n === 4 ? withSunday(field) : field, n)).join(" ");
  const domAndDow = day.startsWith("*") || weekday.startsWith("*");
  try {
    return new Cron(pattern, { mode: "5-part", sloppyRanges: true, utcOffset: 0, domAndDow });
  } catch {
    return null;
  }
}

/** A week may also end with its Sunday: `sat-sun`, `6-0`, and `5/2`, which runs to the end of the week. */
function withSunday(weekday: string): string {
  return weekday
    .replace(/\bsun\b/gi, "0")
    .replace(/(\b0?0)?-0?0\b/g, (_, first?: string) => (first === undefined ? "-7" : "0-0"))
    .replace(/(^|,)([^,*/-]+)\//g, "$1$2-7/");
}

/** A step longer than its field leaves the first number, as one of the field's length does; croner refuses it. */
function withinField(field: string, n: number): string {
  const [, , size = 0] = FIELDS[n] ?? [];
  return field.replace(/\/(\d+)/g, (_, step: string) => `/${Math.min(Number(step), size)}`);
}

/** Whether this is the name of a time zone (IANA). */
export function isTimeZone(name: string): boolean {
  try {
    return formatOf(name).resolvedOptions().timeZone !== "";
  } catch {
    return false;
  }
}

/** The first time (Unix ms) after `after` at which the expression fires in the zone; `null`: never. */
export function nextCron(cron: Cron, zone: string, after: number): number | null {
  const localAt = localIn(zone);
  let local = cron.nextRun(new Date(localAt(after)));
  while (local !== null) {
    const at = firstAt(local.getTime(), localAt);
    // While a local time occurs again, those that follow it have been.
    if (at > after) return at;
    local = cron.nextRun(local);
  }
  return null;
}

/** The first time (Unix ms) at which the zone's clocks show this local time or, if they skip it, a later one. */
function firstAt(local: number, localAt: (at: number) => number): number {
  const offsets = [local - DAY_MS, local + DAY_MS].map((at) => localAt(at) - at);
  let low = local - Math.max(...offsets);
  if (localAt(low) === local) return low;
  let high = local - Math.min(...offsets);
  while (low < high) {
    const middle = low + Math.floor((high - low) / 2 / MINUTE_MS) * MINUTE_MS;
    if (localAt(middle) >= local) high = middle;
    else low = middle + MINUTE_MS;
  }
  return high;
}

/** @throws RangeError if the zone does not exist */
function formatOf(timeZone: string): Intl.DateTimeFormat {
  return new Intl.DateTimeFormat("en-US", {
    timeZone,
    hourCycle: "h23",
    calendar: "gregory",
    year: "numeric",
    month: "numeric",
    day: "numeric",
    hour: "numeric",
    minute: "numeric",
  });
}

/** What the zone's clocks show at a time, in whole minutes, as if it were UTC. */
function localIn(zone: string): (at: number) => number {
  const format = formatOf(zone);
  return (at) => {
    const parts: Record<string, number> = {};
    for (const { type, value } of format.formatToParts(at)) parts[type] = Number(value);
    const { year = 0, month = 1, day = 1, hour = 0, minute = 0 } = parts;
    return Date.UTC(year, month - 1, day, hour, minute);
  };
}
