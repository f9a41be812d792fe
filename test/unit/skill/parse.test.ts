import { describe, expect, test } from "vitest";
import type { Diagnostic, Manifest } from "../../../src/skill/manifest.ts";
import { type ParsedSkill, parseManifest } from "../../../src/skill/parse.ts";

const FILES = ["SKILL.md", "main.sh", "main.py", "page.html", "logo.png", "a b.py", "lib/tool.py"];
const files = new Map(FILES.map((path) => [path, new Uint8Array(0)]));
files.set("schema.json", new TextEncoder().encode('{"type":"object"}'));
files.set("dos.sh", new TextEncoder().encode("#!/bin/bash\r\necho hi\r\n"));
files.set("dos.py", new TextEncoder().encode("#!/usr/bin/env python3\r\nprint(1)\r\n"));
files.set("marked.sh", new TextEncoder().encode("\ufeff#!/bin/bash\necho hi\n"));
files.set("latin.csv", Uint8Array.of(0x4d, 0xfc));
files.set("list.json", new TextEncoder().encode("[1]"));
files.set("deep.json", new TextEncoder().encode(`${'{"not":'.repeat(20_000)}{}${"}".repeat(20_000)}`));

/** `fields` begins on line 4 of the file, after name and description. */
function parse(fields: string, body = "Body."): ParsedSkill {
  const text = `---\nname: My Skill\ndescription: Does things.\n${fields}\n---\n${body}\n`;
  return parseManifest(text, { folder: "my-skill", file: "my-skill/SKILL.md", files });
}

function manifestOf(fields: string): Manifest {
  const parsed = parse(fields);
  if (parsed.manifest === null) expect(parsed.diagnostics).toEqual([]);
  return parsed.manifest ?? expect.fail("no manifest");
}

const brief = (d: Diagnostic) => `${d.level} ${d.code} ${d.line ?? "-"} ${d.field ?? "-"}`;
const TOOL = "tools:\n  - name: t\n    description: d\n    command: [python3, main.py]\n";

