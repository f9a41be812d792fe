/** The network that a tool declares, in the runner: a tool that declares none has none, in every language. */
import { execFileSync } from "node:child_process";
import { createServer, type Server } from "node:http";
import { Socket } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { runPython } from "../../src/tool/handler/process.ts";
import { callScript, handlerCall, processDeps } from "../support/handler-call.ts";
import { canUnshareNetwork } from "../support/namespaces.ts";
import { type Bundle, bundle, run, startRunner, type TestRunner, until } from "../support/runner.ts";

const ASK_PYTHON = "import urllib.request\nurllib.request.urlopen(url, timeout=5).read().decode()";

/**
 * Requests these addresses one by one: the texts, or the reasons why there are none. The failure of a single one ends the
 * handler.
 */
const ASK_ALL = `import urllib.request
def ask(urls):
    texts = []
    for url in urls:
        try:
            texts.append(urllib.request.urlopen(url, timeout=5).read().decode())
        except OSError as error:
            if len(urls) == 1:
                raise
            texts.append(str(error))
    return texts
`;

let files: Bundle;
let site: Server;
let url: string;
beforeAll(async () => {
  files = await bundle({
    "ask.py": `${ASK_ALL}def handler(a):
    return ask(a["urls"])
`,
    // A program that makes requests, and one whose child process makes them.
    "program.py": `import json, subprocess, sys
urls = json.load(sys.stdin)["urls"]
code = ${JSON.stringify(`${ASK_ALL}import json, sys\nprint(json.dumps(ask(sys.argv[1:])))`)}
print(subprocess.run([sys.executable, "-c", code, *urls], check=True, stdout=subprocess.PIPE, text=True).stdout.strip())
`,
    "ask.js": `export default async ({ urls }) => {
  const texts = [];
  for (const url of urls) {
    const text = fetch(url).then((answer) => answer.text());
    texts.push(urls.length === 1 ? await text : await text.catch(String));
  }
  return texts;
};`,
    "ask.sh": `urls=$(sed 's/.*"urls":\\[\\([^]]*\\).*/\\1/; s/[",]/ /g'); exec python3 - $urls <<'END'
${ASK_ALL}import json, sys
print(json.dumps(ask(sys.argv[1:])))
END`,
    "ask.own": `#!/usr/bin/env python3
${ASK_ALL}import json, sys
print(json.dumps(ask(json.load(sys.stdin)["urls"])))
`,
    "once.py":
      "import urllib.request as u\ndef handler(a):\n    return u.urlopen(a['url'], timeout=a['seconds']).read().decode()\n",
    "direct.py":
      "import urllib.request as u\ndef handler(a):\n    return u.build_opener(u.ProxyHandler({})).open(a['url'], timeout=5).read().decode()\n",
    "nobody.py":
      "import urllib.request as u\ndef handler(a):\n    return u.build_opener(u.ProxyHandler({'http': 'http://hull:e30.x@127.0.0.1:3128'})).open(a['url'], timeout=5).read().decode()\n",
    "own.py": `import http.server, threading, urllib.request
class Page(http.server.SimpleHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200); self.end_headers(); self.wfile.write(b"own page")
def handler(a):
    server = http.server.HTTPServer(("127.0.0.1", 0), Page)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return urllib.request.urlopen(f"http://localhost:{server.server_port}/", timeout=5).read().decode()
`,
    // Opens connections until the gateway takes no more of them.
    "crowd.py": `${ASK_ALL}import socket
def handler(a):
    held = []
    try:
        while held == [] or held[-1].recv(1) != b"":
            held.append(socket.create_connection(("127.0.0.1", 3128), timeout=1))
            held[-1].sendall(b"GET / HTTP/1.1\\r\\nhost: a\\r\\n\\r\\n")
    except OSError:
        pass
    for end in held:
        end.close()
    return ask(a["urls"])
`,
    "tunnel.py": `import base64, os, socket, urllib.parse
def handler(a):
    proxy = urllib.parse.urlsplit(os.environ["HTTPS_PROXY"])
    login = base64.b64encode(f"{proxy.username}:{proxy.password}".encode()).decode()
    with socket.create_connection((proxy.hostname, proxy.port), timeout=5) as way:
        way.sendall(f"CONNECT {a['url']} HTTP/1.1\\r\\nproxy-authorization: Basic {login}\\r\\n\\r\\n".encode())
        return way.recv(100).decode()
`,
    // Every way to a socket that the filter has to know, and what has to work nevertheless.
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
  url = `${await listening(site)}/`;
});
afterAll(() => site.close());

async function listening(server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  return `http://127.0.0.1:${typeof address === "object" ? address?.port : 0}`;
}

const SCRIPTS = ["ask.py", "program.py", "ask.js", "ask.sh", "ask.own"];
const withNetwork = { tool: { network: { hosts: null } } };

/** Keeps what tools declare. It asks the machine's own proxy for listed hosts. */
let runner: TestRunner;
/** That proxy, which knows all names. */
let beyond: Server;
/** The requests that it got. */
let asked: string[] = [];
/** Its answers to some paths, as the bytes of an answer. */
const RAW: { [path: string]: string } = {
  "/trailer": "200 OK\r\nTrailer: x-sum\r\nContent-Length: 9\r\n\r\npassed on",
  "/trailers":
    "200 OK\r\nTrailer: x-sum\r\nTransfer-Encoding: chunked\r\n\r\n9\r\npassed on\r\n0\r\nx-sum: 7\r\n\r\n",
  "/hints": "103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\npassed on",
  "/no-status": "000 Nothing\r\nContent-Length: 9\r\n\r\npassed on",
  "/switch": "101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: other\r\n\r\n",
  "/no-http": "HELO\r\n\r\n",
};
beforeAll(async () => {
  beyond = createServer((request, response) => {
    asked.push(`${request.method} ${request.url}`);
    const raw = RAW[new URL(request.url ?? "", "http://beyond").pathname];
    if (raw !== undefined) {
      request.socket.end(`HTTP/1.1 ${raw}`);
    } else if (request.url?.endsWith("/broken") === true) {
      response.writeHead(200, { "content-length": 100 }).write("half of it", () => request.destroy());
    } else if (request.url?.endsWith("/silent") === true) {
      request.socket.once("close", () => asked.push("the client left"));
    } else response.end("passed on");
  });
  beyond.on("connect", (request, socket) => {
    asked.push(`CONNECT ${request.url}`);
    socket.on("error", () => {});
    if (request.url === "api.example.com:9") {
      // It refuses, and then drops the connection.
      socket.once("close", () => asked.push("refused"));
      socket.write("HTTP/1.1 403 No\r\n\r\n");
      setTimeout(() => socket instanceof Socket && socket.resetAndDestroy(), 100);
      return;
    }
    socket.write("HTTP/1.1 200 OK\r\n\r\n");
    socket.once("data", () => socket.end("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\npassed on"));
  });
  const proxy = await listening(beyond);
  runner = await startRunner({ flags: ["--spawners", "1"], env: { HTTPS_PROXY: proxy } });
});
afterAll(async () => {
  await runner.stop();
  beyond.close();
});

describe("a runner that enforces what tools declare", () => {
  test("says so in /readyz", async () => {
    const ready: unknown = await (await fetch(`${runner.url}/readyz`)).json();
    expect(ready).toMatchObject({ enforced: { declared_network: true, egress_off: false } });
  });

  test.each(SCRIPTS)("%s reaches no host without a declaration, and learns why", async (script) => {
    const closed = await callScript(runner, files, script, { urls: [url] });
    expect(closed.fault).toBe("tool_error");
    const said = `${JSON.stringify(closed.value)}${closed.said}`;
    expect(said).toMatch(/unreachable|fetch failed/i);
    expect(await callScript(runner, files, script, { urls: [url] }, withNetwork)).toMatchObject({
      value: ["reached"],
      fault: null,
    });
  });

  test("the error names the declaration that is missing", async () => {
    const { value } = await callScript(runner, files, "ask.py", { urls: [url] });
    expect(value).toEqual({
      error: expect.stringMatching(/unreachable.*\n.*probe declares no network.*x-requires-network/),
    });
  });

  test("every way to a socket is closed; pipes, local sockets and child processes are not", async () => {
    const { value } = await callScript(runner, files, "ways.py", {});
    const { raw, vsock, ...rest } = Object(value);
    expect(rest).toEqual({
      tcp: "ENETUNREACH",
      tcp6: "ENETUNREACH",
      udp: "ENETUNREACH",
      ring: "ENOSYS",
      pair: "made",
      local: "made",
      child: 0,
    });
    expect([raw, vsock]).toEqual(["ENETUNREACH", "ENETUNREACH"]);
  });

  test("Python code that a handler runs has the tool's variables", async () => {
    const code = `url = ${JSON.stringify(url)}\n${ASK_PYTHON.replace("urllib.request.url", "text = urllib.request.url")}\nprint(text)`;
    const deps = processDeps(runner, files);
    const closed = await runPython(handlerCall(files, "ask.js", {}), code, 1, null, deps);
    expect(closed).toMatchObject({ exit_code: 1, stderr: expect.stringContaining("unreachable") });
    const open = await runPython(handlerCall(files, "ask.js", {}, withNetwork), code, 1, null, deps);
    expect(open).toMatchObject({ exit_code: 0, stdout: "reached\n" });
  });

  test("commands of skills, which declare nothing, keep the network", async () => {
    const argv = ["python3", "-c", `import urllib.request as u; print(u.urlopen("${url}").read().decode())`];
    expect((await run(runner, files, { argv })).stdout.toString()).toBe("reached\n");
  });
});

// Where a network of its own can be made: as root, or with unprivileged user namespaces.
describe.runIf(canUnshareNetwork())("a tool that lists hosts", () => {
  const listed = { tool: { network: { hosts: ["api.example.com", "*.example.org"] } } };
  const ask = async (script: string, to: string, seconds = 60) => {
    asked = [];
    const { value, said } = await callScript(runner, files, script, { url: to, seconds }, listed);
    return `${JSON.stringify(value)} ${said}`;
  };

  test("says so in /readyz", async () => {
    const ready: unknown = await (await fetch(`${runner.url}/readyz`)).json();
    expect(ready).toMatchObject({ enforced: { declared_hosts: true } });
  });

  test.each(SCRIPTS)("%s reaches the declared hosts through the proxy, and nothing else", async (script) => {
    const open = ["http://api.example.com/x?y=1", "http://a.b.example.org/"];
    const closed = ["http://example.com/", "http://127.0.0.1/", url];
    asked = [];
    const { value } = await callScript(runner, files, script, { urls: [...open, ...closed] }, listed);
    const refused = expect.not.stringMatching(/passed on|reached/);
    expect(value).toEqual(["passed on", "passed on", refused, refused, refused]);
    // Node makes a connection through the proxy where others ask it.
    expect(asked).toEqual(
      script === "ask.js"
        ? ["CONNECT api.example.com:80", "CONNECT a.b.example.org:80"]
        : open.map((listedUrl) => `GET ${listedUrl}`),
    );
  });

  test("reaches a server of its own without the proxy", async () => {
    expect(await ask("own.py", "")).toContain("own page");
    expect(asked).toEqual([]);
  });

  test("gets https connections to listed hosts only", async () => {
    expect(await ask("tunnel.py", "api.example.com:8443")).toContain("200");
    expect(asked).toEqual(["CONNECT api.example.com:8443"]);
    expect(await ask("tunnel.py", "api.example.com:9")).toContain("502");
    await until(
      () => asked,
      (seen) => seen.includes("refused"),
    );
    expect(await ask("tunnel.py", "evil.example:443")).toContain("403");
    expect(await ask("tunnel.py", "10.0.0.1:443")).toContain("403");
    expect(asked).toEqual([]);
  });

  test("an answer that breaks off breaks off for the tool, and the proxy drops what the tool no longer waits for", async () => {
    expect(await ask("once.py", "http://api.example.com/broken")).toMatch(/IncompleteRead/);
    expect(await ask("once.py", "http://api.example.com/silent", 2)).toMatch(/timed out/);
    await until(
      () => asked,
      (seen) => seen.includes("the client left"),
    );
  });

  test.each([
    ["/trailer", "passed on"],
    ["/trailers", "passed on"],
    ["/hints", "passed on"],
    ["/no-status", "HTTP Error 502"],
    ["/switch", "HTTP Error 502"],
    ["/no-http", "HTTP Error 502"],
  ])("an invalid answer of the host ends neither the runner nor the call: %s", async (path, wanted) => {
    expect(await ask("once.py", `http://api.example.com${path}`)).toContain(wanted);
    expect(await ask("once.py", "http://api.example.com/")).toContain("passed on");
  });

  test("nothing bypasses the proxy: no address of the machine or beyond answers, and no password, no host", async () => {
    expect(await ask("direct.py", url)).toMatch(/unreachable|refused/i);
    expect(await ask("nobody.py", "http://api.example.com/")).toContain("407");
    expect(asked).toEqual([]);
  });
});

test.runIf(canUnshareNetwork())("the gateway survives more connections than it can hold", async () => {
  const beyond = createServer((_, response) => response.end("passed on"));
  const runner = await startRunner({
    flags: ["--spawners", "1"],
    env: { HTTPS_PROXY: await listening(beyond) },
  });
  try {
    // The gateway starts with the first call, with the limits that the runner has then.
    execFileSync("prlimit", ["--pid", `${runner.process.pid}`, "--nofile=128"]);
    const listed = { tool: { network: { hosts: ["api.example.com"] } } };
    const asked = { urls: ["http://api.example.com/"] };
    const { value } = await callScript(runner, files, "crowd.py", asked, listed);
    expect(value).toEqual(["passed on"]);
  } finally {
    await runner.stop();
    beyond.close();
  }
});

test.runIf(canUnshareNetwork() && process.getuid?.() === 0)(
  "a tool reaches only its declared hosts under separate uids too",
  async () => {
    const beyond = createServer((_, response) => response.end("passed on"));
    const env = { HTTPS_PROXY: await listening(beyond) };
    const runner = await startRunner({ flags: ["--spawners", "1", "--child-uid", "65125"], env });
    try {
      const ready: unknown = await (await fetch(`${runner.url}/readyz`)).json();
      expect(ready).toMatchObject({ enforced: { uid: true, declared_network: true, declared_hosts: true } });
      const listed = { tool: { network: { hosts: ["api.example.com"] } } };
      for (const script of ["ask.py", "ask.sh"]) {
        const asked = { urls: ["http://api.example.com/"] };
        expect((await callScript(runner, files, script, asked, listed)).value).toEqual(["passed on"]);
        expect((await callScript(runner, files, script, asked)).fault).toBe("tool_error");
      }
    } finally {
      await runner.stop();
      beyond.close();
    }
  },
);

test("with `--network open` a declaration changes nothing, and /readyz says so", async () => {
  const runner = await startRunner({ flags: ["--spawners", "1", "--network", "open"] });
  try {
    for (const script of ["ask.py", "ask.sh"])
      expect((await callScript(runner, files, script, { urls: [url] })).value).toEqual(["reached"]);
    const ready: unknown = await (await fetch(`${runner.url}/readyz`)).json();
    expect(ready).toMatchObject({ enforced: { declared_network: false } });
  } finally {
    await runner.stop();
  }
});

test("a runner that cannot block the network says so when it starts", async () => {
  const runner = await startRunner({ flags: ["--spawners", "0"] });
  try {
    await until(
      () => runner.log(),
      (text) => text.includes("declared_network_not_enforced"),
    );
    expect((await callScript(runner, files, "ask.js", { urls: [url] })).value).toEqual(["reached"]);
  } finally {
    await runner.stop();
  }
});
