/** What a command comes to, as its model reads it. */
import { expect, test } from "vitest";
import { commandText } from "../../../../src/engine/workspace-tools/command-result.ts";

const CASES: [command: string, output: string, exit_code: number, note: boolean][] = [
  ["curl https://example.com", "curl: (6) Could not resolve host: example.com", 6, true],
  ["curl https://example.com; echo $?", "curl: (6) Could not resolve host: example.com\n6", 0, true],
  ["python3 fetch.py", "socket.gaierror: [Errno -3] Temporary failure in name resolution", 1, true],
  ["node fetch.mjs", "Error: getaddrinfo ENOTFOUND example.com", 1, true],
  ["python3 draw.py", "ModuleNotFoundError: No module named 'pdf2image'", 1, false],
  ["cat server.log", "connect ECONNREFUSED 127.0.0.1:80", 0, false],
  ["npm run lint", "clean", 0, false],
];

test.each(CASES)(
  "%s, %j, %i: the output says that there is no network: %s",
  (command, output, exit_code, note) => {
    const end = { exit_code, remark: null, notKept: [], offline: true, memory_bytes: null };
    expect(commandText(command, output, end).includes("commands reach no other machine here")).toBe(note);
    expect(commandText(command, output, { ...end, offline: false })).not.toContain("[hull:");
  },
);

test.each([
  ["Traceback\nMemoryError", null, true],
  ["fork: Cannot allocate memory", null, true],
  ["", "killed: it exceeded its memory limit", true],
  ["No such file", null, false],
])("%j, %j: the result names its memory limit: %s", (output, remark, note) => {
  const end = { exit_code: remark === null ? 1 : null, remark, notKept: [], offline: false };
  expect(commandText("x", output, { ...end, memory_bytes: 4096 }).includes("may have 4096 bytes")).toBe(note);
  expect(commandText("x", output, { ...end, memory_bytes: null })).not.toContain("memory_limit");
});