/** Fields, and the diagnostics expected: `level code line field`. */
const TABLE: Record<string, [string, string[]][]> = {
  "S9, S14, S15, S16, S17: modes": [
    ["run: ./main.sh\ntimout_ms: 5", ["warning unknown_field 5 timout_ms"]],
    [
      "run: ./main.sh\non_activate: greet\ntriggers: [x]\nothers: 1",
      [
        "warning field_not_carried_out 5 on_activate",
        "warning field_not_carried_out 6 triggers",
        "warning unknown_field 7 others",
      ],
    ],
    ["run: ./main.sh\nrequire-signature: yes", ["error wrong_type 5 require-signature"]],
    ["run: ./main.sh\nrequire_signature:", ["error wrong_type 5 require-signature"]],
    ["run: ./main.sh\nrequire-signature: 'True'", []],
    ["run: ./main.sh\nuser-invocable: yes", ["warning activation_field 5 user-invocable"]],
    ["run: ./main.sh\narguments: [{name: issue}]", ["warning activation_field 5 arguments"]],
    ["run: ./main.sh\narguments: what to do, in 280 letters", ["warning activation_field 5 arguments"]],
    ["mode: lmm\nrun: ./main.sh", ["error value_not_allowed 4 mode"]],
    ["serve: latin.csv", ["warning serve_encoding 4 serve"]],
    ["serve: latin.csv\noutput_mime: text/plain; charset=UTF-8", ["warning serve_encoding 4 serve"]],
    ["serve: latin.csv\noutput_mime: text/csv; charset=windows-1252", []],
    ["mode: LLM\nrun: ./main.sh", ["error value_not_allowed 4 mode"]],
    [`run: ./main.sh\n${TOOL}`, ["error conflicting_modes 5 tools"]],
    ["run: ./main.sh\nserve: page.html", ["error conflicting_modes 5 serve"]],
    ["mode: script\nrun: ./main.sh\nserve: page.html", ["error conflicting_modes 6 serve"]],
    ["run: ./main.sh\nproxy: https://a.example/", ["error conflicting_modes 5 proxy"]],
    ["mode: proxy\nrun: ./main.sh\nproxy: https://a.example/", ["error conflicting_modes 6 proxy"]],
    ["proxy: https://a.example/\nproxy_url: https://b.example/", ["error conflicting_modes 5 proxy_url"]],
    ["mode: llm\nrun: ./main.sh", ["error mode_mismatch 5 run"]],
    ["mode: script", ["error mode_key_missing 4 mode"]],
    ["mode: static-file", ["error mode_key_missing 4 mode"]],
    ["mode:", ["error value_not_allowed 4 mode"]],
    ["run: ./main.sh\nheaders: {x-a: b}", ["error field_of_other_mode 5 headers"]],
    ["run: ./main.sh\nmax_tokens: 5", ["warning field_of_other_mode 5 max_tokens"]],
    ["run: ./main.sh\nhooks: {Stop: [{command: a}]}", ["warning field_of_other_mode 5 hooks"]],
  ],
  "fields below metadata.hull": [
    [
      "metadata:\n  hull:\n    run: ./main.sh\n    timeout_ms: 5s",
      ["error not_an_integer_in_range 7 timeout_ms"],
    ],
    ["metadata: {hull: {run: ./main.sh, name: x}}", ["error hull_field 4 metadata.hull.name"]],
    ["run: ./main.sh\nmetadata: {hull: {run: ./main.sh}}", ["error hull_field 5 metadata.hull.run"]],
  ],
  "S18: integers": [
    ['timeout_ms: "5000"', ["warning integer_as_text 4 timeout_ms"]],
    ['timeout_ms: "5s"', ["error not_an_integer_in_range 4 timeout_ms"]],
    ["timeout_ms: 0", ["error not_an_integer_in_range 4 timeout_ms"]],
    ["timeout_ms: 2147483648", ["error not_an_integer_in_range 4 timeout_ms"]],
    ["max_tokens: 1.5", ["error not_an_integer_in_range 4 max_tokens"]],
    ["max_tool_output_bytes: 1023", ["error not_an_integer_in_range 4 max_tool_output_bytes"]],
  ],
  "MCP servers": [
    ["mcp_servers: {docs: https://mcp.example.com/mcp}", []],
    ["mcp_servers: {Docs: https://mcp.example.com/mcp}", ["error mcp_server_name 4 mcp_servers.Docs"]],
    [
      "mcp_servers: {a-b: https://a.example/, a_b: https://b.example/}",
      ["error mcp_server_name 4 mcp_servers.a_b"],
    ],
    ["mcp_servers: [https://a.example/]", ["error wrong_type 4 mcp_servers"]],
    ["mcp_servers: {a: 7}", ["error wrong_type 4 mcp_servers.a"]],
    ["mcp_servers: {a: {tools: [x]}}", ["error mcp_server_url 4 mcp_servers.a"]],
    [
      "mcp_servers: {a: {timeout_ms: 0}}",
      ["error mcp_server_url 4 mcp_servers.a", "error not_an_integer_in_range 4 mcp_servers.a.timeout_ms"],
    ],
    ["mcp_servers: {a: ftp://a.example/}", ["error mcp_server_url 4 mcp_servers.a"]],
    ["mcp_servers: {a: https://u:p@a.example/}", ["error mcp_server_url 4 mcp_servers.a"]],
    ["mcp_servers: {a: {url: 'https://a.example/${X}'}}", ["error mcp_server_url 4 mcp_servers.a.url"]],
    [
      "mcp_servers: {a: {url: https://a.example/, timeout_ms: 0, hedaers: {}}}",
      [
        "warning unknown_field 4 mcp_servers.a.hedaers",
        "error not_an_integer_in_range 4 mcp_servers.a.timeout_ms",
      ],
    ],
    [
      "mcp_servers:\n  a: {url: https://a.example/, headers: {host: x, x-a: '${OPENAI_API_KEY}'}}",
      ["error header_name 5 mcp_servers.a.headers.host", "error mcp_server_key 5 mcp_servers.a.headers"],
    ],
    [
      `mcp_servers: {${Array.from({ length: 17 }, (_, i) => `s${i}: https://a.example/`).join(", ")}}`,
      ["error mcp_server_count 4 mcp_servers"],
    ],
    ["run: ./main.sh\nmcp_servers: {a: https://a.example/}", ["warning field_of_other_mode 5 mcp_servers"]],
    ["mcp_servers: {a: {command: npx -y @a/b, env: {A: '${X}', b_1: ''}}}", []],
    ["mcp_servers: {a: {command: [python3], args: ['-u', main.py, 'a b']}}", []],
    ["mcp_servers: {a: {command: python3, args: [gone.py]}}", ["error file_missing 4 mcp_servers.a"]],
    ["mcp_servers: {a: {command: main.py}}", ["error program_not_local 4 mcp_servers.a"]],
    ["mcp_servers: {a: {command: ./dos.sh}}", ["warning script_line_ends 4 mcp_servers.a"]],
    ["mcp_servers: {a: {command: 'x \"a b\"'}}", ["error command_needs_list 4 mcp_servers.a.command"]],
    ["mcp_servers: {a: {command: [x], args: y}}", ["error wrong_type 4 mcp_servers.a.args"]],
    [
      "mcp_servers: {a: {command: [x], url: https://a.example/}}",
      ["warning unknown_field 4 mcp_servers.a.url"],
    ],
    [
      "mcp_servers:\n  a:\n    command: [x]\n    env: {OPENAI_API_KEY: x, HULL_X: x, 'a b': x, B: 3, C: '${', D: '${HULL_Y}', E: '${OPENAI_API_KEY}'}",
      [
        "error mcp_server_env 7 mcp_servers.a.env.OPENAI_API_KEY",
        "error mcp_server_env 7 mcp_servers.a.env.HULL_X",
        "error mcp_server_env 7 mcp_servers.a.env.a b",
        "error wrong_type 7 mcp_servers.a.env.B",
        "error placeholder 7 mcp_servers.a.env.C",
        "warning placeholder_reserved 7 mcp_servers.a.env.D",
        "error mcp_server_key 7 mcp_servers.a.env",
      ],
    ],
  ],
  "S19, S86: providers and models": [
    ["provider: mistral", ["error value_not_allowed 4 provider"]],
    ["provider: 42", ["error value_not_allowed 4 provider"]],
    ["mode: llm\nopenai_base_url: https://elsewhere.example/", ["warning unknown_field 5 openai_base_url"]],
    ["model: 4", ["error wrong_type 4 model"]],
    ['model: ""', ["error wrong_type 4 model"]],
    ["provider: huggingface", ["error model_missing 4 provider"]],
    [
      "fallback: [openai/gpt-4o, mistral/x, openai]",
      ["error list_member 4 fallback[1]", "error list_member 4 fallback[2]"],
    ],
  ],
  "names of tools, as other clients list them": [
    ["model: claude-sonnet-5\ntools: Read, Grep", ["warning field_not_carried_out 5 tools"]],
    ["mode: llm\ntools: [bash, 'Bash(git:*)', mcp__a__b]", ["warning field_not_carried_out 5 tools"]],
    ["run: ./main.sh\ntools:\n  - Read", ["warning field_not_carried_out 5 tools"]],
    [`mode: llm\n${TOOL}  - Read`, ["error wrong_type 9 tools[1]"]],
    ["mode: llm\ntools: {read: true, bash: false}", ["warning field_not_carried_out 5 tools"]],
    ["mode: llm\ntools: true", ["warning field_not_carried_out 5 tools"]],
    ["mode: llm\ntools: {}", ["error wrong_type 5 tools"]],
    ["mode: llm\ntools: {name: t, description: d, command: ./t}", ["error wrong_type 5 tools"]],
    ["mode: llm\ntools: {read: true, bash: {command: x}}", ["error wrong_type 5 tools"]],
    ["mode: llm\ntools:", ["error wrong_type 5 tools"]],
  ],
  "S20: tools and their parameters": [
    [
      `${TOOL}  - name: t\n    description: d\n    command: [python3, main.py]`,
      ["error duplicate_tool 8 tools[1].name"],
    ],
    [
      "tools:\n  - name: a b!\n    description: d\n    command: [python3, main.py]",
      ["error tool_name 5 tools[0].name"],
    ],
    [
      "tools:\n  - name: t",
      ["error description_missing 5 tools[0].description", "error command_missing 5 tools[0].command"],
    ],
    [
      `${TOOL}    parameters:\n      - name: n\n        type: int\n      - name: m\n        type: integer\n        enum: [1, x]\n      - name: n`,
      [
        "error value_not_allowed 10 tools[0].parameters[0].type",
        "error enum_member_type 13 tools[0].parameters[1].enum[1]",
        "error duplicate_parameter 14 tools[0].parameters[2].name",
      ],
    ],
    [
      `${TOOL}    parameters:\n      - name: n\n        enum: [ok, -x]`,
      ["error enum_member_dash 10 tools[0].parameters[0].enum[1]"],
    ],
    [`${TOOL}    parameters:\n      - name: n\n        type: number\n        enum: [-1, 2]`, []],
    [
      `${TOOL}    parameters:\n      - name: n\n        required: "false"`,
      ["warning boolean_as_text 10 tools[0].parameters[0].required"],
    ],
    [
      `${TOOL}    parameters:\n      - name: n\n        items: string`,
      ["warning items_without_array 10 tools[0].parameters[0].items"],
    ],
    [
      `${TOOL}    idempotent: maybe\n    annotations:\n      kind: reed\n      side_effect_level: some\n      capabilities: {fs: [read, 1], net: all}\n      arg_schema: [path]\n      cost: 1`,
      [
        "error wrong_type 8 tools[0].idempotent",
        "warning unknown_field 14 tools[0].annotations.cost",
        "error value_not_allowed 10 tools[0].annotations.kind",
        "error value_not_allowed 11 tools[0].annotations.side_effect_level",
        "error list_member 12 tools[0].annotations.capabilities.fs[1]",
        "error wrong_type 12 tools[0].annotations.capabilities.net",
        "error wrong_type 13 tools[0].annotations.arg_schema",
      ],
    ],
    [`${TOOL}    annotations: read`, ["error wrong_type 8 tools[0].annotations"]],
  ],
  daemons: [
    [
      "mode: llm\nprovider: mock\ndaemon:\n  task: Guard.\n  cron: '0 9 * * 1'\n  time_zone: Europe/Berlin\n  watch_paths: [in]\n  options: {max_iterations: 3}",
      [],
    ],
    ["daemon:\n  cron: '* * * * *'", ["error task_missing 4 daemon.task"]],
    ["daemon:\n  task: ''", ["error task_empty 5 daemon.task"]],
    [
      "daemon:\n  task: x\n  cron: '* * *'\n  time_zone: Mars\n  wake_interval_ms: 0\n  watch_path: a\n  watch_paths: [../x, /y, in, a/..b]\n  options: [a]",
      [
        "warning unknown_field 9 daemon.watch_path",
        "error cron 6 daemon.cron",
        "error time_zone 7 daemon.time_zone",
        "error not_an_integer_in_range 8 daemon.wake_interval_ms",
        "error list_member 10 daemon.watch_paths[0]",
        "error list_member 10 daemon.watch_paths[1]",
        "error wrong_type 11 daemon.options",
      ],
    ],
    ["run: [python3, main.py]\ndaemon:\n  task: x", ["error field_of_other_mode 5 daemon"]],
  ],
  "S22: proxies": [
    ["proxy: http://", ["error proxy_url 4 proxy"]],
    ["proxy: ftp://a.example/", ["error proxy_url 4 proxy"]],
    ["proxy: https://u:p@a.example/", ["error proxy_url 4 proxy"]],
    [`proxy: https://$${"{HOST}"}/`, ["error proxy_url 4 proxy"]],
    [`proxy: https://a.example/$${"{a-b}"}`, ["error proxy_url 4 proxy"]],
    [`proxy: https://a.example/?k=$${"{HULL_X}"}`, ["warning placeholder_reserved 4 proxy"]],
    [`proxy: https://a.example/?k=$${"{HUSK_X}"}`, ["warning placeholder_reserved 4 proxy"]],
    ["proxy: https://a.example/\nproxy_method: FOO", ["error value_not_allowed 5 proxy_method"]],
    [
      "proxy: https://a.example/\nheaders:\n  Host: x\n  a b: y\n  n: 5",
      ["error header_name 6 headers.Host", "error header_name 7 headers.a b", "error wrong_type 8 headers.n"],
    ],
    [
      "proxy: https://a.example/\nforward_headers: [x-a, connection]",
      ["error list_member 5 forward_headers[1]"],
    ],
  ],
  "S7, S23: files that are absent, paths that leave the folder": [
    ["serve: absent.html", ["error file_missing 4 serve"]],
    ["serve: ../x", ["error path_outside 4 serve"]],
    ["serve: /etc/passwd", ["error path_outside 4 serve"]],
    ["run: ./absent.sh", ["error file_missing 4 run"]],
    ["run: [../up.sh]", ["error path_outside 4 run"]],
    ["run: [python3, absent.py]", ["error file_missing 4 run"]],
    ["run: [python3, -u, lib/../../x.py]", ["error path_outside 4 run"]],
    ["run: [python3, -m, absent.py]", []],
    ["run: main.sh", ["error program_not_local 4 run"]],
    ["run: ./dos.sh", ["warning script_line_ends 4 run"]],
    ["run: [bash, dos.sh]", ["warning script_line_ends 4 run"]],
    ["run: ./dos.py", ["warning script_line_ends 4 run"]],
    ["run: [python3, dos.py]", []],
    ["run: ./marked.sh", ["warning script_byte_order_mark 4 run"]],
    [
      "tools:\n  - name: t\n    description: d\n    command: ./absent",
      ["error file_missing 7 tools[0].command"],
    ],
  ],
  "S24: argument vectors": [
    [`run: "python3 'a b.py'"`, ["error command_needs_list 4 run"]],
    ["run: cat | wc", ["error command_needs_list 4 run"]],
    ["run: []", ["error command_empty 4 run"]],
    ["run: [sleep, 5]", ["error wrong_type 4 run[1]"]],
    ["run: python3 main.py", []],
    ["run: [python3, a b.py]", []],
  ],
  "S27: environment": [
    [
      "tool_env: [A, OPENAI_API_KEY, HULL_X, 1x]",
      [
        "error list_member 4 tool_env[2]",
        "error list_member 4 tool_env[3]",
        "warning provider_key_withheld 4 tool_env[1]",
      ],
    ],
  ],
  "S6, S110: input, output, method, route": [
    ["input: json", ["error value_not_allowed 4 input"]],
    ["input_mime: [image/png, png]", ["error media_type 4 input_mime[1]"]],
    ["input_mime: text/csv", ["info input_mime_without_file 4 input_mime"]],
    ["input: none\ninput_mime: image/png", ["info input_mime_without_file 5 input_mime"]],
    ["input: text\ninput_mime: [text/csv, application/x-own]", []],
    ["input: file\ninput_mime: text/csv", []],
    ["output: file", []],
    ["method: TRACE", ["error value_not_allowed 4 method"]],
    ["input_schema: absent.json", ["error file_missing 4 input_schema"]],
    [
      "input_schema: {properties: {n: {type: int}}}",
      ["error schema_invalid 4 input_schema.properties.n.type"],
    ],
    [
      "input_schema:\n  properties:\n    a.b: {anyOf: [true]}\n    n:\n      anyOf:\n        - type: int",
      ["error schema_invalid 9 input_schema.properties.n.anyOf.0.type"],
    ],
    ["input_schema: list.json", ["error schema_file 4 input_schema"]],
    ["input_schema: deep.json", ["error schema_file 4 input_schema"]],
    [
      "proxy: https://example.com\ninput_schema: {type: object}",
      ["warning schema_without_text 5 input_schema"],
    ],
    ["input: file\ninput_schema: {type: object}", ["warning schema_without_text 5 input_schema"]],
    ["route: /healthz", ["error reserved_route 4 route"]],
    ["route: /v1/x", ["error reserved_route 4 route"]],
    ["route: /tasks", ["error reserved_route 4 route"]],
    ["route: /mcp/x", ["error reserved_route 4 route"]],
    ["route: /skills/other/card", ["error reserved_route 4 route"]],
    ["route: /a//b", ["error route_form 4 route"]],
    ["route: /a//", ["error route_form 4 route"]],
    ["route: /a%20b", ["error route_form 4 route"]],
    ["route: /a/../b", ["error route_form 4 route"]],
    ["route: /a?b", ["error route_form 4 route"]],
    ["mode: llm\nmetadata: x", ["error wrong_type 5 metadata"]],
  ],
};

