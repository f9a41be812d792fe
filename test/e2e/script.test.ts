/** mode: script through HTTP: environment, output, and how a process may end. */
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, readdir } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { commonHull } from "../support/common-hull.ts";
import { hullScript, json, REPO, runHull, shared } from "../support/hull-dev.ts";
import { gone, running } from "../support/runner.ts";

/** A skill whose whole behaviour is one shell script. */
const sh = (name: string, script: string, more = ""): Record<string, string> => ({
  [`${name}/SKILL.md`]: `---\nname: ${name}\ndescription: Test.\nrun: [bash, run.sh]\n${more}---\nTest.\n`,
  [`${name}/run.sh`]: script,
});

const ALLOWED =
  /^(PATH|HOME|USER|LOGNAME|SHELL|PWD|TMPDIR|TMP|TEMP|TERM|LANG|LANGUAGE|TZ|LC_[A-Z]+|(HULL|HUSK)_(INPUT_FILE|INPUT_MIME|INPUT_FILENAME|OUTPUT_FILE|OUTPUT_DIR)|HULL_INPUT_DIR|HULL_EXECUTION_ID|HULL_SKILL)$/;

const { hull } = await commonHull({
  "env/SKILL.md": "---\nname: env\ndescription: Test.\nrun: [env, '-0']\n---\nTest.\n",
  "proxied/SKILL.md":
    "---\nname: proxied\ndescription: Test.\nproxy: https://up.example/?k=${PROXY_SECRET}\n---\nTest.\n",
  ...sh(
    "opted",
    "env -0",
    "tool_env: [WEATHER_KEY, OPENAI_API_KEY, ALIAS_OF_KEY, DOTENV_OPTED, UNSET_ONE]\n",
  ),
  ...sh("big", "head -c 12000000 /dev/zero | tr '\\0' x; printf end"),
  ...sh("capped", "head -c 2000000 /dev/zero | tr '\\0' x; echo late >&2", "max_output_bytes: 1000000\n"),
  ...sh(
    "capped-file",
    'head -c 2000000 /dev/zero > "$HULL_OUTPUT_FILE"',
    "output: file\nmax_output_bytes: 1000000\n",
  ),
  ...sh("over", "head -c 104857601 /dev/zero"),
  ...sh("over-file", 'truncate -s 104857601 "$HULL_OUTPUT_FILE"', "output: file\n"),
  ...sh("bytes", "printf '\\377\\376\\000A'"),
  ...sh("slow", 'sh -c "sleep 82.5; echo done"', "timeout_ms: 500\n"),
  ...sh("stubborn", "trap '' TERM; echo begun; while :; do sleep 82.6; done", "timeout_ms: 500\n"),
  ...sh("waits", "sleep 82.9"),
  ...sh("kill-self", "kill -KILL $$"),
  ...sh("term-self", "echo last words >&2; kill -TERM $$"),
  ...sh("leaves-child", "sleep 82.7 & echo answered"),
  ...sh("leaves-daemon", "setsid sleep 82.8 & echo answered"),
  ...sh("not-json", "echo not json", "output: json\n"),
  ...sh("empty-json", "true", "output: json\n"),
  ...sh("exit-3", "echo out; echo err >&2; exit 3"),
  "missing-command/SKILL.md":
    "---\nname: missing-command\ndescription: Test.\nrun: [no-such-command-7]\n---\nTest.\n",
  ...sh(
    "cyrillic",
    'echo "Готово: 100%"; echo "вторая строка"; cp "$HULL_INPUT_FILE" "$HULL_OUTPUT_DIR/отчёт.txt"',
    "input: file\noutput: file\n",
  ),
  ...sh(
    "two-files",
    'echo note; printf a > "$HULL_OUTPUT_DIR/a.txt"; printf b > "$HULL_OUTPUT_DIR/b.bin"',
    "output: file\n",
  ),
  ...sh(
    "two-large",
    'for f in a b; do head -c 3000000 /dev/zero | tr "\\0" "$f" > "$HULL_OUTPUT_DIR/$f.dat"; done',
    "output: file\n",
  ),
  ...sh("no-file", "echo nothing", "output: file\n"),
  ...sh("svg-file", 'echo "<svg/>" > "$HULL_OUTPUT_DIR/x.svg"', "output: file\n"),
  ...sh("xhtml-text", "echo '<html/>'", "output_mime: application/xhtml+xml\n"),
  ...sh("html-file", 'echo "<script>" > "$HULL_OUTPUT_DIR/x.html"', "output: file\n"),
  ...sh("html-text", "echo '<script>'", "output_mime: text/html\n"),
  ...sh("html-json", "echo '\"<script>\"'", "output: json\noutput_mime: text/html\n"),
  ...sh("xml-text", "echo '<x/>'", "output_mime: application/xml\n"),
  ...sh("xml-file", 'echo "<x/>" > "$HULL_OUTPUT_DIR/x.xml"', "output: file\n"),
});

