/**
 * Cron expressions of five fields in the wall time of a zone. A local time that a clock change skips counts at the next
 * existing minute; one that occurs twice counts the first time. Pure.
 */
import { counted } from "../plural.ts";

/** The values that each field allows, in order. `dayFree`, `weekdayFree`: the field begins with `*`. */
interface Cron {
  minutes: readonly number[];
  hours: readonly number[];
  days: ReadonlySet<number>;
  months: ReadonlySet<number>;
  weekdays: ReadonlySet<number>;
  dayFree: boolean;
  weekdayFree: boolean;
}

interface Field {
  name: string;
  min: number;
  max: number;
  /** Words for numbers, the first for `min`. */
  words?: readonly string[];
}

const MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const WEEKDAYS = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];
const MINUTE: Field = { name: "minute", min: 0, max: 59 };
const HOUR: Field = { name: "hour", min: 0, max: 23 };
const DAY: Field = { name: "day of the month", min: 1, max: 31 };
const MONTH: Field = { name: "month", min: 1, max: 12, words: MONTHS };
/** 7 is Sunday too. */
const WEEKDAY: Field = { name: "day of the week", min: 0, max: 7, words: WEEKDAYS };

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
const DAY_MS = 86_400_000;
/**
 * Every expression that ever fires does so within this many days, even on the 29th of February across a century year
 * without one.
 */
const HORIZON_DAYS = 366 * 9;
/** No clock change exceeds this. */
const LARGEST_SHIFT_MS = 3 * HOUR_MS;

/** Reads `minute hour day month weekday`, or says what is wrong with it. */
export function parseCron(text: string): { cron: Cron } | { fault: string } {
  const fields = text.trim().split(/\s+/);
  const [minute = "", hour = "", day = "", month = "", weekday = ""] = fields;
  if (fields.length !== 5) {
    return {
      fault: `has ${counted(fields.length, "field")}; it needs five: minute hour day month weekday`,
    };
  }
  const read: number[][] = [];
  for (const [field, given] of [
    [MINUTE, minute],
    [HOUR, hour],
    [DAY, day],
    [MONTH, month],
    [WEEKDAY, weekday],
  ] as const) {
    const values = valuesOf(field, given.toLowerCase());
    if (values === null) {
      return {
        fault: `"${given}" is no ${field.name}: numbers from ${field.min} to ${field.max}, *, a-b, */n, lists`,
      };
    }
    read.push(values);
  }
  const [minutes = [], hours = [], days = [], months = [], weekdays = []] = read;
  const cron = {
    minutes,
    hours,
    days: new Set(days),
    months: new Set(months),
    weekdays: new Set(weekdays.map((value) => value % 7)),
    dayFree: day.startsWith("*"),
    weekdayFree: weekday.startsWith("*"),
  };
  const ever = nextCron(cron, "UTC", Date.UTC(2026, 0, 1)) !== null;
  return ever ? { cron } : { fault: "names a date that no month has" };
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
  const offsetAt = offsetsOf(zone);
  const moved = offsetAt(after - LARGEST_SHIFT_MS) !== offsetAt(after + LARGEST_SHIFT_MS);
  // Near a clock change, local times that seem to be over may still come.
  const from = after + offsetAt(after) - (moved ? LARGEST_SHIFT_MS : 0);
  const firstDay = Math.floor(from / DAY_MS);
  for (let day = firstDay; day < firstDay + HORIZON_DAYS; day += 1) {
    if (!matchesDay(cron, day * DAY_MS)) continue;
    for (const hour of cron.hours) {
      for (const minute of cron.minutes) {
        const local = day * DAY_MS + hour * HOUR_MS + minute * MINUTE_MS;
        if (local < from) continue;
        const at = instantOf(local, offsetAt);
        if (at > after) return at;
      }
    }
  }
  return null;
}

/** @param local midnight of the day, as if it were UTC */
function matchesDay(cron: Cron, local: number): boolean {
  const date = new Date(local);
  if (!cron.months.has(date.getUTCMonth() + 1)) return false;
  const day = cron.days.has(date.getUTCDate());
  const weekday = cron.weekdays.has(date.getUTCDay());
  if (cron.dayFree || cron.weekdayFree) return day && weekday;
  return day || weekday;
}

/** The first instant of a local time; if a clock change skips it, the next existing minute. */
function instantOf(local: number, offsetAt: (at: number) => number): number {
  const before = offsetAt(local - DAY_MS);
  const after = offsetAt(local + DAY_MS);
  const early = local - Math.max(before, after);
  const late = local - Math.min(before, after);
  for (const at of [early, late]) if (at + offsetAt(at) === local) return at;
  let [low, high] = [early, late];
  while (high - low > MINUTE_MS) {
    const middle = low + Math.floor((high - low) / 2 / MINUTE_MS) * MINUTE_MS;
    if (offsetAt(middle) === before) low = middle;
    else high = middle;
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

/** How far the zone's clocks are ahead of UTC at a time, in ms, whole minutes. */
function offsetsOf(zone: string): (at: number) => number {
  if (zone === "UTC") return () => 0;
  const format = formatOf(zone);
  return (at) => {
    const parts: Record<string, number> = {};
    for (const { type, value } of format.formatToParts(at)) parts[type] = Number(value);
    const { year = 0, month = 1, day = 1, hour = 0, minute = 0 } = parts;
    return Date.UTC(year, month - 1, day, hour, minute) - Math.floor(at / MINUTE_MS) * MINUTE_MS;
  };
}

/** The numbers that a field allows, in order; `null`: it cannot be read. */
function valuesOf(field: Field, text: string): number[] | null {
  const values = new Set<number>();
  for (const item of text.split(",")) {
    const [, range = "", step] = /^([^/]+)(?:\/(\d{1,2}))?$/.exec(item) ?? [];
    const every = step === undefined ? 1 : Number(step);
    const ends = endsOf(field, range, step !== undefined);
    if (ends === null || every === 0) return null;
    for (let value = ends[0]; value <= ends[1]; value += every) values.add(value);
  }
  return [...values].sort((a, b) => a - b);
}

/** @param stepped `5/10` runs from 5 to the field's end */
function endsOf(field: Field, range: string, stepped: boolean): [number, number] | null {
  if (range === "*") return [field.min, field === WEEKDAY ? 6 : field.max];
  const [from = "", to] = range.split("-");
  const first = numberOf(field, from);
  const named = to === undefined ? null : numberOf(field, to);
  // A week may end with its Sunday: sat-sun.
  const end = field === WEEKDAY && named === 0 && first !== 0 ? 7 : named;
  const last = to === undefined ? (stepped ? field.max : first) : end;
  if (first === null || last === null || range.split("-").length > 2 || first > last) return null;
  return [first, last];
}

function numberOf({ min, max, words = [] }: Field, text: string): number | null {
  const word = words.indexOf(text);
  if (word !== -1) return min + word;
  const value = /^\d{1,2}$/.test(text) ? Number(text) : -1;
  return value >= min && value <= max ? value : null;
}
