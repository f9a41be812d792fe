/** What may be uploaded, and what an uploaded skill may do. */
import { afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { packTar } from "../../src/skill/tar.ts";
import { makeZip } from "../support/zip.ts";
import { FakeRunner, RUNNER_URL } from "./fake-runner.ts";
import { Client, mockSkill } from "./served.ts";
import { ADMIN, type Files, FOLDER, keyed, refusal, Tenant, tenant } from "./tenant.ts";

let red: Tenant;
beforeAll(async () => {
  await new Client().publish(FOLDER);
  red = await tenant("red", "invoke", "publish");
});
afterEach(async () => {
  vi.restoreAllMocks();
  for (const slug of ["fox", "up", "job"]) await red.remove(slug);
});

describe("what an archive may contain", () => {
  const TEXT = mockSkill("fox");

  it.each<[string, Files]>([
    ["the folder itself", { "SKILL.md": TEXT, "a/b.txt": "x" }],
    ["one top folder, whatever its name", { "any thing/SKILL.md": TEXT, "any thing/a/b.txt": "x" }],
    [
      "with what the build leaves out",
      {
        "fox/SKILL.md": TEXT,
        "fox/a/b.txt": "x",
        "fox/.hullignore": "*.log\n",
        "fox/x.log": "",
        "fox/.env": "S=1",
        "fox/.git/HEAD": "",
        "fox/a/node_modules/m/i.js": "",
        "__MACOSX/fox/._SKILL.md": "",
        "._fox": "",
        "fox/._SKILL.md": "",
        "fox/a/._b.txt": "",
        "fox/.DS_Store": "",
      },
    ],
  ])("%s", async (_, files) => {
    const zip = await red.put("fox", files);
    const { digest } = await zip.json<{ digest: string }>();
    const record = await keyed.env.SKILLS.get<{ files: { path: string }[] }>(
      `uploaded/skill:${digest}`,
      "json",
    );
    expect(record?.files.map(({ path }) => path)).toEqual(["SKILL.md", "a/b.txt"]);
  });

  it("a tar is as good, and an archive of no type is known by its bytes", async () => {
    const tar = packTar([{ path: "SKILL.md", mode: 0o644, bytes: new TextEncoder().encode(TEXT) }]);
    expect((await red.put("fox", tar, "application/x-tar")).status).toBe(201);
    expect((await red.put("fox", tar, "application/octet-stream")).status).toBe(200);
    const ofCurl = await red.put("fox", tar, "application/x-www-form-urlencoded");
    expect(ofCurl.status).toBe(200);
    const zip = await makeZip([{ name: "SKILL.md", content: TEXT }]);
    expect((await red.put("fox", zip, "application/octet-stream")).status).toBe(200);
    expect(await refusal(await red.put("fox", zip, "image/png"))).toMatchObject({ status: 415 });
    expect(await refusal(await red.put("fox", zip, "application/x-tar"))).toMatchObject({ status: 422 });
  });

  it("a plain Agent Skill is served as an llm skill, however it is written", async () => {
    const text =
      "\uFEFF\r\n---\r\ndescription: Reads. Use when: asked\r\ntools: Read, Grep\r\n---\r\nRead it.\r\n";
    const response = await red.put("fox", { "fox/skill.md": text, "fox/references/a.md": "a" });
    const { warnings } = await response.json<{ warnings: { level: string; code: string }[] }>();
    expect(response.status).toBe(201);
    expect(warnings.map(({ level, code }) => `${level} ${code}`)).toEqual([
      "warning file_name_case",
      "info bom",
      "info line_endings",
      "warning leading_blank_lines",
      "warning yaml_quoted_retry",
      "warning name_from_directory",
      "warning field_not_carried_out",
      "warning workspace_tools_not_granted",
    ]);
    expect(await red.get("/skills/fox/card")).toMatchObject({
      mode: "llm",
      description: "Reads. Use when: asked",
      workspaceTools: true,
    });
  });

  it("findings have line and column, also those about the body and about handlers", async () => {
    const response = await red.put("fox", {
      "SKILL.md":
        "---\r\nname: fox\r\ndescription: d\r\nmode: llm\r\ntimout_ms: 5\r\n---\r\n\r\n## Configuration\r\n\r\n* `TOKEN`\r\n",
      "tools.json": '[\n  {"name": "a", "description": "d",\n   "script": "a.js", "x-timout-ms": 1}\n]\n',
      "a.js": "// reads\nexport default () => process.env.KEY;\n",
    });
    const { warnings } = await response.json<{
      warnings: { code: string; file: string; line?: number; column?: number }[];
    }>();
    expect(warnings.map(({ code, file, line, column }) => `${file}:${line}:${column} ${code}`)).toEqual([
      "SKILL.md:5:1 unknown_field",
      "tools.json:3:22 unknown_field",
      "tools.json:3:14 script_place",
      "a.js:2:22 variable_not_declared",
      "SKILL.md:10:4 variable_not_declared",
    ]);
  });

  const made = (text: string): Files => ({
    "SKILL.md": `---\nname: fox\ndescription: d\n${text}\n---\n`,
    a: "",
  });

  it.each<[string, Files | Promise<Uint8Array<ArrayBuffer>>, RegExp, string?]>([
    ["no skill", { "README.md": "x" }, /not a skill's folder: SKILL\.md is neither/],
    ["nothing", {}, /not a skill's folder/],
    ["two folders", { "a/SKILL.md": TEXT, "b/SKILL.md": TEXT }, /neither at its top nor in its only folder/],
    ["a folder too deep", { "a/b/SKILL.md": TEXT }, /it has a\/b\/SKILL\.md/],
    ["a way out", { "SKILL.md": TEXT, "../x": "" }, /"\.\.\/x" is not a plain relative path inside/],
    ["a drive letter", { "SKILL.md": TEXT, "C:/x": "" }, /drive letter/],
    ["a long name", { "SKILL.md": TEXT, ["ü".repeat(128)]: "" }, /"ü{100}…" has a name longer than 255/],
    ["a long path", { "SKILL.md": TEXT, [`${"dir/".repeat(256)}x`]: "" }, /is longer than 1024 bytes/],
    ["control characters", { "SKILL.md": TEXT, "a\nb": "" }, /control characters/],
    ["another slug than its name's", { "SKILL.md": TEXT }, /makes the slug "fox", not "cow"/, "cow"],
    ["an invalid slug", { "SKILL.md": TEXT }, /makes the slug "fox", not "Fox"/, "Fox"],
    ["no frontmatter", { "SKILL.md": "\xff" }, /SKILL\.md:1:1: SKILL\.md must begin with YAML frontmatter/],
    [
      "S6: a reserved route",
      made("run: [sh, ./a]\nroute: /healthz"),
      /SKILL\.md:5:8: The route \/healthz is not free/,
    ],
    ["a missing file", made("run: ./no.sh"), /SKILL\.md:4:6: .*no file no\.sh/],
    ["an absolute program", made("run: /bin/cat"), /SKILL\.md:4:1: .*\/bin\/cat.* absolute/],
    [
      "an absolute program of an MCP server",
      made("mode: llm\nmcp_servers: {a: {command: /bin/cat}}\n---\nBody."),
      /SKILL\.md:5:1: .*\/bin\/cat.* absolute/,
    ],
    ["a huge card", made(`serve: a\noutput_mime: text/${"x".repeat(9000)}`), /its card .* has 9\d\d\d bytes/],
    [
      "a bomb, inside workerd",
      makeZip([{ name: "a", content: new Uint8Array(3_000_000), deflate: true, lie: { size: 300_000 } }]),
      /a unpacks to more than its 300000 bytes/,
    ],
    [
      "a compressed tar",
      Promise.resolve(Uint8Array.of(0x1f, 0x8b, 8, 0, 0, 0, 0, 0)),
      /gzip compressed it; send the tar as it is/,
    ],
    ["an encrypted file", makeZip([{ name: "a", lie: { flags: 1 } }]), /a is encrypted/],
  ])("%s is refused", async (_, files, reason, slug = "fox") => {
    const problem = await refusal(await red.put(slug, await files));
    expect(problem).toMatchObject({ status: 422, code: "bundle_invalid" });
    expect(problem.detail).toMatch(reason);
    expect(await red.get("/_hull/skills")).toMatchObject({ data: [] });
  });

  it("Hull reports all findings with their places", async () => {
    const text = "---\nname: fox\ndescription: d\ntimeout_ms: 5s\ntool_env: 1\nfoo: 1\nrun: [sh, ./a]\n---\n";
    const response = await red.put("fox", { "SKILL.md": text, a: "" });
    const { diagnostics } = await response.json<{ diagnostics: { code: string; line: number }[] }>();
    expect(diagnostics.map(({ code, line }) => `${code} ${line}`).sort()).toEqual([
      "not_an_integer_in_range 4",
      "unknown_field 6",
      "wrong_type 5",
    ]);
  });

  it("over 30 MiB it is 413, declared or not; over the deployment's limit too", async () => {
    const small = new Tenant(
      new Client({ HULL_ADMIN_KEY: ADMIN, HULL_CONFIG: '{"max_body_bytes": 100}' }),
      red.key,
    );
    const zip = await makeZip([{ name: "SKILL.md", content: TEXT }]);
    expect(await (await small.put("fox", zip)).json()).toMatchObject({ status: 413, limit: 100 });
    const declared = await red.fetch("/_hull/skills/fox", {
      method: "PUT",
      headers: { "content-length": String(31 * 1024 * 1024), "content-type": "application/zip" },
      body: new Uint8Array(31 * 1024 * 1024),
    });
    expect(await declared.json()).toMatchObject({ status: 413, limit: 30 * 1024 * 1024 });
  });
});

describe("what an uploaded skill may do", () => {
  const PROXY = "---\nname: up\ndescription: d\nproxy: https://up.example/${TOKEN}\nmethod: GET\n---\n";
  const SCRIPT = "---\nname: job\ndescription: d\nrun: ./run.sh\ntool_env: [TOKEN, OTHER, LOOKALIKE]\n---\n";
  const variables = {
    HULL_ADMIN_KEY: ADMIN,
    HULL_RUNNER_URL: RUNNER_URL,
    TOKEN: "canary-token",
    OTHER: "other-1",
    ANTHROPIC_API_KEY: "sk-canary-0123456789",
    LOOKALIKE: "sk-canary-0123456789",
  };
  const deployment = (grants: object, owner = red): Tenant =>
    new Tenant(
      new Client({
        ...variables,
        HULL_RUNNER_SECRET: "s".repeat(32),
        HULL_GRANTS: JSON.stringify(grants),
      }),
      owner.key,
    );

  it.each<[object, number]>([
    [{}, 503],
    [{ other: ["TOKEN"], up: ["OTHER"], "blue/up": ["TOKEN"] }, 503],
    [{ up: ["TOKEN"] }, 200],
    [{ "red/up": ["TOKEN"] }, 200],
  ])("with HULL_GRANTS %j ${TOKEN} of a proxy answers %i", async (grants, status) => {
    const calls: string[] = [];
    vi.spyOn(globalThis, "fetch").mockImplementation(async (input) => {
      calls.push(new Request(input).url);
      return new Response("up");
    });
    const there = deployment(grants);
    const { warnings } = await (await there.put("up", { "SKILL.md": PROXY })).json<{ warnings: object[] }>();
    const answer = await there.fetch("/skills/up");
    expect(answer.status).toBe(status);
    if (status === 200) expect([calls, warnings]).toEqual([["https://up.example/canary-token"], []]);
    else {
      expect(await answer.json()).toMatchObject({
        code: "proxy_not_configured",
        detail: "The uploaded skill may not use the variable TOKEN. The operator grants it in HULL_GRANTS.",
        variable: "TOKEN",
      });
      expect(warnings).toMatchObject([{ code: "variable_not_granted", value: '"TOKEN"', line: 4 }]);
      expect(calls).toEqual([]);
    }
  });

  it("attack: a proxy gets no key and no cookie of its callers, and sets none", async () => {
    const named = "[authorization, x-api-key, cookie, x-hull-form-token, Cf-Access-Jwt-Assertion, x-more]";
    const sent: Headers[] = [];
    vi.spyOn(globalThis, "fetch").mockImplementation(async (input, init) => {
      sent.push(new Request(input, init).headers);
      return new Response("up", { headers: { "set-cookie": "hull-80=theirs", "x-more": "back" } });
    });
    const there = deployment({ up: ["TOKEN"] });
    const lists = `forward_headers: ${named}\nreturn_headers: [set-cookie, x-more]\n---\n`;
    await there.put("up", { "SKILL.md": PROXY.replace(/---\n$/, lists) });
    const headers = {
      "x-api-key": there.key,
      cookie: "hull-80=own",
      "x-hull-form-token": "t",
      "cf-access-jwt-assertion": "who calls",
      "x-more": "on",
    };
    const answer = await there.fetch("/skills/up", { headers });
    expect([answer.status, answer.headers.get("set-cookie"), answer.headers.get("x-more")]).toEqual([
      200,
      null,
      "back",
    ]);
    const secret = ["authorization", "x-api-key", "cookie", "x-hull-form-token", "cf-access-jwt-assertion"];
    expect(sent.map((all) => secret.filter((name) => all.has(name)))).toEqual([[]]);
    expect(sent[0]?.get("x-more")).toBe("on");
  });

  it("a process gets the granted names and no provider key; the runner knows that it is untrusted", async () => {
    const runner = new FakeRunner();
    vi.spyOn(globalThis, "fetch").mockImplementation(runner.fetch);
    const there = deployment({ job: ["OTHER", "LOOKALIKE"], up: ["OTHER"] });
    const made = await there.put("job", { "SKILL.md": SCRIPT, "run.sh": "#!/bin/sh\n" });
    const { warnings } = await made.json<{ warnings: { value: string }[] }>();
    expect(warnings.map(({ value }) => value)).toEqual(['"TOKEN"']);
    expect(await (await there.run("/skills/job")).text()).toBe("out");
    const [spec] = [...runner.executions.values()].map((execution) => execution.spec);
    expect(spec).toMatchObject({ untrusted: true, argv: ["./run.sh"] });
    expect(spec?.env).toEqual({ OTHER: "other-1" });
    const server = `mcp_servers:\n  x: {command: ./run.sh, env: {OTHER: "\${OTHER}"}}\n`;
    await there.put("up", { "SKILL.md": mockSkill("up", server), "run.sh": "#!/bin/sh\n" });
    await there.run("/skills/up");
    const started = [...runner.executions.values()].at(-1)?.spec;
    expect(started).toMatchObject({ server: true, untrusted: true, env: spec?.env, argv: ["./run.sh"] });
    await new Client().publish({ ...FOLDER, job: SCRIPT }, { "run.sh": new Uint8Array() });
    await there.run("/skills/job");
    const last = [...runner.executions.values()].at(-1)?.spec;
    expect(last?.env).toEqual({ OTHER: "other-1", TOKEN: "canary-token" });
    expect(last).not.toHaveProperty("untrusted");
    await new Client().publish(FOLDER);
  });

  it("R14: an upload that asks for workspace tools without the grant is refused them with a message", async () => {
    const text = mockSkill("up").replace(
      "description:",
      "allowed-tools: Bash(git:*), WebFetch\ndescription:",
    );
    const asked = async (there: Tenant): Promise<string[]> => {
      const options = { provider: "mock", skill: "up", workspace_tools: true };
      const body = JSON.stringify({ prompt: "go", options });
      const answer = await there.fetch("/runs", { method: "POST", body });
      const { warnings = [] } = await answer.json<{ warnings?: { code: string; message: string }[] }>();
      return warnings.map(({ code, message }) => `${code} ${/HULL_GRANTS|never/.exec(message)?.[0]}`);
    };
    const told = async (grants: object, config = {}) => {
      const there = new Tenant(
        new Client({
          ...variables,
          HULL_GRANTS: JSON.stringify(grants),
          HULL_CONFIG: JSON.stringify(config),
        }),
        red.key,
      );
      const answer = await there.put("up", { "SKILL.md": text, "scripts/a.sh": "ls" });
      const { warnings } = await answer.json<{ warnings: { code: string; message: string }[] }>();
      return [
        ...warnings.map(({ code, message }) => `${code} ${/Bash/.test(message)}`),
        ...(await asked(there)),
      ];
    };
    const without = [
      "tool_not_provided true",
      "workspace_tools_not_granted false",
      "option_ignored HULL_GRANTS",
    ];
    expect(await told({})).toEqual(without);
    expect(await told({ up: ["TOKEN"] })).toEqual(without);
    expect(await told({ up: ["workspace_tools"] })).toEqual(["tool_not_provided false"]);
    const never = { workspace_tools: { enabled: "never" } };
    const withNever = await told({ up: ["workspace_tools"] }, never);
    expect(withNever).toEqual(["tool_not_provided true", "option_ignored never"]);
  });

  it.each(["[]", '{"up": "TOKEN"}', "{"])(
    "HULL_GRANTS %j stops the deployment, and its log says so",
    async (text) => {
      const lines: string[] = [];
      vi.spyOn(console, "error").mockImplementation((line: string) => lines.push(line));
      const broken = new Client({ HULL_ADMIN_KEY: ADMIN, HULL_GRANTS: text });
      expect((await broken.fetch("/skills")).status).toBe(500);
      expect(lines.join("")).toContain("HULL_GRANTS");
    },
  );
});

describe("versions of a published skill", () => {
  it("are listed as far back as the pointer remembers, including rollbacks", async () => {
    const publisher = new Client();
    const digests: string[] = [];
    for (const text of ["one", "two", "two", "three"]) {
      await publisher.publish({
        ...FOLDER,
        cat: mockSkill("cat").replace("Answer.", text),
        n: mockSkill(`n${Math.random()}`),
      });
      digests.push((await red.get<{ version: string }>("/skills/cat")).version);
    }
    const moved = await publisher.post("/_hull/catalog", { rollback: true });
    red.client.deployment.registry.pointerMoved((await moved.json<{ id: string }>()).id);
    const { data } = await red.get<{ data: { digest: string; current: boolean }[] }>(
      "/skills/cat/versions?limit=4",
    );
    const [one, two, , three] = digests;
    expect(data.slice(0, 4).map(({ digest, current }) => [digest, current])).toEqual([
      [two, true],
      [three, false],
      [two, false],
      [one, false],
    ]);
    expect((await red.fetch("/skills/none/versions")).status).toBe(404);
    await publisher.publish(FOLDER);
  });
});
