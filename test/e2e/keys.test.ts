/** `hull keys`, rates and CORS of a configured project, against a real `hull dev --direct` (S57, S72, S73, S114). */
import { readFile, writeFile } from "node:fs/promises";
import { get } from "node:http";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type HullDev, json, runHull, startHullDev } from "../support/hull-dev.ts";

const ADMIN = "e2e-admin-key-0123456789";
const APP = "https://app.example";
/** More than the requests without a key here. */
const MOST = 15;
const RATE = `rate_limit = "${MOST}/600s"\n`;

/** The second start is with other settings. */
const SHOP = `${RATE}name = "Corner shop"
auth = "none"
allowed_hosts = ["shop.test"]
allowed_origins = ["https://friend.example"]
max_body_bytes = 2000
max_output_bytes = 3000
[runner]
concurrency = 1
queue = 1
`;

let hull: HullDev;
beforeAll(async () => {
  hull = await startHullDev({
    skills: {
      "write/SKILL.md":
        "---\nname: Write\ndescription: Writes.\nprovider: mock\nworkspace_tools: [Write]\n---\nWrite.\n",
      "hi/SKILL.md": "---\nname: Hi\ndescription: Says hi.\nmode: llm\nprovider: mock\n---\nSay hi.\n",
      "copy/SKILL.md": "---\nname: copy\ndescription: Copies.\nrun: [./copy.sh]\n---\nCopies.\n",
      "copy/copy.sh": '#!/bin/sh\ncat > "$TMPDIR/copy"; cat "$TMPDIR/copy" "$TMPDIR/copy"\n',
      "held/SKILL.md": "---\nname: held\ndescription: Waits.\nrun: [./held.sh]\n---\nWaits.\n",
      "held/held.sh": '#!/bin/sh\nread -r gate; until [ -e "$gate" ]; do sleep 0.1; done\n',
    },
    project: { "hull.toml": `${RATE}cors_origins = ["${APP}"]\n` },
    env: { HULL_ADMIN_KEY: ADMIN },
    args: ["--direct"],
  });
});
afterAll(() => hull?.stop());

/** `hull keys …` with its stdout and stderr in one. */
const keys = (args: string[], key = ADMIN) =>
  runHull(["keys", ...args, "--url", hull.url], {
    cwd: hull.root,
    env: { HULL_API_KEY: key },
    ...(args[0] === "list" ? { process: true } : {}),
  });
const run = (key: string, headers: Record<string, string> = {}) =>
  hull.call("/skills/hi", "hello", { headers: { authorization: `Bearer ${key}`, ...headers } });

test("a key is made, listed, used up to its rate, and revoked", async () => {
  const made = await keys(["add", "--tenant", "acme", "--scopes", "invoke,publish", "--name", "for CI"]);
  expect(made.code).toBe(0);
  const key = /^(hull_[A-Za-z0-9_-]{43})$/m.exec(made.output)?.[1] ?? "";
  const id = /key_[0-9a-f]{32}/.exec(made.output)?.[0] ?? "";

  const listed = await keys(["list"]);
  expect(listed.output).toMatch(new RegExp(`${id} +hull_.{6}… +acme +invoke,publish +\\S+ +for CI`));
  expect(listed.output).not.toContain(key);

  const answers = [];
  for (let i = 0; i <= MOST; i++) answers.push(await run(key, { origin: APP }));
  expect(answers.map(({ status }) => status)).toEqual([...Array(MOST).fill(200), 429]);
  const refused = answers[MOST] ?? expect.fail();
  expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(500);
  expect(refused.headers.get("access-control-allow-origin")).toBe(APP);
  expect(await json(refused)).toMatchObject({ code: "rate_limited" });

  const notAdmin = await keys(["list"], key);
  expect(notAdmin).toMatchObject({ code: 5, output: expect.stringContaining("[forbidden]") });

  expect(await keys(["revoke", id])).toMatchObject({ code: 0, output: `Revoked ${id}.\n` });
  expect((await run(key)).status).toBe(401);
  expect(await keys(["revoke", id])).toMatchObject({ code: 3 });
  const left = await keys(["list", "--tenant", "acme", "--json"]);
  expect(JSON.parse(left.output)).toEqual({ data: [] });
  expect(hull.output()).not.toContain(key);
});

