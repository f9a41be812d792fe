/**
 * Attacks on a running `hull dev`: by whoever reaches its port, by pages of other sites in the developer's browser, and by values
 * of a project's variables. These reach the Worker unchanged, or `hull dev` refuses them with a message.
 */
import { request } from "node:http";
import { connect } from "node:net";
import { networkInterfaces } from "node:os";
import { beforeAll, describe, expect, test } from "vitest";
import { type CommonHull, commonHull } from "../support/common-hull.ts";
import { REPO, runHull, startHullDev } from "../support/hull-dev.ts";
import { sharedHull } from "../support/shared.ts";
import { folder } from "../unit/scripts/folder.ts";

const KEY = "hull-admin-canary-$x-0123456789";
const SKILLS = {
  "hello/SKILL.md": "---\nname: hello\ndescription: Says hello\nrun: [bash, run.sh]\n---\n",
  "hello/run.sh": "echo hello\n",
};
const OTHER = Object.values(networkInterfaces())
  .flat()
  .find((address) => address?.family === "IPv4" && !address.internal)?.address;

interface Answer {
  status: number;
  text: string;
}

/** A request whose target and headers are sent as they are written. */
function send(
  url: string,
  { path, method = "GET", body = "", ...headers }: Record<string, string>,
): Promise<Answer> {
  const { promise, resolve, reject } = Promise.withResolvers<Answer>();
  const { hostname, port } = new URL(url);
  const sent = request({ hostname, port, path, method, headers }, (response) => {
    let text = "";
    response.setEncoding("utf8").on("data", (part: string) => {
      text += part;
    });
    response.on("end", () => resolve({ status: response.statusCode ?? 0, text }));
  });
  sent.on("error", reject).end(body);
  return promise;
}

/** The status of an answer to a request line that Node's client would not send. */
function sendLine(url: string, target: string): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname, () => {
    socket.write(`GET ${target} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`);
  });
  let text = "";
  socket.setEncoding("latin1").on("data", (part: string) => {
    text += part;
  });
  socket.on("error", reject).on("close", () => resolve(Number(text.split(" ")[1])));
  return promise;
}

/** A handler that answers which of its variables it has. */
const TOOL = {
  "vars/SKILL.md":
    "---\nname: vars\ndescription: Tells its variables\nrun: [bash, run.sh]\ntool_env: [NAMES]\n---\n",
  "vars/run.sh": "env -0\n",
};

