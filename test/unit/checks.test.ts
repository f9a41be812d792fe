import { expect, test } from "vitest";
import { checksShown } from "../support/checks.ts";

/** Checks S1 to S120. */
const COUNT = 120;
/** Halves of a Check that different tests show: each word must stand in the name of one that has the number. */
const HALVES: Record<number, string[]> = {
  2: ["npm test"],
  27: ["any name", "environment"],
  31: ["before the first byte", "process group", "abort ends"],
  33: ["memory", "signal"],
  74: ["600", "own limit"],
  82: ["split over two writes", "proxy skill"],
  85: ["said plainly", "not run again"],
  114: ["in dev", "empty account"],
  117: ["memory", "network", "environment"],
  119: ["rollback", "uploaded", "held by"],
};

test("every Check has a test with its number", () => {
  const shown = checksShown();
  const numbers = Array.from({ length: COUNT }, (_, index) => index + 1);
  expect(numbers.filter((number) => !shown.has(number)).map((number) => `S${number}`)).toEqual([]);
  expect([...shown.keys()].filter((number) => !numbers.includes(number))).toEqual([]);
  const missing = Object.entries(HALVES).flatMap(([number, words]) => {
    const names = shown.get(Number(number))?.map(({ name }) => name) ?? [];
    return words
      .filter((word) => !names.some((name) => name.includes(word)))
      .map((word) => `S${number} ${word}`);
  });
  expect(missing).toEqual([]);
});