test("hull call writes the files of a run, which it may read with its key alone", async () => {
  const made = await keys(["add", "--tenant", "acme"]);
  const key = /^(hull_[A-Za-z0-9_-]{43})$/m.exec(made.output)?.[1] ?? "";
  const args = ["call", "write", "-i", "note", "-o", "made", "--url", hull.url, "--key", key];
  const called = await runHull(args, { cwd: hull.root });
  expect([called.code, called.output]).toEqual([0, expect.stringContaining("made/note (4 bytes)")]);
  expect(await readFile(join(hull.root, "made", "note"), "utf8")).toBe("note");
});

test.each<[string[], string, number]>([
  [["list"], "wrong-key-0123456789", 5],
  [["add", "--scopes", "root"], ADMIN, 2],
  [["add", "--tenant", "a b"], ADMIN, 2],
  [["revoke"], ADMIN, 2],
  [["drop", "x"], ADMIN, 2],
])("hull keys %j with the key %s ends with %i", async (args, key, code) => {
  expect((await keys(args, key)).code).toBe(code);
});

describe("after a restart with other settings", () => {
  let key: string;
  beforeAll(async () => {
    ({ key } = JSON.parse((await keys(["add", "--json"])).output));
    expect((await run(key)).status).toBe(200);
    await hull.end("SIGTERM");
    hull = await startHullDev({
      from: hull,
      project: { "hull.toml": SHOP },
      env: { HULL_ADMIN_KEY: ADMIN },
      args: ["--direct"],
    });
  });

  test("keys survive it, and what was used of their rate stays used", async () => {
    const statuses = [];
    for (let i = 0; i < MOST; i++) statuses.push((await run(key)).status);
    expect(statuses).toEqual([...Array(MOST - 1).fill(200), 429]);
  });

  test("S114: auth, limits, hosts, origins and the name of hull.toml hold in dev", async () => {
    const status = async (body: string, headers: Record<string, string> = {}): Promise<number> =>
      (await hull.call("/skills/copy", body, { headers })).status;
    expect(await (await hull.call("/")).text()).toContain("Corner shop");
    // Without a key runs are open, publishing is not.
    expect([await status("x"), (await hull.call("/_hull/bundles")).status]).toEqual([200, 401]);
    expect([await status("x".repeat(1500)), await status("x".repeat(1501))]).toEqual([200, 500]);
    expect(await status("x".repeat(2001))).toBe(413);
    expect(await status("x", { origin: "https://friend.example" })).toBe(200);
    expect(await status("x", { origin: "https://evil.example" })).toBe(403);
    expect(await hostStatus(hull.url, "shop.test")).toBe(200);
    expect(await hostStatus(hull.url, "other.test")).toBe(403);
    // What runs and what waits may end once the third one is refused.
    const gate = join(hull.root, "gate");
    const held = [1, 2, 3].map(() => hull.call("/skills/held", `${gate}\n`));
    expect((await Promise.race(held)).status).toBe(503);
    await writeFile(gate, "");
    expect((await Promise.all(held)).map((answer) => answer.status).sort()).toEqual([200, 200, 503]);
  });
});

/** `GET /skills` under a host name. */
async function hostStatus(url: string, host: string): Promise<number | undefined> {
  const { promise, resolve, reject } = Promise.withResolvers<number | undefined>();
  get(`${url}/skills`, { headers: { host } }, (answer) => {
    answer.resume();
    resolve(answer.statusCode);
  }).on("error", reject);
  return promise;
}
