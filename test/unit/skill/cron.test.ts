import { describe, expect, it } from "vitest";
import { isTimeZone, nextCron, parseCron } from "../../../src/skill/cron.ts";

/** The first times after `from`. */
function times(text: string, zone: string, from: string, count: number): string[] {
  const parsed = parseCron(text);
  if ("fault" in parsed) return [parsed.fault];
  const found: string[] = [];
  for (let at = Date.parse(from); found.length < count; ) {
    at = nextCron(parsed.cron, zone, at) ?? Number.NaN;
    found.push(new Date(at).toISOString().replace(":00.000Z", "Z"));
  }
  return found;
}

describe("fires", () => {
  const cases: [string, string, string, string[]][] = [
    [
      "*/15 * * * *",
      "UTC",
      "2026-01-01T00:15:00Z",
      ["2026-01-01T00:30Z", "2026-01-01T00:45Z", "2026-01-01T01:00Z"],
    ],
    ["0 9-17/4 * * mon-fri", "UTC", "2026-01-02T13:30:00Z", ["2026-01-02T17:00Z", "2026-01-05T09:00Z"]],
    ["5 4 1,15 JAN,7 *", "UTC", "2026-01-15T05:00:00Z", ["2026-07-01T04:05Z", "2026-07-15T04:05Z"]],
    ["50/5 23 * * *", "UTC", "2026-01-01T00:00:00Z", ["2026-01-01T23:50Z", "2026-01-01T23:55Z"]],
    ["0 0 1,31 * *", "UTC", "2026-02-02T00:00:00Z", ["2026-03-01T00:00Z", "2026-03-31T00:00Z"]],
    ["0 0 29 2 *", "UTC", "2026-01-01T00:00:00Z", ["2028-02-29T00:00Z", "2032-02-29T00:00Z"]],
    ["0 0 * * 7", "UTC", "2026-01-01T00:00:00Z", ["2026-01-04T00:00Z", "2026-01-11T00:00Z"]],
    ["0 0 * * 6-0", "UTC", "2026-01-03T00:00:00Z", ["2026-01-04T00:00Z", "2026-01-10T00:00Z"]],
    ["0 0 * * sat-sun", "UTC", "2026-01-03T00:00:00Z", ["2026-01-04T00:00Z", "2026-01-10T00:00Z"]],
    ["0 0 * * 6-00", "UTC", "2026-01-03T00:00:00Z", ["2026-01-04T00:00Z", "2026-01-10T00:00Z"]],
    ["0 0 * * sun-0", "UTC", "2026-01-03T00:00:00Z", ["2026-01-04T00:00Z", "2026-01-11T00:00Z"]],
    ["0 0 * * 5/2", "UTC", "2026-01-02T00:00:00Z", ["2026-01-04T00:00Z", "2026-01-09T00:00Z"]],
    // A step longer than its field leaves the first number.
    ["7/99 0 * * *", "UTC", "2026-01-01T00:00:00Z", ["2026-01-01T00:07Z", "2026-01-02T00:07Z"]],
    ["0 0 10-31/40 */13 *", "UTC", "2026-01-01T00:00:00Z", ["2026-01-10T00:00Z", "2027-01-10T00:00Z"]],
    ["0 0 * * */8", "UTC", "2026-01-03T00:00:00Z", ["2026-01-04T00:00Z", "2026-01-11T00:00Z"]],
    // Both day fields restricted: either.
    [
      "0 0 13 * 5",
      "UTC",
      "2026-01-01T00:00:00Z",
      ["2026-01-02T00:00Z", "2026-01-09T00:00Z", "2026-01-13T00:00Z"],
    ],
    // One that begins with a star restricts together with the other.
    ["0 0 */2 * 5", "UTC", "2026-01-01T00:00:00Z", ["2026-01-09T00:00Z", "2026-01-23T00:00Z"]],
    ["30 9 * * *", "Asia/Kolkata", "2026-01-01T00:00:00Z", ["2026-01-01T04:00Z", "2026-01-02T04:00Z"]],
    ["30 9 * * *", "America/New_York", "2026-03-07T12:00:00Z", ["2026-03-07T14:30Z", "2026-03-08T13:30Z"]],
    // Half past two is left out on the 29th of March, and comes twice on the 25th of October.
    [
      "30 2 * * *",
      "Europe/Berlin",
      "2026-03-28T00:00:00Z",
      ["2026-03-28T01:30Z", "2026-03-29T01:00Z", "2026-03-30T00:30Z"],
    ],
    [
      "30 2 * * *",
      "Europe/Berlin",
      "2026-10-24T00:00:00Z",
      ["2026-10-24T00:30Z", "2026-10-25T00:30Z", "2026-10-26T01:30Z"],
    ],
    // What is left out together is made up for once.
    ["*/15 2 * * *", "Europe/Berlin", "2026-03-29T00:00:00Z", ["2026-03-29T01:00Z", "2026-03-30T00:00Z"]],
    ["0 * * * *", "Europe/Berlin", "2026-03-29T00:00:00Z", ["2026-03-29T01:00Z", "2026-03-29T02:00Z"]],
    [
      "0 * * * *",
      "Europe/Berlin",
      "2026-10-24T22:30:00Z",
      ["2026-10-24T23:00Z", "2026-10-25T00:00Z", "2026-10-25T02:00Z"],
    ],
    // Asked in the middle of the second half past two.
    ["30 2 * * *", "Europe/Berlin", "2026-10-25T01:10:00Z", ["2026-10-26T01:30Z"]],
    // Clocks that move by half an hour, and a day that a country left out.
    ["15 2 * * *", "Australia/Lord_Howe", "2026-10-03T16:00:00Z", ["2026-10-04T15:15Z"]],
    ["15 2 * * *", "Australia/Lord_Howe", "2026-10-02T16:00:00Z", ["2026-10-03T15:30Z", "2026-10-04T15:15Z"]],
    [
      "0 12 * * *",
      "Pacific/Apia",
      "2011-12-29T12:00:00Z",
      ["2011-12-29T22:00Z", "2011-12-30T10:00Z", "2011-12-30T22:00Z"],
    ],
  ];
  it.each(cases)("%s in %s after %s", (text, zone, from, wanted) => {
    expect(times(text, zone, from, wanted.length)).toEqual(wanted);
  });
});

