/**
 * Canaries: values planted as keys and secrets are printed by scripts, tools, models and providers, and must never
 * come back over HTTP, in the output of hull dev or on disk. And the key itself guards what it should.
 */
import { readdir, readFile, realpath, stat } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { PROVIDER_KEY_VARIABLES } from "../../src/secrets.ts";
import type { Body } from "../support/hull-dev.ts";
import { sharedHull, sharedProvider } from "../support/shared.ts";

const KEYS = Object.fromEntries(
  PROVIDER_KEY_VARIABLES.map((name) => [name, `canary/${name}+=${name.length}x`]),
);
const ADMIN = "canary-admin-key-0123456789";
const DOTENV = "canary-dotenv-value-77";
const OPTED = "canary-opted-in-88";
/** Opted in by a skill that never prints it, and not opted in by any. */
const QUIET = ["canary-quiet-opted-in-99", "canary-quiet-unused-11"] as const;
/** What may never be seen anywhere. */
const SECRETS = [...Object.values(KEYS), ADMIN];
const FORMS = SECRETS.flatMap((secret) => [
  secret,
  encodeURIComponent(secret),
  Buffer.from(secret).toString("base64"),
]);

/** A skill that knows all canaries and prints them, since it cannot get them from its environment. */
const PRINTER = `import json, os, sys
text = " ".join(json.load(open("known.json")))
print(text); print(text, file=sys.stderr); print(json.dumps(dict(os.environ)), file=sys.stderr)
sys.exit(int(sys.argv[1]))
`;
const script = (name: string, run: string, more = ""): Record<string, string> => ({
  [`${name}/SKILL.md`]: `---\nname: ${name}\ndescription: Test.\nrun: ${run}\n${more}---\nTest.\n`,
  [`${name}/print.py`]: PRINTER,
  [`${name}/known.json`]: JSON.stringify(FORMS),
});

/** Everything that any response held: status line, headers, body. */
let answers = "";

const fake = await sharedProvider();
const hull = await sharedHull({
  args: ["--verbose"],
  env: {
    ...KEYS,
    HULL_ADMIN_KEY: ADMIN,
    ANTHROPIC_BASE_URL: fake.url,
    OPTED_IN: OPTED,
    OTHER_SECRET: "canary-shell",
  },
  project: { ".env": `FROM_DOTENV=${DOTENV}\nQUIET=${QUIET[0]}\nUNUSED=${QUIET[1]}\nSHORT_TOKEN=abc\n` },
  skills: {
    ...script("prints", "[python3, print.py, '0']"),
    ...script("fails", "[python3, print.py, '3']"),
    ...script("as-json", "[sh, -c, 'cat known.json']", "output: json\n"),
    ...script("as-note", "[sh, -c, 'cat known.json; echo x > $HULL_OUTPUT_FILE']", "output: file\n"),
    ...script("uses-opted", "[sh, -c, 'echo $OPTED_IN $FROM_DOTENV']", "tool_env: [OPTED_IN, FROM_DOTENV]\n"),
    ...script("quiet", "[sh, -c, 'printenv QUIET | wc -c']", "tool_env: [QUIET]\n"),
    "model/SKILL.md":
      "---\nname: model\ndescription: Test.\nmode: llm\ntools:\n  - {name: leak, description: Leaks., command: [python3, print.py, '1']}\n  - {name: tell, description: Tells., command: [python3, print.py, '0']}\n---\nTest.\n",
    "model/print.py": PRINTER,
    "model/known.json": JSON.stringify(FORMS),
  },
});

async function send(
  path: string,
  body?: Body,
  key: string | null = ADMIN,
): Promise<{ status: number; text: string; headers: Headers }> {
  const headers: Record<string, string> = key === null ? {} : { authorization: `Bearer ${key}` };
  const response = await hull.call(path, body, { headers });
  const text = await response.text();
  answers += `${response.status} ${JSON.stringify([...response.headers])}\n${text}\n`;
  return { status: response.status, text, headers: response.headers };
}
const found = (text: string): string[] => FORMS.filter((form) => text.includes(form));

