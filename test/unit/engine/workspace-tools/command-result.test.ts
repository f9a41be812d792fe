/** The result of a command, as its model reads it. */
import { expect, test } from "vitest";
import { inOrder, shellOutputs } from "../../../../src/engine/workspace-tools/code-tools.ts";
import {
  commandParts,
  commandText,
  sentCommand,
  stderrShown,
} from "../../../../src/engine/workspace-tools/command-result.ts";

const skills = { folder: "/state/skills/0a", entered: false };

const CASES: [command: string, output: string, exit_code: number, note: boolean][] = [
  ["curl https://example.com", "curl: (6) Could not resolve host: example.com", 6, true],
  ["curl https://example.com; echo $?", "curl: (6) Could not resolve host: example.com\n6", 0, true],
  ["python3 fetch.py", "socket.gaierror: [Errno -3] Temporary failure in name resolution", 1, true],
  ["node fetch.mjs", "Error: getaddrinfo ENOTFOUND example.com", 1, true],
  ["python3 draw.py", "ModuleNotFoundError: No module named 'pdf2image'", 1, false],
  ["cat server.log", "connect ECONNREFUSED 127.0.0.1:80", 0, false],
  ["npm run lint", "clean", 0, false],
  ["python3 -m pip install six", "ERROR: No matching distribution found for six", 1, true],
  ["cd app; /usr/bin/npx eslint .", "npm error code EAI_AGAIN", 1, true],
  ["uv run draw.py", "bash: line 1: uv: command not found", 127, false],
  ["uv run draw.py <input>", "bash: line 1: input: No such file or directory", 1, false],
  ["uv run draw.py <input>", "bash: line 1: syntax error near unexpected token `newline'", 2, false],
  ["/skills/scan-apk/scan.sh --host go.mod", "1 problem found", 1, false],
];

test.each(CASES)(
  "%s, %j, %i: the output says that there is no network: %s",
  (command, output, exit_code, note) => {
    const end = { exit_code, remark: null, notKept: [], offline: true, skills, memory_bytes: null };
    expect(commandText(command, output, end).includes("commands reach no other machine here")).toBe(note);
    expect(commandText(command, output, { ...end, offline: false })).not.toContain("[hull:");
  },
);

test.each([
  ["touch: cannot touch '/state/skills/0a/pdf/x': Permission denied", 1, false, true],
  ["OSError: [Errno 30] Read-only file system: '/state/skills/0a/pdf/out/../x'", 0, false, true],
  ["Error: EACCES: permission denied, open 'out.json'", 1, true, true],
  ["Error: EACCES: permission denied, open 'out.json'", 1, false, false],
  ["/state/skills/0a/pdf/run.py\nPermission denied: /etc/x", 1, false, false],
  ["bash: line 1: /state/skills/0a/pdf/run.sh: Permission denied", 126, false, false],
])("%j, %i, %s: the result says that skills are read-only: %s", (output, exit_code, entered, note) => {
  const end = { exit_code, remark: null, notKept: [], offline: false, memory_bytes: null };
  const text = commandText("x", output, { ...end, skills: { ...skills, entered } });
  expect(text.includes("a skill's folder is read-only")).toBe(note);
});

test.each([
  ["Traceback\nMemoryError", null, true],
  ["fork: Cannot allocate memory", null, true],
  ["", "killed: it exceeded its memory limit", true],
  ["No such file", null, false],
])("%j, %j: the result names its memory limit: %s", (output, remark, note) => {
  const end = { exit_code: remark === null ? 1 : null, remark, notKept: [], offline: false, skills };
  expect(commandText("x", output, { ...end, memory_bytes: 4096 }).includes("may have 4096 bytes")).toBe(note);
  expect(commandText("x", output, { ...end, memory_bytes: null })).not.toContain("memory_limit");
});

test.each([
  ["out\n", "", 0, "out", "", "out"],
  ["out\n", "why\n", 0, "out", "why", "out\nwhy"],
  ["out\n", "why\n", 3, "out", "why", "out\nwhy\nexit code 3"],
  ["", "why", 3, "", "why", "why\nexit code 3"],
  ["out", "out", 0, "out", "out", "out\nout"],
  ["", "", 0, "", "", "[hull: no output]"],
  ["", "", 3, "", "", "exit code 3"],
  ["out", "why\n[hull: a note]", 0, "out", "why\n[hull: a note]", "out\nwhy\n[hull: a note]"],
])(
  "stdout %j, stderr %j, %i: a client gets %j and %j, and the model reads the same text twice",
  (stdout, stderr, exit_code, shownOut, shownErr, text) => {
    const end = { exit_code, remark: null, notKept: [], offline: false, skills, memory_bytes: null };
    expect(commandText("x", inOrder(stdout, stderr), end)).toBe(text);
    const parts = commandParts(text, exit_code, stderr);
    expect([parts.stdout, stderrShown(parts)]).toEqual([shownOut, shownErr]);
    expect(sentCommand(shownOut, shownErr, exit_code)).toBe(text);
  },
);

test("each command of a call of the shell has its own stdout, stderr and end", () => {
  const ended = (n: number, code: number) => `\n[hull: command ${n}: exit code ${code}]\n`;
  const stdout = `one\n${ended(1, 0)}${ended(2, 3)}three`;
  const stderr = `${ended(1, 0)}why\n${ended(2, 3)}late`;
  const text = inOrder(stdout, stderr);
  expect(text).toBe(`one\n${ended(1, 0)}why${ended(2, 3)}three\nlate`);
  const end = { exit_code: null, remark: "stopped", notKept: [], offline: false, skills, memory_bytes: null };
  const content = commandText("x", text, end);
  expect(shellOutputs(content, { commands: 3, exit_code: null, stderr })).toEqual([
    { stdout: "one\n", stderr: "", exit_code: 0 },
    { stdout: "", stderr: "why", exit_code: 3 },
    { stdout: "three", stderr: "late\n[hull: stopped]", exit_code: null },
  ]);
});
