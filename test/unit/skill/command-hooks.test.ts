/** Commands in the field `hooks` of a skill. */
import { describe, expect, it, test } from "vitest";
import { watches } from "../../../src/skill/command-hooks.ts";
import { parseSkill } from "../../../src/skill/parse-skill.ts";
import { file } from "./skill-md-fixtures.ts";

function read(hooks: string) {
  const text = file(`name: my-skill\ndescription: Works.\nhooks:${hooks}`);
  const { record, diagnostics } = parseSkill(text, { directory: "my-skill" });
  return {
    hooks: record?.activation?.command_hooks,
    found: diagnostics.map(({ code, line, message }) => ({ code, line, message })),
  };
}
const usual = { event: "PreToolUse", matcher: "", timeout_ms: 60_000 };

describe("command hooks", () => {
  it("are read in their order, in both forms that skills use", () => {
    const { hooks, found } = read(`
  on_activate: greet
  PostToolUse:
    - matcher: "Write|Edit"
      hooks:
        - type: command
          command: |
            lint "$x"
            exit 2
          timeout: 5
        - command: second
          timeout: 9000
  PreToolUse:
    - matcher: "*"
      command: third
      once: true
    - hooks: {type: command, command: fourth, timeout: soon}`);
    expect(hooks).toEqual([
      { event: "PostToolUse", matcher: "Write|Edit", command: 'lint "$x"\nexit 2', timeout_ms: 5000 },
      { event: "PostToolUse", matcher: "Write|Edit", command: "second", timeout_ms: 600_000 },
      { ...usual, matcher: "*", command: "third", once: true },
      { ...usual, command: "fourth" },
    ]);
    expect(found).toEqual([
      {
        code: "command_hooks",
        line: 4,
        message:
          "Hull runs the commands that hooks names for PostToolUse, PreToolUse, if Bash may run them without an approval.",
      },
    ]);
  });

  it.each<[string, string, string[]]>([
    [
      "other events",
      "\n  PreCompact: []\n  PreToolUse: [{command: a}]\n  SessionStart: x",
      ["PreCompact, SessionStart"],
    ],
    [
      "other types",
      "\n  PreToolUse: [{hooks: [{type: prompt, prompt: Is it well?}]}, {command: a}]",
      ["PreToolUse hooks of the type prompt"],
    ],
    [
      "no command",
      "\n  PreToolUse: [{matcher: Bash}, {command: a}]",
      ["a hook of PreToolUse without a command"],
    ],
    ["no mapping", " ./hooks.json", ["what is not a mapping of events"]],
  ])("one warning names what Hull does not run: %s", (_, given, [missed]) => {
    const { hooks, found } = read(given);
    expect(hooks).toEqual(given.includes("command: a") ? [{ ...usual, command: "a" }] : undefined);
    const further = hooks === undefined ? [] : [{ code: "command_hooks" }];
    expect(found).toMatchObject([{ code: "field_not_carried_out", line: 4 }, ...further]);
    expect(found[0]?.message).toContain(`it does not run ${missed}.`);
  });

  it.each<[string, string[]]>([
    ["if: Bash(git *)", ["if: the command runs for each call that the matcher names"]],
    ["async: true, asyncRewake: true", ["async: the run waits", "asyncRewake: the run waits"]],
    ["args: [-v, x]", ["args: the command gets no arguments"]],
    ["shell: powershell", ["shell: the shell of Bash runs"]],
    ["if: '', async: false, asyncRewake: false, shell: bash, statusMessage: Checking, type: command", []],
  ])("a member that Hull does not carry out gets a warning: %s", (given, missed) => {
    const { hooks, found } = read(`\n  PreToolUse:\n    - hooks:\n        - {command: a, ${given}}`);
    expect(hooks).toEqual([{ ...usual, command: "a" }]);
    expect(found).toMatchObject([
      ...missed.map((what) => ({
        code: "field_not_carried_out",
        line: 7,
        message: expect.stringContaining(`Hull does not carry out hooks.PreToolUse[0].hooks[0].${what}`),
      })),
      { code: "command_hooks", line: 4 },
    ]);
  });

  it.each([
    ["\n  PreToolUse: check.sh", "hooks.PreToolUse is not a mapping", undefined],
    ["\n  PreToolUse: [check.sh]", "hooks.PreToolUse[0] is not a mapping", undefined],
    ["\n  PreToolUse: [{matcher: '(', command: a}]", "hooks.PreToolUse[0].matcher is not a regular", 1],
    ["\n  PreToolUse: [{matcher: [Bash], command: a}]", "hooks.PreToolUse[0].matcher is not a regular", 1],
  ])("a value that cannot be read gets a warning: %j", (given, message, count) => {
    const { hooks, found } = read(given);
    expect(hooks?.length).toBe(count);
    expect(found[0]).toMatchObject({ code: "activation_field", message: expect.stringContaining(message) });
    expect(found).toHaveLength(count === undefined ? 1 : 2);
  });
});

test.each<[string, string[], string[]]>([
  ["", ["Bash", "own_tool", "github__search"], []],
  ["*", ["Bash", "own_tool"], []],
  [".*", ["Bash", "own_tool"], []],
  ["Bash", ["Bash"], ["BashOutput", "Read"]],
  ["Write|Edit", ["Write", "Edit"], ["Read", "WriteEdit"]],
  [" Write | MultiEdit ", ["Write", "Edit"], ["Read"]],
  ["Task|Agent", ["sub_agent"], ["Bash"]],
  ["Bash(git *)", ["Bash"], ["Read"]],
  ["Bash(git *)|Edit(src/**)", ["Bash", "Edit"], ["Write"]],
  ["(Write|Edit)", ["Write", "Edit"], ["Read"]],
  ["Notebook.*|Re.d", ["Read", "NotebookEdit"], ["ReadMe"]],
  ["mcp__github__.*", ["github__search"], ["gitlab__search", "github"]],
  ["mcp__my-server__find", ["my_server__find"], ["my_server__other"]],
  ["(", [], ["Bash"]],
])("the matcher %j", (matcher, yes, no) => {
  expect([...yes, ...no].filter((tool) => watches(matcher, tool))).toEqual(yes);
});