const problem = async (response: Response): Promise<Record<string, unknown>> => {
  expect(response.headers.get("content-type")).toBe("application/problem+json");
  const body = await json(response);
  expect(body).toMatchObject({
    type: `urn:hull:problem:${body.code}`,
    status: response.status,
    instance: `urn:hull:request:${response.headers.get("x-request-id")}`,
    request_id: response.headers.get("x-request-id"),
    title: expect.any(String),
    detail: expect.any(String),
  });
  expect(JSON.stringify(body)).not.toContain(hull.root);
  return body;
};
const environment = async (slug: string): Promise<Map<string, string>> => {
  const text = await (await hull.call(`/skills/${slug}`, "")).text();
  return new Map(
    text.split("\0").map((line): [string, string] => {
      const at = line.indexOf("=");
      return [line.slice(0, at), line.slice(at + 1)];
    }),
  );
};

describe("environment", () => {
  test("S26: only the listed variables, and no value of a secret", async () => {
    const variables = await environment("env");
    const names = [...variables.keys()].filter((name) => name !== "");
    expect(names.filter((name) => !ALLOWED.test(name))).toEqual([]);
    expect([...variables.values()].filter((value) => /canary|e2e-key/.test(value))).toEqual([]);
    expect(variables.get("LC_TEST")).toBe("kept");
    expect(variables.get("HULL_OUTPUT_DIR")).toBe(variables.get("HUSK_OUTPUT_DIR"));
    expect(variables.get("HULL_SKILL")).toBe("env");
    expect(variables.get("TMPDIR")).not.toBe(`${hull.root}/tmp`);
  });

  test("S27: tool_env passes the variables that it names, but never a provider key under any name", async () => {
    const variables = await environment("opted");
    expect(variables.get("WEATHER_KEY")).toBe("weather-7");
    expect(variables.get("DOTENV_OPTED")).toBe("opted-5");
    for (const name of ["OPENAI_API_KEY", "ALIAS_OF_KEY", "UNSET_ONE", "DOTENV_SECRET"]) {
      expect([name, variables.get(name)]).toEqual([name, undefined]);
    }
    await hull.printed(/opted\/SKILL\.md:\d+:\d+: warning: tool_env.*OPENAI_API_KEY/);
  });
});