describe("refuses", () => {
  it.each([
    ["* * * *", "has 4 fields"],
    ["* * * * * *", "has 6 fields"],
    ["60 * * * *", '"60" is no minute'],
    ["* 24 * * *", '"24" is no hour'],
    ["* * 0 * *", '"0" is no day of the month'],
    ["* * * 13 *", '"13" is no month'],
    ["* * * * 8", '"8" is no day of the week'],
    ["*/0 * * * *", '"*/0" is no minute'],
    ["9-5 * * * *", '"9-5" is no minute'],
    ["1-2-3 * * * *", '"1-2-3" is no minute'],
    [", * * * *", '"," is no minute'],
    ["@daily", "has 1 field;"],
    // Also where no step reaches the number.
    ["0 2-25/14 * * *", '"2-25/14" is no hour'],
    ["62/8 * * * *", '"62/8" is no minute'],
    ["*/00 * * * *", '"*/00" is no minute'],
    ["0 0 L * *", '"L" is no day of the month'],
    ["0 0 15W * *", '"15W" is no day of the month'],
    ["0 0 ? * *", '"?" is no day of the month'],
    ["0 0 * 1jan *", '"1jan" is no month'],
    ["0 0 * * fri#2", '"fri#2" is no day of the week'],
    ["0 0 1 * +mon", '"+mon" is no day of the week'],
    ["0 0 30 2 *", "names a date that no month has"],
  ])("%s", (text, fault) => {
    expect(parseCron(text)).toEqual({ fault: expect.stringContaining(fault) });
  });

  it("an invalid time zone", () => {
    expect(["UTC", "Europe/Berlin", "Foo/Bar", "", "+25:00"].map(isTimeZone)).toEqual([
      true,
      true,
      false,
      false,
      false,
    ]);
  });
});
