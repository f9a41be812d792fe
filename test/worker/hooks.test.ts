/** Hooks in real isolates of Worker Loader. */

import { beforeAll, describe, expect, it } from "vitest";
import { sha256 } from "../../src/bytes.ts";
import { Deployment } from "../../src/deployment.ts";
import { callRunHook } from "../../src/run/agent/hooks.ts";
import type { Json } from "../../src/skill/manifest.ts";
import { IsolatePlaces } from "../../src/tool/isolate/places.ts";
import { Client, entry, mockSkill } from "./served.ts";
import { type Tenant, tenant } from "./tenant.ts";

const CANARY = "sk-ant-canary-0123456789";
const client = new Client({ HULL_ENV: "local", ANTHROPIC_API_KEY: CANARY });
/** Gives hooks little time. */
const { deployment: hasty } = new Client({ HULL_ENV: "local", HULL_CONFIG: '{"hook_timeout_ms":150}' });

const MODULE = `
let calls = 0;
const attempt = async (work) => { try { return { reached: await work() }; } catch (error) { return String(error).slice(0, 60); } };
export const echo = (...given) => given;
export const count = () => ++calls;
export const nothing = () => undefined;
export const answers = ({ what }) => ({
  big: 1n, function: () => 1, nan: { deep: [NaN] }, long: "x".repeat(5_000_001),
  circle: (() => { const a = {}; a.a = a; return a; })(), deep: JSON.parse("[".repeat(1500) + "]".repeat(1500)),
  date: new Date(0),
})[what];
export const fails = ({ what }) => {
  if (what === "error") throw new TypeError("it is ${CANARY}, so there");
  if (what === "object") throw { code: 7 };
  if (what === "words") throw { toString: () => "in its own words" };
  if (what === "nothing") throw undefined;
  if (what === "spoilt") throw { toString() { throw 1; }, get toJSON() { throw 1; } };
  return what.x.y;
};
export const hangs = async ({ what }) => {
  switch (what) {
    case "never": await new Promise(() => {}); break;
    case "sleep": await scheduler.wait(60_000); break;
    case "while": while (true);
    case "for": for (;;) try { for (;;); } catch {}
    case "of": for (const one of { [Symbol.iterator]: () => ({ next: () => ({ value: 1, done: false }) }) }) { one; }
    case "turns": while (true) await null;
  }
};
export const network = async () => ({
  fetch: await attempt(() => fetch("http://127.0.0.1:1/")),
  socket: await attempt(async () => (await import("cloudflare:sockets")).connect("127.0.0.1:1").opened),
  net: await attempt(async () => new Promise((ok, no) => import("node:net").then(({ connect }) => connect(1, "127.0.0.1").on("connect", ok).on("error", no)))),
  websocket: await attempt(() => new WebSocket("ws://127.0.0.1:1")),
});
export const secrets = async () => {
  const { env } = await import("cloudflare:workers");
  return { env: Object.keys(env), process: Object.keys(process.env), caches: typeof caches };
};
export const forbidden = async () => [await attempt(() => eval("1")), await attempt(() => new Function("return 1")())];
export const logs = async ({ name }) => { console.log(name, { a: 1 }); await scheduler.wait(5); console.error("${CANARY}"); return name; };
export const spoil = () => { JSON.stringify = () => "}"; return {}; };
export const end = async () => (await import("cloudflare:workers")).abortIsolate("over");
export const value = 7;
`;

/** Stores a module as a publish does; answers its digest. */
async function stored(text: string): Promise<string> {
  const bytes = new Uint8Array(new TextEncoder().encode(text));
  const digest = await sha256(bytes);
  expect((await client.upload([entry(`module/${digest}`, bytes)])).status).toBe(201);
  return digest;
}

let module = "";
beforeAll(async () => {
  module = await stored(MODULE);
});

interface Terms {
  deployment?: Deployment;
  tenant?: string;
  module?: string;
  fresh?: boolean;
  signal?: AbortSignal;
}

