/** The variables that templates of outgoing calls get, and the remedies that refusals name. */
import { expect, test } from "vitest";
import { SentVariables } from "../../../src/run/sent-variables.ts";

const read = (name: string): string | undefined => (name === "UNSET" ? undefined : `<${name}>`);
const fill = (name: string, granted: string[] | null): string =>
  new SentVariables(read, granted && new Set(granted)).fill(`a \${${name}} b`, (value) => value);

test.each([
  ["TOKEN", null],
  ["TOKEN", ["TOKEN"]],
])("%s for a skill with the grants %j", (name, granted) => {
  expect(fill(name, granted)).toBe("a <TOKEN> b");
});

test.each([
  ["UNSET", null, "The variable UNSET is not set. Set it as a Worker secret"],
  ["HULL_X", null, "Use a variable with another name."],
  ["HUSK_X", ["HUSK_X"], "Use a variable with another name."],
  ["TOKEN", [], "The operator grants it in HULL_GRANTS."],
])("%s with the grants %j is refused with its remedy", (name, granted, remedy) => {
  expect(() => fill(name, granted)).toThrow(remedy);
});