describe("output", () => {
  test("S28: every byte of 12 MB arrives; over the cap it is an error, never a short 200", async () => {
    const response = await hull.call("/skills/big", "");
    const bytes = Buffer.from(await response.arrayBuffer());
    expect([response.status, bytes.length, bytes.subarray(-4).toString()]).toEqual([200, 12_000_003, "xend"]);
    expect(bytes.subarray(0, 12_000_000).every((byte) => byte === 0x78)).toBe(true);
    for (const slug of ["capped", "capped-file"]) {
      const refused = await hull.call(`/skills/${slug}`, "");
      expect(refused.status).toBe(500);
      expect(await problem(refused)).toMatchObject({ code: "output_too_large", limit: 1_000_000 });
    }
  });

  test.each(["over", "over-file"])(
    "S38: %s: a byte more than 104,857,600 is 500 with the limit",
    async (slug) => {
      const refused = await hull.call(`/skills/${slug}`, "");
      expect(refused.status).toBe(500);
      expect(await problem(refused)).toMatchObject({ code: "output_too_large", limit: 104_857_600 });
    },
  );

  test("S29: bytes that are no UTF-8 arrive unchanged", async () => {
    const response = await hull.call("/skills/bytes", "");
    expect(response.headers.get("content-type")).toBe("application/octet-stream");
    expect([...new Uint8Array(await response.arrayBuffer())]).toEqual([0xff, 0xfe, 0x00, 0x41]);
  });

  test("S35: output: json must be JSON; nothing at all is {}", async () => {
    const bad = await hull.call("/skills/not-json", "");
    expect(bad.status).toBe(500);
    expect(await problem(bad)).toMatchObject({ code: "output_invalid_json", position: expect.any(Number) });
    const empty = await hull.call("/skills/empty-json", "");
    expect([empty.status, await empty.text()]).toEqual([200, "{}"]);
  });

  test("S36: note and file name in Cyrillic come back exactly", async () => {
    const response = await hull.call("/skills/cyrillic", "content");
    expect([response.status, await response.text()]).toEqual([200, "content"]);
    const disposition = response.headers.get("content-disposition") ?? "";
    expect(disposition).toMatch(/^inline; filename="[ -~]*"; filename\*=UTF-8''/);
    expect(decodeURIComponent(disposition.split("UTF-8''")[1] ?? "")).toBe("отчёт.txt");
    const note = response.headers.get("x-hull-note") ?? "";
    expect(note).toMatch(/^[ -~]+$/);
    expect(decodeURIComponent(note)).toBe("Готово: 100% вторая строка");
  });

  test("S37: several files are a JSON document; large ones by url, which is served", async () => {
    const small = await hull.call("/skills/two-files", "");
    expect(await json(small)).toEqual({
      note: expect.stringMatching(/^note\n?$/),
      files: [
        {
          filename: "a.txt",
          mime: expect.stringMatching(/^text\/plain/),
          size: 1,
          sha256: sha256("a"),
          dataBase64: "YQ==",
        },
        {
          filename: "b.bin",
          mime: "application/octet-stream",
          size: 1,
          sha256: sha256("b"),
          dataBase64: "Yg==",
        },
      ],
    });
    const large = await hull.call("/skills/two-large", "");
    expect(large.status).toBe(200);
    const headers = ["x-request-id", "x-content-type-options", "server-timing", "x-hull-duration-ms"];
    for (const header of [...headers, "cache-control", "x-hull-execution-id", "x-hull-skill"]) {
      expect([header, large.headers.get(header)]).toEqual([header, expect.any(String)]);
    }
    const { files } = await json<{ files: { url: string; sha256: string }[] }>(large);
    const [, second] = files;
    expect(files).toMatchObject([
      { filename: "a.dat", size: 3_000_000, url: expect.stringMatching(/^\/files\/\S+$/) },
      { filename: "b.dat", size: 3_000_000 },
    ]);
    const fetched = await hull.call(second?.url ?? "");
    const bytes = Buffer.from(await fetched.arrayBuffer());
    expect([fetched.status, bytes.length, sha256(bytes)]).toEqual([200, 3_000_000, second?.sha256]);
    expect(fetched.headers.get("content-disposition")).toContain('filename="b.dat"');
    const again = await hull.call(second?.url ?? "", undefined, {
      headers: { "if-none-match": fetched.headers.get("etag") ?? "" },
    });
    expect(again.status).toBe(304);
  });

  test("attack: S52: HTML, SVG and any XML that a script made are downloads", async () => {
    for (const [slug, type] of [
      ["html-file", /^text\/html/],
      ["html-text", /^text\/html/],
      ["svg-file", /^image\/svg\+xml/],
      ["xhtml-text", /^application\/xhtml\+xml/],
      ["html-json", /^text\/html/],
      ["xml-text", /^application\/xml/],
      ["xml-file", /^application\/xml/],
    ] as const) {
      const response = await hull.call(`/skills/${slug}`, "");
      expect(response.headers.get("content-type")).toMatch(type);
      expect(response.headers.get("content-disposition")).toMatch(/^attachment/);
      expect(response.headers.get("x-content-type-options")).toBe("nosniff");
      await response.body?.cancel();
    }
  });

  test("output: file without a file", async () => {
    expect(await problem(await hull.call("/skills/no-file", ""))).toMatchObject({ code: "output_missing" });
  });
});

const sha256 = (content: string | Buffer): string => createHash("sha256").update(content).digest("hex");