const call = (exportName: string, payload: Json = null, terms: Terms = {}): Promise<Json> => {
  const { deployment = client.deployment, tenant = "acme", module: digest = module, fresh = false } = terms;
  const { signal = new AbortController().signal } = terms;
  const place = { deployment, tenant, isolatePlaces: new IsolatePlaces() };
  const hooks = { it: { slug: "it", module: digest, exportName, fresh } };
  return callRunHook(place, { hooks }, { reference: "it", payload, signal });
};
const failure = (work: Promise<Json>) =>
  work.then(
    (value) => ({ value }),
    ({ code, status, message }) => ({ code, status, message }),
  );

describe("a hook", () => {
  it("gets JSON and answers JSON", async () => {
    expect(await call("echo", { text: "ü\u2028", list: [1, null] })).toEqual([
      { text: "ü\u2028", list: [1, null] },
    ]);
    expect(await call("echo")).toEqual([]);
    expect(await call("nothing")).toBeNull();
    expect(await call("answers", { what: "date" })).toBe("1970-01-01T00:00:00.000Z");
  });

  it.each([
    ["answers", "big", "hook_invalid", /BigInt/],
    ["answers", "function", "hook_invalid", /it is a function/],
    ["answers", "nan", "hook_invalid", /it holds NaN/],
    ["answers", "circle", "hook_invalid", /circular/],
    ["answers", "long", "hook_invalid", /longer than 5000000/],
    ["answers", "deep", "hook_invalid", /nests too deep/],
    ["fails", "error", "hook_failed", /^The hook "fails" failed: it is \[redacted\], so there$/],
    ["fails", "object", "hook_failed", /\{"code":7\}/],
    ["fails", "nothing", "hook_failed", /undefined/],
    ["fails", "words", "hook_failed", /in its own words/],
    ["fails", "spoilt", "hook_failed", /cannot be shown/],
    ["fails", "type", "hook_failed", /^The hook "fails" failed: Cannot read prop[^\n]*$/],
    ["value", "", "hook_failed", /not a function/],
    ["missing", "", "hook_failed", /not a function/],
    ["toString", "", "hook_failed", /not a function/],
  ])("%s(%s) is %s", async (name, what, code, message) => {
    const outcome = await failure(call(name, { what }));
    expect(outcome).toMatchObject({ code, status: 500, message: expect.stringMatching(message) });
    expect(JSON.stringify(outcome)).not.toContain(CANARY);
  });

  it.each(["never", "sleep", "while", "for", "of", "turns"])(
    "is ended in time if it hangs (%s), and the next call works",
    async (what) => {
      const before = await call("count", null, { deployment: hasty });
      const slow = failure(call("hangs", { what }, { deployment: hasty }));
      expect(await slow).toMatchObject({
        code: "hook_timeout",
        status: 504,
        message: expect.stringContaining("150 ms"),
      });
      expect(before).toBeGreaterThan(0);
      expect(await call("count", null, { deployment: hasty })).toBe(1);
    },
  );

  it("has the time that the deployment gives hooks", async () => {
    const { deployment } = new Client({ HULL_ENV: "local", HULL_CONFIG: '{"hook_timeout_ms":120}' });
    const slow = await failure(call("hangs", { what: "sleep" }, { deployment }));
    expect(slow).toMatchObject({ code: "hook_timeout", message: expect.stringContaining("120 ms") });
  });

  it("harms only itself if it ends or damages its isolate", async () => {
    expect(await failure(call("end", null, { tenant: "rude" }))).toMatchObject({
      status: expect.any(Number),
      code: expect.stringMatching(/^hook_/),
    });
    expect(await failure(call("spoil", null, { tenant: "rude" }))).toMatchObject({ code: "hook_invalid" });
    expect(await call("echo", 1)).toEqual([1]);
  });

  it("reaches no network, no secret, no evaluation", async () => {
    const reached = await call("network");
    for (const [what, outcome] of Object.entries(reached ?? {}))
      expect(outcome, what).toMatch(/not permitted/);
    expect(await call("secrets")).toEqual({ env: [], process: [], caches: "undefined" });
    expect(await call("forbidden")).toEqual([
      expect.stringMatching(/^EvalError/),
      expect.stringMatching(/^EvalError/),
    ]);
  });

  it("stops waiting when its caller has left", async () => {
    const reason = new RangeError("gone");
    const gone = AbortSignal.abort(reason);
    await expect(call("echo", 1, { signal: gone })).rejects.toBe(reason);
    const leaving = new AbortController();
    const waiting = call("hangs", { what: "sleep" }, { signal: leaving.signal });
    leaving.abort(reason);
    await expect(waiting).rejects.toBe(reason);
  });

  it("may write to the console, and its answer stays its own", async () => {
    const answers = await Promise.all(["a", "b"].map((name) => call("logs", { name })));
    expect(answers).toEqual(["a", "b"]);
  });

  it("keeps its isolate warm for its tenant; no other tenant, and no fresh call, sees its state", async () => {
    const first = Number(await call("count", null, { tenant: "one" }));
    expect(await call("count", null, { tenant: "one" })).toBe(first + 1);
    expect(await call("count", null, { tenant: "two" })).toBe(1);
    for (const _ of [1, 2]) expect(await call("count", null, { tenant: "one", fresh: true })).toBe(1);
  });

  it("fails if its module cannot be loaded, and says why", async () => {
    for (const [text, message] of [
      ["export const a = (;", /Unexpected token.*hooks.js:1:/],
      ['throw new Error("at the top");', /at the top/],
      ['import "left-pad"; export const a = 1;', /No such module "left-pad"/],
    ] as const) {
      const outcome = await failure(call("a", null, { module: await stored(text) }));
      expect(outcome).toMatchObject({ code: "hook_failed", message: expect.stringMatching(message) });
    }
    expect(await failure(call("a", null, { module: "0".repeat(64) }))).toMatchObject({ code: "hook_failed" });
  });

  it("is unavailable without the binding", async () => {
    const { LOADER: _, ...env } = client.env;
    const outcome = await failure(call("echo", null, { deployment: new Deployment(env) }));
    expect(outcome).toMatchObject({
      code: "hooks_unavailable",
      status: 503,
      message: expect.stringContaining("worker_loaders"),
    });
  });
});

