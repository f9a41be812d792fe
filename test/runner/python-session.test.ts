/** What Python code in a container keeps from the code before it. */
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, expect, test } from "vitest";

const PROGRAM = fileURLToPath(new URL("../../container/programs/python_session.py", import.meta.url));

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "hull-session-"));
});
afterEach(() => rmSync(dir, { recursive: true }));

function python(...lines: string[]) {
  const args = ["-S", "-E", PROGRAM, ".hull/python-session"];
  const { stdout, stderr, status } = spawnSync("python3", args, {
    cwd: dir,
    input: lines.join("\n"),
    encoding: "utf8",
  });
  return { stdout, stderr, status };
}

test("names and their shared content stay; deleted files are gone", () => {
  python(
    "import math, json as j",
    "from collections import Counter",
    "x = 41",
    "class A:",
    "    def __init__(self, v): self.v = v",
    "def add(a, b=x):",
    "    return a + b",
    "a = A(3); b = [a]; c = Counter('aab')",
  );
  const said = python(
    "x += 1",
    "print(x, math.floor(1.5), j.dumps(1), add(1), b[0].v, b[0] is a, c['a'], A(1).v)",
  );
  expect(said).toEqual({ stdout: "42 1 1 42 3 True 2 1\n", stderr: "", status: 0 });
  python("del x");
  expect(python("print(add(1)); print(x)")).toMatchObject({
    stdout: "42\n",
    stderr: expect.stringMatching(/^Traceback.*\n {2}File "<stdin>", line 1.*NameError: name 'x'[^[]*$/s),
    status: 1,
  });
});

test("values that cannot be kept are reported when they are wanted; the rest is kept", () => {
  python(
    "f = open('made', 'w')",
    "g = (i for i in [1])",
    "h = lambda n: n + 2",
    "n = 5",
    "l = [1]; m = [l]",
    "def k(n=4): return n",
  );
  const said = python("print(h(3) + k() - 4, m[0] is l)", "f.write('x')");
  expect(said.stdout).toBe("5 True\n");
  expect(said.stderr).toContain("[hull: f of the code before is not there: a TextIOWrapper cannot be kept");
  expect(python("print('f' in dir(), n)").stdout).toBe("False 5\n");
});

test("failed code keeps its results and its status; killed code leaves the earlier state", () => {
  expect(python("n = 1", "raise SystemExit(3)").status).toBe(3);
  expect(python("n += 1", "1 / 0")).toMatchObject({ status: 1, stderr: expect.stringContaining("line 2") });
  python("import os", "n = 100", "os._exit(0)");
  const stopped = python(
    "import os, signal",
    "n = 100",
    "print('seen')",
    "os.kill(os.getpid(), signal.SIGTERM)",
  );
  expect(stopped).toEqual({ stdout: "seen\n", stderr: "", status: null });
  expect(python("print(n)").stdout).toBe("2\n");
  expect(python("print(").stderr).toContain("SyntaxError");
  writeFileSync(join(dir, ".hull/python-session"), "broken");
  const said = python("print('on')");
  expect([said.stdout, said.stderr]).toEqual(["on\n", expect.stringContaining("cannot be read")]);
});