/** Every character that a value may hold; each kind of quote is in one that another kind, or none, encloses. */
const ASCII = Array.from({ length: 127 }, (_, code) => String.fromCharCode(code))
  .slice(1)
  .filter((char) => !/[\r\n"'`#]/.test(char))
  .join("");
const LATER = `${Array.from({ length: 128 }, (_, i) => String.fromCharCode(128 + i)).join("")}\u2028\uFFFD\u{1F600}`;
const VALUES: Record<string, [written: string, value: string]> = {
  ASCII: [`'${ASCII}'`, ASCII],
  LATER: [`'${LATER}'`, LATER],
  DOLLARS: ["$x${y}\\$z$$", "$x${y}\\$z$$"],
  QUOTES: ["a\"b'c`d", "a\"b'c`d"],
  DOUBLE: ['"it\'s `so` $HOME \\\\ \\n#"', "it's `so` $HOME \\\\ \n#"],
  SINGLE: ["'a \"b\" `c` # \\n'", 'a "b" `c` # \\n'],
  BACK: ["`a \"b\" 'c'`", "a \"b\" 'c'"],
  LINES: ["'one\ntwo\n\nfour'", "one\ntwo\n\nfour"],
  SLASHES: ["\\\\a\\b\\", "\\\\a\\b\\"],
  BLANKS: ["'  a\t '", "  a\t "],
  EQUALS: ["a=b==", "a=b=="],
};
const NAMES = Object.keys(VALUES);

/** A tool whose handler has the variables that it names. */
const PEEK = {
  name: "peek",
  description: "Peeks.",
  script: "peek.mjs",
  "x-env": ["TOKEN_OF_TOOL"],
  parameters: {},
};
const ENVIRONMENT = "e$x\"'`\\ \n é";

/** A server with these variables and further lines of .env. */
const withVariables = (args: string[], more = "") =>
  sharedHull({
    skills: {
      ...SKILLS,
      ...TOOL,
      "vars/SKILL.md": TOOL["vars/SKILL.md"].replace("NAMES", [...NAMES, "OUTER"].join(", ")),
      "peeks/SKILL.md": "---\nname: peeks\ndescription: Peeks\nmode: llm\nprovider: mock\n---\nPeek.\n",
      "peeks/tools.json": JSON.stringify([PEEK]),
      "peeks/peek.mjs":
        "export default async (_args, ctx) => ({ token: ctx.env.TOKEN_OF_TOOL ?? null, other: ctx.env.TOKEN_OF_NOBODY ?? null });",
    },
    project: {
      ".env": `\uFEFF${Object.entries(VALUES)
        .map(([name, [written]]) => `${name}=${written}\n`)
        .join("")}${more}`,
    },
    env: { OUTER: ENVIRONMENT, TOKEN_OF_TOOL: "value-of-the-token", TOKEN_OF_NOBODY: "x" },
    args,
  });

// First alone: if it does not start, no hook of this file ends the others.
const { hull: common } = await commonHull(SKILLS);
const [fronted, guarded] = await Promise.all([
  withVariables([]),
  withVariables(["-H", "0.0.0.0", "--public", "--direct"], `HULL_ADMIN_KEY=${KEY}"'\`\\\n`),
]);

describe.each([
  ["the front", []],
  ["--direct", ["--direct"]],
  ["--no-front", ["--no-front"]],
])("assets that wrangler serves next to the Worker, with %s", (mode, args) => {
  let hull: CommonHull = mode === "--direct" ? common : fronted;
  beforeAll(async () => {
    if (mode !== "--no-front") return;
    const own = await startHullDev({ skills: SKILLS, args });
    hull = own;
    return () => own.stop();
  });

  test.each([
    "/cdn-cgi/local/explorer",
    "/cdn-cgi/local/explorer/api/d1/database",
    "/cdn-cgi/explorer/api/d1/database",
    "/cdn-cgi/local/scheduled?cron=*+*+*+*+*",
    "/cdn-cgi/local/email?from=a@b.example&to=c@d.example",
    "/cdn-cgi/handler/scheduled",
    "/cdn-cgi/mf/scheduled",
    "/cdn-cgi/local/platform-proxy",
    "/cdn-cgi/local/r2/s3/hull-files",
    "/cdn-cgi/",
  ])(`attack: %s is not found (${mode})`, async (path) => {
    for (const method of ["GET", "POST"]) {
      const answer = await send(hull.url, { path, method, host: "localhost" });
      expect([method, answer.status]).toEqual([method, 404]);
      expect(JSON.parse(answer.text)).toMatchObject({ code: "not_found", status: 404 });
    }
  });

  test(`attack: another spelling of the path does not find them either (${mode})`, async () => {
    const scheduled = "/cdn-cgi/local/scheduled";
    const targets = [
      `/x/..${scheduled}`,
      `/%2e${scheduled}`,
      `/x/%2E%2e${scheduled}`,
      `http://localhost${scheduled}`,
      "\\cdn-cgi\\local\\scheduled",
      `/\t${scheduled}`,
    ];
    for (const target of targets) {
      expect([target, [400, 404].includes(await sendLine(hull.url, target))]).toEqual([target, true]);
    }
    const at = hull.output().length;
    const replaced = await send(hull.url, {
      path: "/skills/hello",
      host: "localhost",
      "MF-Original-URL": `http://localhost${scheduled}/by-header`,
    });
    // Only the request line decides what is requested.
    expect(replaced.text).toContain('"slug":"hello"');
    expect(await hull.printed(/ \/skills\/hello 200 /, at)).not.toContain("by-header");
  });

  test(`attack: a Host that holds a path does not find them either (${mode})`, async () => {
    const { port } = new URL(hull.url);
    const hosts = [
      "localhost/cdn-cgi/handler/scheduled?",
      "localhost\\cdn-cgi\\handler\\scheduled?",
      `localhost:${port}/cdn-cgi/mf/scheduled?cron=*&`,
      "localhost/skills/hello?",
      "evil.example@localhost",
    ];
    for (const host of hosts) {
      const answer = await send(hull.url, { path: "/skills", host });
      expect([host, answer.status]).toEqual([host, 403]);
      expect(JSON.parse(answer.text)).toMatchObject({ code: "host_not_allowed" });
    }
  });

  test(`attack: a rebound name reaches nothing (${mode})`, async () => {
    for (const path of ["/skills", "/skills/hello", "/admin/keys"]) {
      const answer = await send(hull.url, { path, host: "evil.example" });
      expect([path, answer.status]).toEqual([path, 403]);
      expect(JSON.parse(answer.text)).toMatchObject({ code: "host_not_allowed" });
    }
  });

  test(`attack: a page of another site, or of another port, runs nothing (${mode})`, async () => {
    const attempts = [
      { origin: "https://evil.example", authorization: "Bearer x" },
      { "sec-fetch-site": "cross-site" },
      { "sec-fetch-site": "same-site" },
    ];
    for (const headers of attempts) {
      const answer = await send(hull.url, { path: "/skills/hello", host: "localhost", ...headers });
      expect([headers, answer.status]).toEqual([headers, 403]);
    }
  });
});

describe("an address that others reach", () => {
  test.each<[string[], string, Record<string, string>?]>([
    [["-H", "0.0.0.0"], "HULL_ADMIN_KEY"],
    [["-H", "0.0.0.0", "--public", "--no-front"], "--no-front"],
    [["-H", "0.0.0.0", "--direct", "--no-front"], "--no-front"],
    [["-H", "0.0.0.0"], "HULL_ADMIN_KEY must have 16 characters or more", { HULL_ADMIN_KEY: "short" }],
  ])("attack: %j without protection is refused: %s", async (flags, says, env = {}) => {
    const args = ["dev", "--port", "0", "--skills", `${REPO}skills`, ...flags];
    const ended = await runHull(args, { cwd: folder(), env });
    expect([ended.code, ended.output]).toEqual([2, expect.stringContaining(says)]);
  });

  test("attack: --public lets strangers run skills, and do nothing else", async () => {
    const hull = await startHullDev({ skills: SKILLS, args: ["-H", "0.0.0.0", "--public", "--direct"] });
    try {
      expect((await hull.call("/skills/hello", "x")).status).toBe(200);
      // Without a key of its own, the server ignores the key that a client sends.
      const headers = { authorization: "Bearer any" };
      expect((await hull.call("/skills/hello", "x", { method: "POST", headers })).status).toBe(200);
      for (const path of ["/_hull/bundles", "/_hull/skills", "/admin/keys", "/metrics"]) {
        expect([path, (await hull.call(path)).status]).toEqual([path, 503]);
      }
      const upload = await fetch(`${hull.url}/_hull/skills/evil`, { method: "PUT", body: "x" });
      expect(upload.status).toBe(503);
      const catalog = await hull.post("/_hull/catalog", { id: "0".repeat(64) });
      expect(catalog.status).toBe(503);
      const rebound = await send(hull.url, { path: "/skills/hello", host: "evil.example" });
      expect(rebound.status).toBe(403);
      if (OTHER !== undefined) {
        const { port } = new URL(hull.url);
        expect((await fetch(`http://${OTHER}:${port}/skills`)).status).toBe(200);
        const named = await send(hull.url, { path: "/skills", host: `${OTHER}.evil.example:${port}` });
        expect(named.status).toBe(403);
      }
      // The server itself continues to publish.
      const at = hull.output().length;
      await hull.write("hello/run.sh", "echo changed\n");
      await hull.printed(/Reloaded/, at);
      expect(await (await hull.call("/skills/hello", "x")).text()).toBe("changed\n");
    } finally {
      await hull.stop();
    }
  });

  test("attack: HULL_ADMIN_KEY in .env guards it, whatever its characters, and with --public only this key may publish", async () => {
    expect((await guarded.call("/skills/hello", "x")).status).toBe(200);
    expect((await guarded.call("/_hull/bundles")).status).toBe(401);
    const bearer = (key: string) => ({ headers: { authorization: `Bearer ${key}` } });
    expect((await guarded.call("/_hull/bundles", undefined, bearer(KEY))).status).toBe(401);
    expect((await guarded.call("/_hull/bundles", undefined, bearer(`${KEY}"'\`\\`))).status).toBe(200);
  });
});

describe.each([
  ["wrangler", fronted],
  ["workerd", guarded],
])("by %s", (_, hull) => {
  test("attack: no value of .env is changed on its way", async () => {
    const text = await (await hull.call("/skills/vars", "x")).text();
    const got = new Map(
      text.split("\0").map((line) => [line.replace(/=.*/s, ""), line.replace(/^[^=]*=/, "")]),
    );
    const wanted = Object.entries(VALUES).map(([name, [, value]]) => [name, value]);
    expect([...NAMES, "OUTER"].map((name) => [name, got.get(name)])).toEqual([
      ...wanted,
      ["OUTER", ENVIRONMENT],
    ]);
  });

  test("attack: a handler gets the variables of the environment that x-env names, and no others", async () => {
    const response = await hull.post("/runs", {
      prompt: "go",
      options: {
        skill: "peeks",
        mock: [{ tool_calls: [{ name: "peek", arguments: {} }] }, { text: "done" }],
      },
    });
    const text = await response.text();
    expect([response.status, text]).toEqual([200, expect.stringContaining("value-of-the-token")]);
    expect(text).not.toContain('"x"');
    // The Worker got its variables at the start: `hull dev` reports a name that is added later.
    const at = hull.output().length;
    const later = [{ ...PEEK, "x-env": ["TOKEN_OF_TOOL", "TOKEN_OF_NOBODY"] }];
    await hull.write("peeks/tools.json", JSON.stringify(later));
    await hull.printed(/TOKEN_OF_NOBODY of the environment: .*restart to use it/, at);
  });
});

test.each([
  [
    "bytes of another encoding",
    Buffer.from([...Buffer.from("# ü\nA=1\nHULL_ADMIN_KEY=caf"), 0xe9, 0x0a]),
    ".env:3: error: HULL_ADMIN_KEY",
  ],
  ["a NUL", "K=a\0b\n", ".env:1: error: K"],
  ["a carriage return", "A=1\r\nK=a\rb\r\n", ".env:2: error: K"],
  ["text after the quote", "A=1\nHULL_ADMIN_KEY='a\"b'c`d'\n", ".env:2: error: HULL_ADMIN_KEY"],
  ["a binding's name", "DB=x\n", "DB is the name of a binding"],
])("attack: %s in .env is an error that names the variable", async (_, text, says) => {
  const dir = folder({
    ".env": text,
    "skills/a/SKILL.md": TOOL["vars/SKILL.md"].replace("name: vars", "name: a"),
    "skills/a/run.sh": "",
  });
  const { code, output } = await runHull(["dev", dir, "--port", "0"], { cwd: dir });
  expect([code, output]).toEqual([2, expect.stringContaining(says)]);
  expect(output).not.toMatch(/caf|a"b/);
});