describe("uploaded hooks", () => {
  const files = (hooks: Record<string, string>) => ({ "SKILL.md": mockSkill("hooked"), ...hooks });
  let acme: Tenant;
  beforeAll(async () => {
    await client.publish({ other: mockSkill("other") });
    acme = await tenant("acme", "publish", "invoke");
  });

  it("are stored unchanged if they are plain JavaScript", async () => {
    const answer = await acme.put(
      "hooked",
      files({ "hooks.js": "export const seven = () => 7; export const n = 1; export default () => 0;" }),
    );
    expect(answer.status).toBe(201);
    const { digest } = await answer.json<{ digest: string }>();
    const record = await client.env.SKILLS.get<{ hooks: { module: string; exports: string[] } }>(
      `uploaded/skill:${digest}`,
      "json",
    );
    expect(record?.hooks.exports).toEqual(["default", "seven"]);
    expect(await call("seven", null, { module: record?.hooks.module ?? "", fresh: true })).toBe(7);
  });

  it.each([
    [{ "hooks.ts": "export const a = 1;" }, "hooks_need_build", undefined],
    [{ "hooks.js": 'export const a = 1;\nimport x from "x";' }, "hooks_need_build", 2],
    [{ "hooks.js": "export const a = () => {;" }, "hooks_build", 1],
    [{ "hooks.js": "module.exports = {};" }, "hooks_build", undefined],
    [{ "hooks.js": "export const a = 1;" }, "hooks_no_exports", undefined],
    [{ "hooks.js": "export const a = 1;", "hooks.ts": "" }, "hooks_two_files", undefined],
  ])("%j are refused", async (hooks, code, line) => {
    const answer = await acme.put("hooked", files(hooks));
    expect(answer.status).toBe(422);
    const { diagnostics } = await answer.json<{ diagnostics: object[] }>();
    expect(diagnostics).toEqual([
      expect.objectContaining({
        level: "error",
        code,
        file: expect.stringMatching(/^hooks\.[tj]s$/),
        ...(line === undefined ? {} : { line }),
      }),
    ]);
  });
});