test.each([
  ["MAIN.sh", "There is main.sh"],
  ["a\u0308.sh", "NFC and NFD"],
])("a path that only looks like that of a file is explained: %s", (name, hint) => {
  const text = `---\nname: My Skill\ndescription: Does things.\nrun: ./${name}\n---\nBody.\n`;
  const own = new Map([...files, ["\u00e4.sh", new Uint8Array(0)]]);
  const { diagnostics } = parseManifest(text, { folder: "my-skill", file: "my-skill/SKILL.md", files: own });
  expect(diagnostics).toMatchObject([{ code: "file_missing", hint: expect.stringContaining(hint) }]);
});

describe("rules of the manifest", () => {
  describe.each(Object.entries(TABLE))("%s", (_, cases) => {
    test.each(cases)("%s", (fields, expected) => {
      const { diagnostics, manifest } = parse(fields);
      expect(diagnostics.map(brief)).toEqual(expected);
      expect(manifest === null).toBe(expected.some((line) => line.startsWith("error")));
    });
  });

  test("S9, S14, S16, S17, S18, S19, S24: messages name the accepted values and the remedy", () => {
    const [mode] = parse("mode: lmm").diagnostics;
    expect(mode).toMatchObject({ column: 7, value: '"lmm"', hint: "Did you mean llm?" });
    for (const name of ["script", "static-file", "proxy", "llm"]) expect(mode?.message).toContain(name);
    for (const value of ["mistral", "42"]) {
      const [provider] = parse(`provider: ${value}`).diagnostics;
      for (const name of ["anthropic", "openai", "xai", "google", "deepseek"])
        expect(provider?.message).toContain(name);
    }
    for (const [value, shown] of [
      ['"5s"', '"5s"'],
      ["0", "0"],
      ["2147483648", "2147483648"],
    ] as const)
      expect(parse(`timeout_ms: ${value}`).diagnostics[0]?.value).toBe(shown);
    expect(parse("run: ./main.sh\ntimout_ms: 5").diagnostics[0]?.hint).toContain("timeout_ms");
    for (const mode of ["", "mode: script\n"]) {
      for (const [other, value] of [
        ["serve", "y"],
        ["proxy", "https://a.example/"],
        ["tools", "[]"],
      ] as const) {
        const [conflict] = parse(`${mode}run: x\n${other}: ${value}`).diagnostics;
        expect(conflict?.message).toContain(`run and ${other}`);
      }
    }
    expect(parse(`run: "a 'b'"`).diagnostics[0]?.hint).toMatch(/list form/);
    const odd = `${TOOL}    parameters:\n      - name: n\n        type: array\n        enum: [1]`;
    expect(parse(odd).diagnostics[0]?.hint).toBe("Write a value of type array, or set another type.");
    expect(parse("route: /healthz").diagnostics[0]?.message).toContain("/healthz");
  });
});

