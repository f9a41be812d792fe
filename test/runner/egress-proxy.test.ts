/** What the proxy of handlers that list hosts refuses, asked over its socket. The test says where names lead. */
import dns from "node:dns/promises";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer, request } from "node:http";
import { syncBuiltinESMExports } from "node:module";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, expect, test } from "vitest";
import { EgressProxy } from "../../container/egress-proxy.ts";

const HOST = "api.example.com";
const MINUTE = 60_000;
const folder = await mkdtemp(join(tmpdir(), "hull-proxy-"));
const path = join(folder, "proxy.sock");
const proxy = await EgressProxy.open(path, {});
afterAll(async () => {
  proxy.close();
  await rm(folder, { recursive: true });
});

const passwordOf = (variables: Record<string, string>): string =>
  decodeURIComponent(new URL(variables.HTTP_PROXY ?? "").password);

/** Asks for the URL with this password. @param tunnel asks for the host, by CONNECT */
function ask(
  password: string,
  { tunnel = false, url = `http://${HOST}/` } = {},
): Promise<[status: number, text: string, challenge: string | undefined]> {
  const login = Buffer.from(`hull:${password}`).toString("base64");
  const headers = { host: HOST, "proxy-authorization": `Basic ${login}` };
  const target = tunnel ? { method: "CONNECT", path: `${HOST}:443` } : { path: url };
  return new Promise((resolve, reject) => {
    const asked = request({ socketPath: path, headers, ...target });
    asked.once("response", async (answer) => {
      const pieces = await Array.fromAsync(answer.setEncoding("utf8"));
      resolve([answer.statusCode ?? 0, pieces.join(""), answer.headers["proxy-authenticate"]]);
    });
    asked.once("connect", (answer, socket, head) => {
      socket.destroy();
      resolve([answer.statusCode ?? 0, head.toString(), answer.headers["proxy-authenticate"]]);
    });
    asked.once("error", reject).end();
  });
}

/** Lets all names lead to these addresses. */
function leadTo(addresses: readonly string[]): Disposable {
  const found = addresses.map((address) => ({ address, family: address.includes(":") ? 6 : 4 }));
  const { lookup } = dns;
  Object.assign(dns, { lookup: async () => found });
  syncBuiltinESMExports();
  return {
    [Symbol.dispose]() {
      Object.assign(dns, { lookup });
      syncBuiltinESMExports();
    },
  };
}

test.each([["10.0.0.7"], ["127.0.0.1"], ["169.254.169.254"], ["::1"], ["fd00::7"]])(
  "a permitted name that leads to %s is refused",
  async (address) => {
    using _ = leadTo([address]);
    const password = passwordOf(proxy.variables([HOST], MINUTE));
    for (const tunnel of [false, true]) {
      const [status, said, challenge] = await ask(password, { tunnel });
      expect([tunnel, status, challenge]).toEqual([tunnel, 403, undefined]);
      if (!tunnel) expect(said).toBe(`The host ${HOST} has no public address.\n`);
    }
  },
);

test("a name that leads nowhere is 502, a host that the call does not list 403, no address 400", async () => {
  using _ = leadTo([]);
  const password = passwordOf(proxy.variables([HOST], MINUTE));
  expect((await ask(password))[0]).toBe(502);
  expect((await ask(password, { url: "http://other.example.com/" }))[0]).toBe(403);
  const unclear = [400, "The proxy cannot pass this request on.\n", undefined];
  expect(await ask(password, { url: "/only/a/path" })).toEqual(unclear);
});

test("a password serves for its call's time, its hosts and this proxy alone", async () => {
  using _ = leadTo(["10.0.0.7"]);
  const other = await EgressProxy.open(join(folder, "other.sock"), {});
  const [pass = "", mac = ""] = passwordOf(proxy.variables(["other.example.com"], MINUTE)).split(".");
  const wider = Buffer.from(JSON.stringify({ hosts: [HOST], until: Date.now() + MINUTE })).toString(
    "base64url",
  );
  const refused = {
    expired: passwordOf(proxy.variables([HOST], -1)),
    foreign: passwordOf(other.variables([HOST], MINUTE)),
    changed: `${wider}.${mac}`,
    unsigned: pass,
    none: "",
  };
  other.close();
  for (const [name, password] of Object.entries(refused))
    for (const tunnel of [false, true]) {
      const [status, , challenge] = await ask(password, { tunnel });
      expect([name, status, challenge]).toEqual([name, 407, 'Basic realm="hull"']);
    }
});

test.each([
  [
    "what either side sends before the tunnel stands arrives",
    "me:my%20word@",
    200,
    /^HTTP\/1\.1 200 .*\r\n\r\nfrom there, from here$/s,
  ],
  ["its refusal is 502", "", 403, /^HTTP\/1\.1 502 .*The machine's proxy answered 403\.\n$/s],
])("through the machine's own proxy: %s", async (_, login, status, answer) => {
  const logins: (string | undefined)[] = [];
  const machine = createServer().on("connect", (asked, socket) => {
    logins.push(asked.headers["proxy-authorization"]);
    socket.write(`HTTP/1.1 ${status} So\r\n\r\nfrom there, `);
    socket.pipe(socket);
  });
  await new Promise<void>((resolve) => machine.listen(0, "127.0.0.1", resolve));
  const address = machine.address();
  const port = typeof address === "object" ? address?.port : null;
  const through = await EgressProxy.open(join(folder, `${status}.sock`), {
    https_proxy: `http://${login}127.0.0.1:${port}`,
  });
  try {
    const pass = Buffer.from(`hull:${passwordOf(through.variables([HOST], MINUTE))}`).toString("base64");
    const socket = connect(join(folder, `${status}.sock`));
    const head = [`CONNECT ${HOST}:443 HTTP/1.1`, `host: ${HOST}`, `proxy-authorization: Basic ${pass}`];
    socket.end(`${head.join("\r\n")}\r\n\r\nfrom here`);
    expect(await text(socket)).toMatch(answer);
    const own = `Basic ${Buffer.from("me:my word").toString("base64")}`;
    expect(logins).toEqual([login === "" ? undefined : own]);
  } finally {
    through.close();
    machine.close();
    machine.closeAllConnections();
  }
});
