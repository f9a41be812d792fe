/** What isolates of handlers are: what the platform gives them and what Hull takes away, one test for each. */
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { IsolateNames } from "../../src/run/handler/isolate-names.ts";
import { Isolates } from "../../src/tool/isolate/isolate.ts";
import { bindings } from "./file-bindings.ts";
import { handle, RECORD, TOOL } from "./handler-world.ts";

const TEXT = { type: "object", properties: { text: { type: "string" } }, required: ["text"] };
const UPLOADED = { uploaded_by: "acme" };

interface Counts extends Rpc.WorkerEntrypointBranded {
  next(): Promise<number>;
}

/** A handler that returns an expression's value, or its failure. */
const probe = (expression: string, head = "") => `${head}
const attempt = async (work) => { try { return await work(); } catch (error) { return "ERR " + (error?.message ?? error); } };
export default async (args, ctx) => await attempt(async () => (${expression}));`;
const value = async (source: string, ...scene: [Parameters<typeof handle>[1]?]) =>
  (await handle(source, ...scene)).value;

describe("what an isolate is", () => {
  it.each([
    ["node:path", "path.join('a', '..', 'b')", "b", "import path from 'node:path';"],
    ["child_process", "cp.execSync('ls')", /^ERR .*not implemented/, "import cp from 'node:child_process';"],
    [
      "worker_threads",
      "new Worker('x')",
      /^ERR .*not implemented/,
      "import { Worker } from 'node:worker_threads';",
    ],
    ["eval", "eval('1')", /^ERR Code generation/, ""],
    ["new Function", "new Function('return 1')()", /^ERR Code generation/, ""],
    ["WebAssembly", "WebAssembly.compile(new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0]))", /^ERR /, ""],
    ["data: imports", "import('data:text/javascript,1')", /^ERR /, ""],
    ["require", "typeof require", "undefined", ""],
    ["import.meta.url", "typeof import.meta.url", "undefined", ""],
    ["fetch", "fetch('http://127.0.0.1:1/')", /^ERR .*not permitted to access the internet/, ""],
    ["sockets", "(await import('cloudflare:sockets')).connect('127.0.0.1:1').opened", /^ERR /, ""],
    ["the cache of others", "typeof caches", "undefined", ""],
    ["bindings", "Object.keys((await import('cloudflare:workers')).env)", [], ""],
    ["variables", "Object.keys(process.env)", [], ""],
    ["an artifact as text", "ctx.artifact('text')", /^ERR An artifact is an object/, ""],
    ["an update as text", "ctx.artifact.update('i', 'text')", /^ERR An artifact is an object/, ""],
    [
      "a write outside",
      "fs.writeFileSync('/elsewhere.txt', 'x')",
      /^ERR operation not permitted/,
      "import fs from 'node:fs';",
    ],
    ["a write into the bundle", "fs.writeFileSync('/bundle/x', 'x')", /^ERR /, "import fs from 'node:fs';"],
    [
      "a stat of a broken link",
      "(fs.symlinkSync('/nowhere', 'l'), fs.statSync('l'))",
      /^ERR no such file/,
      "import fs from 'node:fs';",
    ],
  ])("%s", async (_, expression, expected, head) => {
    const got = await value(probe(expression, head));
    if (expected instanceof RegExp) expect(got).toMatch(expected);
    else expect(got).toEqual(expected);
  });

  it("published code keeps what a module holds, uploaded code does not; /tmp is of each call", async () => {
    const source = `import fs from "node:fs"; let n = 0;
      export default () => { const left = fs.readdirSync("/tmp").length; fs.writeFileSync("/tmp/left", "x"); return [++n, left]; }`;
    expect([await value(source), await value(source)]).toEqual([
      [1, 1],
      [2, 1],
    ]);
    expect([await value(source, { record: UPLOADED }), await value(source, { record: UPLOADED })]).toEqual([
      [1, 1],
      [1, 1],
    ]);
  });

  it("only what the tool names of the variables is there, and tenants do not share isolates", async () => {
    const source =
      "let n = 0; export default (_, ctx) => [Object.keys(process.env), process.env.CITY, ctx.env.CITY, ++n]";
    const tool = { env: ["CITY", "UNSET", "ANTHROPIC_API_KEY", "HULL_ADMIN_KEY"] };
    const variables = {
      ANTHROPIC_API_KEY: "sk-ant-canary",
      OTHER: "x",
      HULL_ADMIN_KEY: "hull-admin-canary-0123",
    };
    const of = (tenant: string, CITY: string, record = {}) =>
      value(source, { tool, tenant, record, variables: { ...variables, CITY } });
    expect(await of("acme", "Rome")).toEqual([["CITY"], "Rome", "Rome", 1]);
    expect(await of("acme", "Oslo")).toEqual([["CITY"], "Oslo", "Oslo", 1]);
    expect(await of("umbrella", "Rome")).toEqual([["CITY"], "Rome", "Rome", 1]);
    expect(await of("acme", "Rome")).toEqual([["CITY"], "Rome", "Rome", 2]);
    // H8: uploaded code gets what the operator grants it.
    expect(await of("acme", "Rome", UPLOADED)).toEqual([[], null, null, 1]);
    const granted = { ...variables, CITY: "Rome", HULL_GRANTS: '{"acme/probes":["CITY"]}' };
    expect(await value(source, { tool, record: UPLOADED, variables: granted })).toEqual([
      ["CITY"],
      "Rome",
      "Rome",
      1,
    ]);
  });

  it.each([
    "await new Promise(() => {})",
    "while (true);",
    "for (;;) await null",
    "await scheduler.wait(60_000)",
  ])("%s ends with the time limit, and the next call works", async (body) => {
    const source = `export default async ({ text }) => { if (text === "hang") { ${body}; } return text; }`;
    const tool = { parameters: TEXT, timeout_ms: 200 };
    expect(await handle(source, { tool, args: { text: "hang" } })).toMatchObject({
      fault: "timeout",
      value: { error: expect.stringContaining("200 ms") },
    });
    expect(await value(source, { tool: { parameters: TEXT }, args: { text: "on" } })).toBe("on");
  });

  it.each([
    ["fetch('https://example.com/')", "probe declares no network, so it has none"],
    ["({ toJSON() { throw 'why'; } })", "cannot be sent as JSON: why."],
  ])("%s: the author learns why", async (expression, error) => {
    const { value } = await handle(`export default () => ${expression}`);
    expect(value).toEqual({ error: expect.stringContaining(error) });
  });

  it("5 MB pass", async () => {
    const heard = await handle("export default () => 'x'.repeat(4_999_998)");
    expect([heard.fault, heard.text.length]).toEqual([null, 4_999_998]);
  });

  it("a cancelled call gets an answer, and its handler gets the signal", async () => {
    const abort = new AbortController();
    const source = `export default (args, ctx) => new Promise((resolve) => {
      ctx.signal.addEventListener("abort", async () => { await ctx.emit("stopped"); resolve(1); }); ctx.emit("begun"); })`;
    const heard = handle(source, {
      call: { signal: abort.signal },
      environment: {
        emit: (event) => (Reflect.get(event.data, "text") === "begun" ? abort.abort() : undefined),
      },
    });
    expect(await heard).toMatchObject({ fault: "cancelled" });
  });

  it("a call that is cancelled while its module is read does not begin", async () => {
    const abort = new AbortController();
    const SKILLS = new Proxy(bindings.SKILLS, {
      get(target, name) {
        const value: unknown = Reflect.get(target, name, target);
        if (typeof value !== "function") return value;
        return (...args: unknown[]) => {
          if (String(args[0]).startsWith("module:")) abort.abort();
          return Reflect.apply(value, target, args);
        };
      },
    });
    const source = "export default async (args, ctx) => { await ctx.emit('begun'); return 1; }";
    const call = { signal: abort.signal };
    const heard = await handle(source, { record: UPLOADED, variables: { SKILLS }, call });
    expect(heard).toMatchObject({ fault: "cancelled", events: [] });
  });

  it("a call that has ended no longer listens to its run", async () => {
    const { signal } = new AbortController();
    const listening = new Set<unknown>();
    signal.addEventListener = (_: string, listener: unknown) => void listening.add(listener);
    signal.removeEventListener = (_: string, listener: unknown) => void listening.delete(listener);
    expect(
      await value(
        "export default async (args, ctx) => { const { aborted } = ctx.signal; await ctx.emit(String(aborted)); return aborted; }",
        { call: { signal } },
      ),
    ).toBe(false);
    expect(listening.size).toBe(0);
  });

  it("an isolate that was abandoned never answers again, however many others were abandoned since", async () => {
    const { LOADER } = bindings;
    if (LOADER === undefined) throw new Error("the tests have a Worker Loader");
    const isolates = new Isolates(LOADER);
    const counts = `import { WorkerEntrypoint } from "cloudflare:workers";
      let n = 0; export default class extends WorkerEntrypoint { next() { return ++n; } }`;
    const code = async () => ({
      main: "m.js",
      modules: { "m.js": counts },
      env: {},
      outbound: null,
      node: false,
    });
    const name = crypto.randomUUID();
    const next = async () => (await isolates.of<Counts>(name, code, { cpuMs: 1000, subRequests: 0 })).next();
    expect([await next(), await next()]).toEqual([1, 2]);
    isolates.abandon(name);
    expect([await next(), await next()]).toEqual([1, 2]);
    // Hull remembers about 1000 names: of a name that it forgot, no old isolate comes back.
    for (let other = 0; other < 1001; other++) isolates.abandon(`${name} ${other}`);
    expect([await next(), await next()]).toEqual([1, 2]);
    // workerd keeps warm isolates forever: one that is abandoned again and again gets no other warm one.
    for (let time = 0; time < 10; time++) isolates.abandon(name);
    expect([await next(), await next()]).toEqual([1, 2]);
    isolates.abandon(name);
    expect([await next(), await next()]).toEqual([1, 1]);
  });

  it("Hull remembers about 1000 names of isolates, and finds a forgotten one again", async () => {
    const names = new IsolateNames();
    const signed = vi.spyOn(crypto.subtle, "sign");
    const nameOf = (n: number) => names.nameOf("acme", { record: RECORD, tool: TOOL, env: { CITY: `${n}` } });
    const first = await nameOf(0);
    expect([await nameOf(0), signed.mock.calls.length]).toEqual([first, 1]);
    for (let n = 1; n <= 1000; n++) await nameOf(n);
    expect([await nameOf(0), signed.mock.calls.length]).toEqual([first, 1002]);
    expect([await nameOf(1000), signed.mock.calls.length]).toEqual([await nameOf(1000), 1002]);
  });

  it("without the binding, and without a module, the runner executes it", async () => {
    const none = await handle("export default () => 1", { variables: { LOADER: undefined } });
    expect(none).toMatchObject({ value: "from the runner", metadata: { runtime: "runner" } });
    expect((await handle("", { tool: { tier: "runner" } })).inRunner).toHaveLength(1);
  });

  it("an isolate that another one replaced reports nothing that Hull uses", async () => {
    const source = `export default () => { JSON.stringify = () => "}"; return {}; }`;
    expect(await handle(source, { record: UPLOADED })).toMatchObject({ fault: "tool_error" });
    const ended = "export default async () => (await import('cloudflare:workers')).abortIsolate('over')";
    const tool = { timeout_ms: 100 };
    expect(await handle(ended, { record: UPLOADED, tool })).toMatchObject({ fault: "timeout" });
  });
});