describe("nothing of a secret comes back", () => {
  test("scripts that print them: text, JSON, note, errors, events", async () => {
    expect((await send("/skills/prints", "x")).text).toContain("[redacted]");
    expect(await send("/skills/fails", "x")).toMatchObject({
      status: 500,
      text: expect.stringContaining("[redacted]"),
    });
    for (const path of [
      "/skills/as-json",
      "/skills/as-note",
      "/skills/prints?stream=1",
      "/skills/fails?stream=1",
    ]) {
      expect([path, (await send(path, "x")).status]).toEqual([path, 200]);
    }
    expect(found(answers)).toEqual([]);
    // The environment that the script printed holds none of the server's secrets either.
    for (const secret of [DOTENV, OPTED, "canary-shell"]) expect(answers).not.toContain(secret);
  });

  test("a client that sends them gets them back redacted, not stored", async () => {
    for (const form of FORMS) await send(`/skills/nonesuch-${encodeURIComponent(form)}`, form);
    expect(found(answers)).toEqual([]);
  });

  test("a model that echoes them, whole and token by token; tools that leak them, failing or not", async () => {
    const text = FORMS.join(" ");
    const halves = FORMS.flatMap((form) => [form.slice(0, 9), `${form.slice(9)} `]);
    const before = fake.requests.length;
    for (const path of ["/skills/model", "/skills/model?stream=1"]) {
      fake.script([
        {
          tool_calls: [
            { name: "leak", arguments: {} },
            { name: "tell", arguments: {} },
          ],
        },
        { text: path.includes("stream") ? halves : text },
      ]);
      const answer = await send(path, "hello");
      expect([path, answer.status]).toEqual([path, 200]);
      expect(answer.text).toContain("[redacted]");
    }
    expect(found(answers)).toEqual([]);
    // What the tools printed reaches no model either: it may be another provider's. The result of the failing tool has its
    // stderr, that of the other its stdout.
    const asked = JSON.stringify(fake.requests.slice(before).map(({ body }) => body));
    expect([asked.includes("[redacted]"), found(asked)]).toEqual([true, []]);
  });

  test.each([400, 401, 429, 500])("a provider that quotes them in its error %i", async (status) => {
    const headers = { "retry-after": "99" };
    fake.script(() => ({
      status,
      headers,
      body: { error: { type: FORMS[0], code: FORMS[1], message: FORMS.join(" ") } },
    }));
    for (const path of ["/skills/model", "/skills/model?stream=1"]) await send(path, "hello");
    expect(found(answers)).toEqual([]);
  });

  test("a provider that breaks its answer off in the middle of them", async () => {
    fake.script(() => ({ text: [FORMS.join(" "), (FORMS[0] ?? "").slice(0, 12)], cut: true }));
    for (const path of ["/skills/model", "/skills/model?stream=1"]) await send(path, "hello");
    fake.script(() => ({ body: `{"error": "${FORMS.join(" ")}` }));
    await send("/skills/model", "hello");
    expect(found(answers)).toEqual([]);
  });

  test("workspace tools show no half of one where they cut a text, and Hull writes none into a file", async () => {
    // No record of the run has it whole: commands spell it backwards.
    const spelled = `s=$(printf %s ${[...ADMIN].toReversed().join("")} | rev); `;
    const bash = (command: string) => ({ name: "Bash", arguments: { command: spelled + command } });
    const blanks = (count: number) => `printf '%*s' ${count} ''; `;
    // Where 15,000 characters from either end are cut, whatever the remark between them takes.
    const places = Array.from({ length: 12 }, (_, i) => 14_840 + i);
    const turns = [
      [
        ...places.map((at) =>
          bash(`${blanks(at)} printf %s "$s"; ${blanks(20_000)} printf %s "$s"; ${blanks(at)}`),
        ),
        bash(
          `for i in 1 2 3; do ${blanks(1985)} echo "$s"; done > lines.txt; printf %s "Basic $s" | base64 -w 12 > in-lines.txt`,
        ),
      ],
      [
        { name: "Read", arguments: { file_path: "lines.txt" } },
        { name: "Read", arguments: { file_path: "in-lines.txt" } },
        { name: "Grep", arguments: { pattern: " .", output_mode: "content" } },
        { name: "Grep", arguments: { pattern: ".", path: "in-lines.txt", output_mode: "content" } },
        { name: "Grep", arguments: { pattern: "canary-admin" } },
        bash('rm lines.txt in-lines.txt; cat .hull/output/* | grep -c -F "$s"; ls .hull/output | wc -l'),
      ],
    ];
    const mock = [...turns.map((tool_calls) => ({ text: "", tool_calls })), { text: "Done." }];
    const options = {
      provider: "mock",
      model: "mock",
      mock,
      tool_format: "native",
      workspace_tools: true,
      loop_detect_warn: 0,
    };
    const { text } = await send("/runs", JSON.stringify({ prompt: "go", options }));
    expect(text).toContain("mock_calls");
    const result: { mock_calls: { messages: { role: string; content: string }[] }[] } = JSON.parse(text);
    const last = result.mock_calls.at(-1)?.messages ?? [];
    const shown = last.flatMap(({ role, content }) => (role === "tool" ? [content] : []));
    expect(shown).toHaveLength(places.length + 7);
    const pieces = [ADMIN, Buffer.from(`Basic ${ADMIN}`).toString("base64")].flatMap((secret) =>
      Array.from({ length: secret.length - 9 }, (_, at) => secret.slice(at, at + 10)),
    );
    expect(pieces.filter((piece) => shown.some((each) => each.includes(piece)))).toEqual([]);
    expect(shown.at(-2)).toBe("[hull: nothing matches]");
    expect(shown.at(-1)).toBe(`0\n${places.length}`);
  });

  test("tool_env values reach the process", async () => {
    expect((await send("/skills/uses-opted", "x")).text).toBe(`${OPTED} ${DOTENV}\n`);
    expect(Number((await send("/skills/quiet", "x")).text)).toBe(QUIET[0].length + 1);
  });

  test("the server reports at its start a value that is too short to be redacted", async () => {
    expect(await hull.printed(/SHORT_TOKEN has fewer than 8 characters/)).not.toContain("DOTENV has fewer");
  });

  test("the output of hull dev holds none of them", async () => {
    expect(found(await hull.printed(/model_attempt_failed/))).toEqual([]);
  });

  test("attack: nothing of them is on disk, but in the files that the developer wrote", async () => {
    const holding = await filesHolding([...SECRETS, ...QUIET]);
    // What the skills above print on purpose is in their own files, and sealed in the runner's journal.
    const planted = /^(skills|state\/worker|state\/runner\/bundles)\//;
    const others = [...holding.keys()].filter((path) => path !== ".env" && !planted.test(path));
    expect(others).toEqual([]);
    const opted = (await filesHolding([OPTED, DOTENV])).keys();
    expect([...opted].filter((path) => path.startsWith("state/runner/"))).toEqual([]);
    expect((await stat(join(hull.root, "state/runner/journal"))).isDirectory()).toBe(true);
    expect([...(await filesHolding(QUIET)).keys()]).toEqual([".env"]);
  });
});

