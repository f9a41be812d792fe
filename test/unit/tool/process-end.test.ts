import { expect, test } from "vitest";
import { cutShort, LOST, scriptError, toolCutShort } from "../../../src/tool/process-end.ts";
import { DEPENDENCIES_FAULT, type EndedStatus, TOO_MANY_FILES } from "../../../src/tool/protocol.ts";

const UNKNOWN = "The outcome is unknown: it may or may not have taken effect, and was not run again.";
const asked = {
  id: "one",
  argv: ["work", "-x"],
  timeout_ms: 300,
  limits: { max_output_bytes: 10 },
  detach: true,
};
const tails = { stdout: "out", stderr: "err" };

const ended = (cause: EndedStatus["cause"], more: Partial<EndedStatus> = {}): EndedStatus => ({
  kind: "ended",
  cause,
  exit_code: null,
  signal: null,
  duration_ms: 5,
  stdout_bytes: 0,
  stderr_bytes: 0,
  stderr_truncated: false,
  ...more,
});

test.each<[EndedStatus, code: string, remark: string, error: string]>([
  [ended("timed_out"), "timed_out", "stopped after 300 ms, its time limit.", "script_timeout"],
  [ended("cancelled"), "killed", `stopped: the runner was shut down. ${UNKNOWN}`, "client_closed_request"],
  [ended("out_of_memory"), "out_of_memory", "killed: it exceeded its memory limit.", "out_of_memory"],
  [ended("signal", { signal: "SIGSEGV" }), "killed", "ended by SIGSEGV.", "script_killed"],
  [ended("signal"), "killed", "ended by a signal.", "script_killed"],
  [ended("output_too_large"), "killed", "ended: it wrote more than 10 bytes.", "output_too_large"],
  [
    ended("output_too_large", { reason: TOO_MANY_FILES }),
    "killed",
    "ended: it wrote more than 1000 files.",
    "output_too_large",
  ],
  [
    ended("command_not_found"),
    "command_not_found",
    'not started: the runner has no "work", or not its interpreter.',
    "command_not_found",
  ],
  [
    ended("spawn_failed", { reason: "EACCES" }),
    "command_not_found",
    "not started: it is not executable.",
    "spawn_failed",
  ],
  [ended("spawn_failed", { reason: "E2BIG" }), "command_not_found", "not started: E2BIG.", "spawn_failed"],
  [ended("spawn_failed"), "command_not_found", "not started: unknown reason.", "spawn_failed"],
  [
    ended("spawn_failed", { reason: DEPENDENCIES_FAULT }),
    "command_not_found",
    "not started: the packages that it needs could not be installed.",
    "spawn_failed",
  ],
  [ended("lost"), "outcome_unknown", LOST, "execution_lost"],
])("%j", (status, code, remark, error) => {
  const unknown = remark.endsWith(UNKNOWN);
  expect(cutShort(status, asked)).toEqual({ code, remark, unknown });
  expect(toolCutShort(status, asked)).toEqual({ code, remark, unknown });
  expect(scriptError(status, asked, () => tails)?.code).toBe(error);
});

test("an exit cuts nothing short, and is a script's error unless its status is 0", () => {
  expect(cutShort(ended("exit", { exit_code: 3 }), asked)).toBeNull();
  expect(scriptError(ended("exit", { exit_code: 0 }), asked, () => tails)).toBeNull();
  expect(scriptError(ended("exit", { exit_code: 3 }), asked, () => tails)?.data.members).toEqual({
    exit_code: 3,
    ...tails,
  });
});

test("a tool's process that its caller cancelled ends the run", () => {
  expect(() => toolCutShort(ended("cancelled"), { ...asked, detach: false })).toThrow(
    expect.objectContaining({ code: "client_closed_request" }),
  );
});