describe("the way out", () => {
  const asked: string[] = [];
  beforeEach(() => {
    asked.length = 0;
    vi.spyOn(globalThis, "fetch").mockImplementation(async (input, init) => {
      const { url, method, headers } = new Request(input, init);
      asked.push(`${method} ${url}`);
      const { pathname } = new URL(url);
      const to = /^\/to\/(.*)$/.exec(pathname)?.[1];
      if (to !== undefined)
        return new Response(null, { status: 302, headers: { location: decodeURIComponent(to) } });
      if (pathname === "/large") return new Response(new Uint8Array(33 * 1024 * 1024));
      return Response.json({ url, sent: await new Request(input, init).text(), own: headers.get("x-own") });
    });
  });
  afterEach(() => vi.restoreAllMocks());

  const ask = (url: string, hosts: string[] | null, init = "{}") =>
    value(probe(`fetch(${JSON.stringify(url)}, ${init}).then(async (r) => [r.status, await r.text()])`), {
      tool: { network: { hosts } },
    }) as Promise<[number, string]>;

  it("leads to public hosts, or to listed hosts", async () => {
    const init = '{ method: "POST", body: "hi", headers: { "x-own": "1" } }';
    const [status, text] = await ask("https://api.example.com/a?b=1", null, init);
    expect([status, JSON.parse(text)]).toEqual([
      200,
      { url: "https://api.example.com/a?b=1", sent: "hi", own: "1" },
    ]);
    expect((await ask("https://api.example.com/", ["*.example.com"]))[0]).toBe(200);
    const [refused, why] = await ask("https://example.org/", ["*.example.com"]);
    expect([refused, JSON.parse(why).detail]).toEqual([
      403,
      "The host example.org is not among the hosts that are allowed: *.example.com.",
    ]);
    expect(asked).not.toContain("GET https://example.org/");
  });

  it("never to private addresses, and each redirect is checked", async () => {
    expect((await ask("http://127.0.0.1:8787/", null))[0]).toBe(403);
    expect((await ask("https://a.example/to/https%3A%2F%2Fb.example%2Fend", null))[1]).toContain(
      "b.example/end",
    );
    for (const target of ["http://169.254.169.254/latest", "https://elsewhere.test/"]) {
      const [status] = await ask(`https://a.example/to/${encodeURIComponent(target)}`, ["a.example"]);
      expect(status).toBe(403);
    }
    expect(asked.filter((line) => /^GET http:\/\/169|^GET https:\/\/elsewhere/.test(line))).toEqual([]);
  });

  it("does not carry bodies without end, nor sockets", async () => {
    const large = await ask("https://a.example/large", null);

    expect(large).toMatch(/^ERR /);
    const connect = `(async () => {
      const socket = (await import("cloudflare:sockets")).connect("127.0.0.1:1");
      const writer = socket.writable.getWriter(); await writer.write(new TextEncoder().encode("GET / HTTP/1.1\\r\\nHost: a\\r\\n\\r\\n"));
      const { done, value } = await socket.readable.getReader().read();
      return JSON.stringify([done, value ? new TextDecoder().decode(value) : null, await socket.opened]);
    })()`;
    expect(await value(probe(connect), { tool: { network: { hosts: null } } })).toMatch(/^ERR /);
  });
});
