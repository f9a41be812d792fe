import { expect, test } from "vitest";
import { parseOptions, UsageError } from "../../container/options.ts";

const parsed = (flags: string[], environment: NodeJS.ProcessEnv = {}) =>
  parseOptions(["--state", "/state", ...flags], environment);

test("flags without a value in the command line have their default", () => {
  expect(parsed([])).toMatchObject({
    port: 0,
    host: "127.0.0.1",
    stateDir: "/state",
    secretFile: null,
    queue: 256,
    childUid: null,
    setpriv: "setpriv",
    memoryBytes: null,
    egress: true,
    declaredNetwork: true,
    installs: true,
    exitWithParent: false,
  });
});

test("an empty text counts as none, as an unset variable of a script gives it", () => {
  const empty = ["host", "secret-file", "setpriv", "network", "installs"].map((name) => `--${name}=`);
  expect(parsed(empty)).toEqual(parsed([]));
  expect(() => parseOptions(["--state="], {})).toThrow("--state DIR is required");
});

test.for<[flags: string[], environment: NodeJS.ProcessEnv, options: object]>([
  [["--queue-timeout-ms", "5", "--exit-with-parent"], {}, { queueTimeoutMs: 5, exitWithParent: true }],
  [["--memory-bytes", "1048576", "--child-uid", "7"], {}, { memoryBytes: 1_048_576, childUid: 7 }],
  [["--network", "open"], {}, { declaredNetwork: false }],
  [[], { HULL_RUNNER_EGRESS: "off" }, { egress: false, installs: false }],
  [["--installs", "on"], { HULL_RUNNER_EGRESS: "off" }, { egress: false, installs: true }],
  [["--queue", "2"], { HULL_RUNNER_FLAGS: " --queue 1  --grace-ms 3" }, { queue: 2, graceMs: 3 }],
])("%j with %j", ([flags, environment, options]) => {
  expect(parsed(flags, environment)).toMatchObject(options);
});

test.for<[flags: string[], environment: NodeJS.ProcessEnv, message: string]>([
  [["--queue=-1"], {}, "--queue must be an integer from 0 to 65536"],
  [["--queue-timeout-ms", "1.5"], {}, "--queue-timeout-ms must be an integer from 1 to 600000"],
  [["--max-processes", "many"], {}, "--max-processes must be an integer from 1 to 4194304"],
  [["--concurrency="], {}, "--concurrency must be an integer from 1 to 4096"],
  [["--network", "closed"], {}, "--network must be `declared` or `open`"],
  [["--installs", "ON"], {}, "--installs must be `on` or `off`"],
  [[], { HULL_RUNNER_EGRESS: "" }, "HULL_RUNNER_EGRESS must be `on` or `off`"],
  [["--colour"], {}, "--colour"],
])("%j with %j is refused", ([flags, environment, message]) => {
  expect(() => parsed(flags, environment)).toThrow(UsageError);
  expect(() => parsed(flags, environment)).toThrow(message);
});
