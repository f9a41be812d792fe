import { expect, test } from "vitest";
import { counted } from "../../src/plural.ts";

test.each([
  [0, "0 skills"],
  [1, "1 skill"],
  [2, "2 skills"],
])("%i", (count, text) => {
  expect(counted(count, "skill")).toBe(text);
});
