/** Commands without network have a loopback of their own: their servers answer them, and nobody else. */
import { execFileSync } from "node:child_process";
import { createServer, type Server } from "node:http";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { programSource } from "../../container/program-source.ts";
import { canUnshareNetwork } from "../support/namespaces.ts";
import { type Bundle, bundle, run, startRunner, type TestRunner, until } from "../support/runner.ts";

const root = process.getuid?.() === 0;
let files: Bundle;
let site: Server;
let port: number;
beforeAll(async () => {
  files = await bundle({ "noop.sh": "#!/bin/sh\n" });
  site = createServer((_, response) => response.end("the machine"));
  await new Promise<void>((resolve) => site.listen(0, "127.0.0.1", resolve));
  const address = site.address();
  port = typeof address === "object" ? (address?.port ?? 0) : 0;
});
afterAll(() => site.close());

interface Wanted {
  skills_path?: boolean;
  network?: { hosts: string[] } | null;
}

async function command(
  runner: TestRunner,
  text: string,
  { skills_path = false, network = null }: Wanted = {},
): Promise<string> {
  const skills = { key: "0".repeat(16), list: [{ name: "pdf", digest: files.digest }] };
  const { stdout } = await run(
    runner,
    files,
    {
      argv: ["bash"],
      handler: {
        language: "bash",
        config: "{}",
        context: "{}",
        network,
        ...(skills_path ? { skills_path } : {}),
      },
      skills,
    },
    { stdin: Buffer.from(text) },
  );
  return stdout.toString();
}

/** Serves a word on a fixed port until another command of the same text has had the time to do so, too. */
const served = (word: string): string => `cat > page.py <<'END'
import http.server, threading, time, urllib.request
class Page(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200); self.end_headers(); self.wfile.write(b"${word}")
    def log_message(self, *_):
        pass
server = http.server.ThreadingHTTPServer(("127.0.0.1", 8931), Page)
threading.Thread(target=server.serve_forever, daemon=True).start()
for _ in range(10):
    print(urllib.request.urlopen("http://localhost:8931/", timeout=5).read().decode(), end=" ")
    time.sleep(0.05)
END
python3 -S -E page.py; echo; ls -d /skills/pdf 2>/dev/null || echo none; id -u`;

const WAYS = `cat > ways.py <<'END'
import ctypes, errno, os, socket, sys
libc = ctypes.CDLL(None, use_errno=True)
def of(make):
    try:
        make()
        return "made"
    except OSError as error:
        return errno.errorcode[error.errno]
def connect(host, port, family=socket.AF_INET):
    made = socket.socket(family)
    made.settimeout(2)
    made.connect((host, port))
def call(number, *arguments):
    if libc.syscall(number, *arguments) < 0:
        raise OSError(ctypes.get_errno(), "")
x86 = os.uname().machine == "x86_64"
def enter(path):
    call(308 if x86 else 268, os.open(path, os.O_RDONLY), 0)
print(*[of(lambda port=port: connect("127.0.0.1", int(port))) for port in sys.argv[1:]])
print(of(lambda: connect("192.0.2.1", 80)))
print(of(lambda: connect("2001:db8::1", 80, socket.AF_INET6)))
print(of(lambda: socket.socket(socket.AF_VSOCK)))
print(of(lambda: call(425, 1, ctypes.byref(ctypes.create_string_buffer(120)))))
print(of(lambda: enter("/proc/self/ns/net")))
print(of(lambda: socket.create_server(("::1", 0), family=socket.AF_INET6)))
print(*sorted(name for _, name in socket.if_nameindex() if name in ("lo", "eth0", "ens5")))
print(*[line.split()[1] for line in open("/proc/self/status") if line[:7] in ("CapEff:", "CapBnd:", "NoNewPr")])
END
python3 -S -E ways.py`;

/** The runner of commands with listed hosts, which has the machine's proxy, too. */
let asking: TestRunner;
const ASKING = root ? ["--child-uid", "65124"] : [];
/** That proxy. */
let beyond: Server;
/** What it was asked for. */
const asked: string[] = [];
beforeAll(async () => {
  beyond = createServer((request, response) => {
    asked.push(`${request.method} ${request.url}`);
    response.end("passed on");
  });
  await new Promise<void>((resolve) => beyond.listen(0, "127.0.0.1", resolve));
  const address = beyond.address();
  const proxy = `http://127.0.0.1:${typeof address === "object" ? address?.port : 0}`;
  asking = await startRunner({ flags: ["--spawners", "1", ...ASKING], env: { HTTPS_PROXY: proxy } });
});
afterAll(async () => {
  await asking.stop();
  beyond.close();
});

