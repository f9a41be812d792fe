/** The network that a tool declares, in the runner (skill-formats.md §7.1): none is none, in every language. */
import { createServer, type Server } from "node:http";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { runPython } from "../../src/tool/handler/process.ts";
import { callScript, handlerCall, processDeps } from "../support/handler-call.ts";
import { type Bundle, bundle, run, startRunner, type TestRunner } from "../support/runner.ts";

const ASK_PYTHON = "import urllib.request\nurllib.request.urlopen(url, timeout=5).read().decode()";

let files: Bundle;
let site: Server;
let url: string;
beforeAll(async () => {
  files = await bundle({
    "ask.py":
      "import urllib.request\ndef handler(a):\n    return urllib.request.urlopen(a['url'], timeout=5).read().decode()\n",
    // A program, and one that a child process asks for.
    "program.py":
      "import json, subprocess, sys\nurl = json.load(sys.stdin)['url']\ncode = 'import sys, urllib.request; print(urllib.request.urlopen(sys.argv[1], timeout=5).read().decode())'\nprint(subprocess.run([sys.executable, '-c', code, url], check=True, stdout=subprocess.PIPE, text=True).stdout.strip())\n",
    "ask.js": "export default async ({ url }) => (await fetch(url)).text();",
    "ask.sh": `url=$(python3 -c 'import json, sys; print(json.load(sys.stdin)["url"])'); exec python3 - "$url" <<'END'
import sys, urllib.request
print(urllib.request.urlopen(sys.argv[1], timeout=5).read().decode())
END`,
    "ask.own": `#!/usr/bin/env python3
import json, sys, urllib.request
print(urllib.request.urlopen(json.load(sys.stdin)["url"], timeout=5).read().decode())
`,
    // Every way to a socket that the filter has to know, and what has to go on working.
    "ways.py": `import ctypes, errno, os, socket, subprocess
def of(make):
    try:
        made = make()
        return "made"
    except OSError as error:
        return errno.errorcode[error.errno]
def handler(a):
    libc = ctypes.CDLL(None, use_errno=True)
    def ring():
        if libc.syscall(425, 1, ctypes.byref(ctypes.create_string_buffer(120))) < 0:
            raise OSError(ctypes.get_errno(), "")
    return {
        "tcp": of(lambda: socket.socket()),
        "tcp6": of(lambda: socket.socket(socket.AF_INET6)),
        "udp": of(lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM)),
        "raw": of(lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW)),
        "vsock": of(lambda: socket.socket(socket.AF_VSOCK)),
        "ring": of(ring),
        "pair": of(lambda: socket.socketpair()),
        "local": of(lambda: socket.socket(socket.AF_UNIX)),
        "child": subprocess.run(["true"]).returncode,
    }
`,
  });
  site = createServer((_, response) => response.end("reached"));
  await new Promise<void>((resolve) => site.listen(0, "127.0.0.1", resolve));
  const address = site.address();
  url = `http://127.0.0.1:${typeof address === "object" ? address?.port : 0}/`;
});
afterAll(() => site.close());

const SCRIPTS = ["ask.py", "program.py", "ask.js", "ask.sh", "ask.own"];
const withNetwork = { tool: { network: { hosts: null } } };

describe("a runner that keeps what tools declare", () => {
  let runner: TestRunner;
  beforeAll(async () => {
    runner = await startRunner({ flags: ["--spawners", "1"] });
  });
  afterAll(() => runner.stop());

  test("says so", async () => {
    const ready: unknown = await (await fetch(`${runner.url}/readyz`)).json();
    expect(ready).toMatchObject({ enforced: { declared_network: true, egress_off: false } });
  });

  test.each(SCRIPTS)("%s reaches nothing without a declaration, and is told why", async (script) => {
    const closed = await callScript(runner, files, script, { url });
    expect(closed.fault).toBe("tool_error");
    const said = `${JSON.stringify(closed.value)}${closed.said}`;
    expect(said).toMatch(/unreachable|fetch failed/i);
    expect(await callScript(runner, files, script, { url }, withNetwork)).toMatchObject({
      value: "reached",
      fault: null,
    });
  });

  test("the error names the declaration that is missing", async () => {
    const { value } = await callScript(runner, files, "ask.py", { url });
    expect(value).toEqual({
      error: expect.stringMatching(/unreachable.*\n.*probe declares no network.*x-requires-network/),
    });
  });

  test("every way to a socket is closed; pipes, local sockets and child processes are not", async () => {
    const { value } = await callScript(runner, files, "ways.py", {});
    const { raw, vsock, ...rest } = Object(value);
    expect(rest).toEqual({
      ...{ tcp: "ENETUNREACH", tcp6: "ENETUNREACH", udp: "ENETUNREACH" },
      ...{ ring: "ENOSYS", pair: "made", local: "made", child: 0 },
    });
    expect([raw, vsock]).toEqual(["ENETUNREACH", "ENETUNREACH"]);
  });

  test("Python that a handler asks for has what the tool has", async () => {
    const code = `url = ${JSON.stringify(url)}\n${ASK_PYTHON.replace("urllib.request.url", "text = urllib.request.url")}\nprint(text)`;
    const deps = processDeps(runner, files);
    const closed = await runPython(handlerCall(files, "ask.js", {}), code, null, deps);
    expect(closed).toMatchObject({ exit_code: 1, stderr: expect.stringContaining("unreachable") });
    const open = await runPython(handlerCall(files, "ask.js", {}, withNetwork), code, null, deps);
    expect(open).toMatchObject({ exit_code: 0, stdout: "reached\n" });
  });

  test("commands of skills, which declare nothing, keep the network", async () => {
    const argv = ["python3", "-c", `import urllib.request as u; print(u.urlopen("${url}").read().decode())`];
    expect((await run(runner, files, { argv })).stdout.toString()).toBe("reached\n");
  });
});

test("with `--network open` a declaration changes nothing, and /readyz says so", async () => {
  const runner = await startRunner({ flags: ["--spawners", "1", "--network", "open"] });
  try {
    for (const script of ["ask.py", "ask.sh"])
      expect((await callScript(runner, files, script, { url })).value).toBe("reached");
    const ready: unknown = await (await fetch(`${runner.url}/readyz`)).json();
    expect(ready).toMatchObject({ enforced: { declared_network: false } });
  } finally {
    await runner.stop();
  }
});

test("a runner that cannot take the network away says so when it starts", async () => {
  const runner = await startRunner({ flags: ["--spawners", "0"] });
  try {
    expect(runner.log()).toContain("declared_network_not_enforced");
    expect((await callScript(runner, files, "ask.js", { url })).value).toBe("reached");
  } finally {
    await runner.stop();
  }
});
