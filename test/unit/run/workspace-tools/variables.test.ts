/** Variables of a command, read by bash itself. */
import { execFileSync } from "node:child_process";
import { expect, it } from "vitest";
import { withArguments, withVariables } from "../../../../src/run/workspace-tools/variables.ts";

const printed = (command: string): string => execFileSync("bash", ["-c", command], { encoding: "utf8" });

it.each(["plain", "", "two words", "it's", '$HOME `id` \\ "x"', "line\nline", "'; exit 3; '"])(
  "reaches the command unchanged: %j",
  (value) => {
    const command = `printf '%s' "$A" && bash -c 'printf "|%s" "$B"'`;
    expect(printed(withVariables(command, { A: value, B: value }))).toBe(`${value}|${value}`);
  },
);

it("leaves a command without variables unchanged, and the line numbers of one with some", () => {
  expect(withVariables("# a\necho hi")).toBe("# a\necho hi");
  expect(printed(withVariables("echo $LINENO\necho $A $LINENO", { A: "x" }))).toBe("1\nx 2\n");
});

it("arguments of any length leave a command that names none of them unchanged", () => {
  const long = "two words ".repeat(100_000);
  expect(printed(withArguments("echo $((1 + 1)) '$' $HOME > /dev/null; echo done", long))).toBe("done\n");
  const named = 'printf \'[%s]\' "$ARGUMENTS" $0 "${1}" $# ${@:2} $ARGUMENTS[1]';
  expect(printed(withArguments(named, "a 'b c' $(d)"))).toBe("[a 'b c' $(d)][a][b c][2][$(d)][b][c]");
});