describe.runIf(canUnshareNetwork())("attack: a command without network", () => {
  const nothing = "0".repeat(16);
  test.each<[string, string[], Record<string, string>]>([
    ["of a runner's own uid", [], {}],
    ["under HULL_RUNNER_EGRESS=off", [], { HULL_RUNNER_EGRESS: "off" }],
    ...(root
      ? ([
          ["with a uid of its own", ["--child-uid", "65124"], {}],
          ["with both", ["--child-uid", "65124"], { HULL_RUNNER_EGRESS: "off" }],
        ] satisfies [string, string[], Record<string, string>][])
      : []),
  ])("%s reaches its own servers, and no others", async (_, flags, env) => {
    const shares = flags.join() === ASKING.join() && Object.keys(env).length === 0;
    const runner = shares ? asking : await startRunner({ flags: ["--spawners", "1", ...flags], env });
    try {
      const both = ["red", "blue"].map((word) =>
        command(runner, served(word), { skills_path: word === "red" }),
      );
      for (const [index, text] of (await Promise.all(both)).entries()) {
        const [pages, skills, uid] = text.split("\n");
        expect(pages?.trim().split(" ")).toEqual(Array(10).fill(index === 0 ? "red" : "blue"));
        expect(skills).toBe(index === 0 ? "/skills/pdf" : "none");
        expect(uid).toBe(uidOf(flags));
      }
      // A keeper leaves a network that was used for a new one.
      const networks = new Map<string, string>();
      for (;;) {
        const used = ": 2>/dev/null >/dev/tcp/127.0.0.1/9; readlink /proc/self/ns/net; echo $PPID";
        const [network = "", keeper = ""] = (await command(runner, used)).trim().split("\n").slice(-2);
        const last = networks.get(keeper);
        networks.set(keeper, network);
        if (last === undefined) continue;
        expect(network).not.toBe(last);
        break;
      }
      const runnerPort = new URL(runner.url).port;
      const said = (await command(runner, `${WAYS} ${port} ${runnerPort}`)).trimEnd().split("\n");
      const [machine, outside, outside6, vsock, ring, other, own6, interfaces, rights] = said;
      expect({ machine, outside, outside6, vsock, ring, other, own6, interfaces }).toEqual({
        machine: "ECONNREFUSED ECONNREFUSED",
        outside: "ENETUNREACH",
        outside6: "ENETUNREACH",
        vsock: "ENETUNREACH",
        ring: "ENOSYS",
        other: "EPERM",
        own6: "made",
        interfaces: "lo",
      });
      // Where its uid is root's, it has root's rights in a network that it cannot leave.
      if (uidOf(flags) !== "0") expect(rights).toBe(`${nothing} ${nothing} 1`);
      expect(runner.log()).not.toMatch(/spawners_not_started|skills_path_not_shown/);
    } finally {
      if (runner !== asking) await runner.stop();
    }
  });
  const uidOf = (flags: string[]): string => flags[1] ?? String(process.getuid?.());
});

test.runIf(canUnshareNetwork())(
  "commands with listed hosts reach these by the proxy, and servers of their own by localhost",
  async () => {
    const get = (url: string) =>
      `python3 -c 'import urllib.request as u; print(u.urlopen("${url}", timeout=5).read().decode())' 2>&1 | tail -1`;
    const texts = ["red", "blue"].map((word) =>
      command(
        asking,
        `${get("http://api.example.com/x")}\n${get("http://other.example.com/")}\n${get(`http://127.0.0.1:${port}/`)}\n${served(word)}`,
        { network: { hosts: ["api.example.com"] } },
      ),
    );
    for (const [index, text] of (await Promise.all(texts)).entries()) {
      const [listed, other, machine, pages] = text.split("\n");
      expect(listed).toBe("passed on");
      expect(other).toMatch(/403/);
      expect(machine).toMatch(/refused/);
      expect(pages?.trim().split(" ")).toEqual(Array(10).fill(index === 0 ? "red" : "blue"));
    }
    expect(asked).toEqual(["GET http://api.example.com/x", "GET http://api.example.com/x"]);
    expect(asking.log()).not.toContain("spawners_not_started");
  },
);

test("if the kernel permits no network namespace, commands have no network at all, and the log says so", async () => {
  const runner = await startRunner({ flags: ["--spawners", "1"], denied: "unshare" });
  try {
    const said = (await command(runner, `${WAYS} ${port}`)).split("\n");
    expect(said.slice(0, 2)).toEqual(["ENETUNREACH", "ENETUNREACH"]);
    await until(
      async () => runner.log(),
      (log) => log.includes("spawners_not_started"),
    );
  } finally {
    await runner.stop();
  }
});

test("an execution for which the kernel has no further namespace has no network", () => {
  const code = `
import errno, socket
def refused(flags):
    raise OSError(errno.ENOSPC, "unshare")
def made():
    try:
        socket.socket()
        return "made"
    except OSError as error:
        return errno.errorcode[error.errno]
unshare = enter_namespaces = refused
renew_network()
before = made()
confine_to_network()
print(before, made())
`;
  const text = programSource("seccomp.py", "namespaces.py", "loopback.py", "network_namespace.py") + code;
  expect(execFileSync("python3", ["-c", text]).toString().trim()).toBe("made ENETUNREACH");
});