describe("ends", () => {
  test.each([
    ["slow", "sleep 82.5"],
    // TERM ignored: grace_ms later
    ["stubborn", "sleep 82.6"],
  ])("S30: %s is stopped in time, with everything that it started", async (slug, mark) => {
    const started = performance.now();
    const response = await hull.call(`/skills/${slug}`, "");
    expect(performance.now() - started).toBeGreaterThan(490);
    expect(await problem(response)).toMatchObject({ code: "script_timeout", status: 504, timeout_ms: 500 });
    await gone(mark);
  });

  test.each([
    ["kill-self", { code: "script_killed", signal: "SIGKILL" }],
    ["term-self", { code: "script_killed", signal: "SIGTERM", stderr: "last words\n" }],
    ["exit-3", { code: "script_failed", exit_code: 3, stderr: "err\n", stdout: "out\n" }],
    ["missing-command", { code: "command_not_found", command: "no-such-command-7" }],
  ])("S33, S39, S40: %s", async (slug, members) => {
    const response = await hull.call(`/skills/${slug}`, "");
    expect(response.status).toBe(500);
    expect(await problem(response)).toMatchObject(members);
  });

  test.each([
    ["leaves-child", "sleep 82.7"],
    ["leaves-daemon", "sleep 82.8"],
  ])("S34: %s does not delay the answer and is not left running", async (slug, mark) => {
    const response = await hull.call(`/skills/${slug}`, "");
    expect([response.status, await response.text()]).toEqual([200, "answered\n"]);
    await gone(mark);
  });
});

test.each([
  ["a bad tree", ["validate", "bad"], 1, "error: mode:"],
  ["a call of a broken skill", ["call", "b", "-i", "x", "-d", "bad"], 1, "error: mode:"],
  ["a call that fails", ["call", "exit-3", "-i", "x", "--url", "URL"], 1, "script_failed"],
  ["a bad flag", ["call", "exit-3", "--inptu", "x"], 2, "--input"],
  ["an unknown skill", ["call", "exit-33", "-i", "x", "--url", "URL"], 3, "exit-3"],
  ["no server", ["call", "exit-3", "-i", "x", "--url", "http://127.0.0.1:1"], 4, "127.0.0.1:1"],
])("S113: the exit code of %s", async (_, args, code, says) => {
  await hull.write("../bad/b/SKILL.md", "---\nname: b\ndescription: Test.\nmode: lmm\n---\nTest.\n");
  const ended = await runHull(
    args.map((arg) => (arg === "URL" ? hull.url : arg)),
    // One failure of each command is that of a process.
    { cwd: hull.root, ...(code === 1 ? { process: true } : {}) },
  );
  expect([ended.code, ended.output]).toEqual([code, expect.stringContaining(says)]);
});

test("hull call shows a script's note next to several files, its stderr once, and a file where it should stream", async () => {
  const call = (...args: string[]) =>
    runHull(["call", ...args, "-i", "x", "-o", "made", "--url", hull.url], { cwd: hull.root });
  const several = await call("two-files");
  expect(several).toEqual({
    code: 0,
    output: "note\nmade/a.txt (1 byte)\nmade/b.bin (1 byte)\n",
  });
  const failed = await call("exit-3", "--stream");
  expect([failed.code, failed.output.match(/err\n/g)]).toEqual([1, ["err\n"]]);
  const file = await call("html-file", "--stream");
  expect(file).toEqual({ code: 0, output: expect.stringContaining("made/x.html (") });
  expect(await call("html-text")).toEqual({ code: 0, output: "<script>\n" });
});

test.each([
  ["Ctrl-C", "SIGINT"],
  ["a closed terminal", "SIGHUP"],
] as const)("%s ends hull call and the server that it started, and leaves nothing", async (_, signal) => {
  const temporary = await mkdtemp(join(hull.root, "tmp-"));
  const child = spawn(process.execPath, [hullScript(REPO), "call", "waits", "-i", "x", "-d", hull.root], {
    cwd: hull.root,
    env: { ...shared(REPO), PATH: process.env.PATH ?? "", HOME: hull.root, TMPDIR: temporary },
    stdio: "ignore",
  });
  await running("sleep 82.9");
  child.kill(signal);
  const [code] = await once(child, "close");
  expect([code, await readdir(temporary)]).toEqual([130, []]);
  await gone("sleep 82.9");
});