/** Files below the server's folder that contain one of the texts, with their permission bits. */
async function filesHolding(texts: readonly string[]): Promise<Map<string, number>> {
  const holding = new Map<string, number>();
  // The runner's state is outside of the project, and a link in the state folder leads to it.
  for (const below of ["", "state/runner/"]) {
    const folder = await realpath(join(hull.root, below));
    for (const path of await readdir(folder, { recursive: true })) {
      const file = join(folder, path);
      const stats = await stat(file).catch(() => null);
      if (!stats?.isFile()) continue;
      const content = await readFile(file, "latin1").catch(() => "");
      if (texts.some((text) => content.includes(text))) holding.set(below + path, stats.mode & 0o777);
    }
  }
  return holding;
}

describe("the key", () => {
  test.each([
    ["none", null, 401],
    ["an unknown one", "not-the-key-at-all", 401],
    ["the admin key", ADMIN, 200],
  ])("S72: %s", async (_name, key, status) => {
    for (const [path, body] of [
      ["/skills", undefined],
      ["/skills/model/card", undefined],
      ["/skills/uses-opted", "x"],
      ["/", undefined],
    ] as const) {
      const answer = await send(path, body, key);
      expect([path, answer.status]).toEqual([path, status]);
      if (status !== 401) continue;
      expect(answer.headers.get("www-authenticate")).toMatch(/^Bearer/);
      expect(JSON.parse(answer.text)).toMatchObject({ code: "unauthenticated" });
      expect(answer.headers.get("x-hull-execution-id")).toBeNull();
    }
  });

  test("publishing needs it; health and readiness never do (S56)", async () => {
    expect((await send("/_hull/bundles", undefined, null)).status).toBe(401);
    expect((await send("/_hull/catalog", "{}", null)).status).toBe(401);
    expect((await send("/healthz", undefined, null)).status).toBe(200);
    expect((await send("/readyz", undefined, null)).status).toBe(200);
    expect((await hull.call("/skills", undefined, { method: "OPTIONS" })).status).toBe(204);
  });

  test("unknown skills cannot be distinguished without the key", async () => {
    expect((await send("/skills/nonesuch", undefined, null)).status).toBe(401);
    expect((await send("/skills/nonesuch", undefined, ADMIN)).status).toBe(404);
  });

  test("with a key another site's page may call, since the key proves intent", async () => {
    const headers = { authorization: `Bearer ${ADMIN}`, origin: "https://app.example" };
    expect((await hull.call("/skills/uses-opted", "x", { headers })).status).toBe(200);
  });
});