describe("S18, S25 and the rest of normalisation", () => {
  test("defaults of an llm skill", () => {
    expect(manifestOf("mode: llm")).toEqual({
      name: "My Skill",
      slug: "my-skill",
      description: "Does things.",
      mode: "llm",
      route: "/skills/my-skill",
      method: "POST",
      input: "text",
      input_mime: [],
      output: "text",
      timeout_ms: 60000,
      idle_timeout_ms: 60000,
      deadline_ms: 300000,
      tool_env: [],
      llm: {
        target: { provider: "anthropic", model: null },
        fallback: [],
        tools: [],
        max_tokens: 4096,
        max_tool_output_bytes: 65536,
      },
      extra: {},
    });
  });

  const CASES: [string, Partial<Manifest>][] = [
    ["run: ./main.sh", { mode: "script", run: ["./main.sh"] }],
    ["run: python3 -u  main.py", { run: ["python3", "-u", "main.py"] }],
    [
      "serve: ./page.html",
      { mode: "static-file", serve: "page.html", method: "GET", input: "none", output: "text" },
    ],
    ["serve: logo.png", { output: "file" }],
    ["run: ./main.sh\nmethod: post\nroute: weather/now/", { method: "POST", route: "/weather/now" }],
    [
      "run: ./main.sh\ninput_mime: image/PNG\noutput_mime: application/pdf",
      { input: "file", input_mime: ["image/png"], output: "file" },
    ],
    ["run: ./main.sh\ninput_mime: [text/*, application/json]", { input: "text" }],
    ['timeout_ms: "5000"', { timeout_ms: 5000 }],
    ["timeout_ms: 400000", { deadline_ms: 400000 }],
    ["timeout_ms: 400000\ndeadline_ms: 400000", { deadline_ms: 400000, deadline_named: true }],
    ["input_schema: schema.json", { input_schema: { type: "object" } }],
    ["mode: llm\ntools: Read, Grep\nown: 1", { mode: "llm", extra: { tools: "Read, Grep", own: 1 } }],
    ["allowed-tools: Bash(git add:*), Read", { allowed_tools: ["Bash(git add:*)", "Read"] }],
    ["licence: MIT\ncolour: {deep: [1, .inf]}", { extra: { licence: "MIT", colour: { deep: [1, ".inf"] } } }],
    ["tool_env: [A, OPENAI_API_KEY, A]", { tool_env: ["A"] }],
    [
      "proxy: https://a.example/x\nproxy_method: get\nheaders: {X-Key: v}\nreturn_headers: [X-Rate]",
      {
        mode: "proxy",
        proxy: {
          url: "https://a.example/x",
          method: "GET",
          headers: { "x-key": "v" },
          forward_headers: [],
          return_headers: ["x-rate"],
        },
      },
    ],
  ];
  test.each(CASES)("%s", (fields, expected) => {
    expect(manifestOf(fields)).toMatchObject(expected);
  });

  test("a schema has no effect on a skill that takes a file", () => {
    expect(manifestOf("input: file\ninput_schema: schema.json")).not.toHaveProperty("input_schema");
  });

  test("the effects that a tool declares", () => {
    const effects = `    idempotent: true
    annotations:
      kind: read
      side_effect_level: read_only
      capabilities: {fs: [read]}
      arg_schema: {path_params: [dir]}
`;
    const { llm } = manifestOf(`${TOOL}${effects}`);
    expect(llm?.tools).toMatchObject([
      {
        idempotent: true,
        annotations: {
          kind: "read",
          side_effect_level: "read_only",
          capabilities: { fs: ["read"] },
          arg_schema: { path_params: ["dir"] },
        },
      },
    ]);
  });

  test("models, fallback and parameters", () => {
    const { llm } = manifestOf(
      `provider: openrouter\nmodel: a/b\nfallback: [huggingface/org/model]\n${TOOL}    parameters:\n      - name: u\n      - {name: l, type: array, required: false, items: integer}\n      - {name: k, type: array}`,
    );
    expect(llm?.target).toEqual({ provider: "openrouter", model: "a/b" });
    expect(llm?.fallback).toEqual([{ provider: "huggingface", model: "org/model" }]);
    expect(llm?.tools[0]?.parameters).toEqual([
      { name: "u", description: "", required: true, type: "string" },
      { name: "l", description: "", required: false, type: "array", items: "integer" },
      { name: "k", description: "", required: true, type: "array", items: "string" },
    ]);
  });

  test("control characters leave text fields", () => {
    const text = '---\nname: "a\\u0007b\\u0085 c"\ndescription: "x\\ny\\u0000"\n---\nBody';
    const { manifest } = parseManifest(text, { folder: "f", file: "SKILL.md" });
    expect(manifest).toMatchObject({ name: "ab c", slug: "ab-c", description: "x\ny" });
  });
});

describe("name, description, body, slug", () => {
  const source = (folder: string) => ({ folder, file: `${folder}/SKILL.md` });
  test.each([
    ["mode: llm\ndescription: d", ["error name_missing 1 name"]],
    ["name: 5\ndescription: d\nmode: llm", ["error wrong_type 2 name"]],
    [
      'name: "  "\ndescription: true\nmode: llm',
      ["error name_empty 2 name", "error wrong_type 3 description"],
    ],
  ])("%s", (fields, expected) => {
    expect(parseManifest(`---\n${fields}\n---\nb`, source("f")).diagnostics.map(brief)).toEqual(expected);
  });

  test("an llm skill needs a body", () => {
    expect(parse("mode: llm", " \n").diagnostics.map(brief)).toEqual(["error body_empty 1 -"]);
  });

  test("a name without ASCII takes the folder's slug, and needs one", () => {
    const text = "---\nname: 天気\ndescription: d\nmode: llm\n---\nb";
    expect(parseManifest(text, source("Weather Now")).manifest?.slug).toBe("weather-now");
    expect(parseManifest(text, source("天気")).diagnostics.map(brief)).toEqual(["error slug_empty 2 name"]);
  });
});
