/** The names of tools in skills, as other clients write them, and who asks for the workspace tools. */
import { expect, test } from "vitest";
import { makeRecord } from "../../../src/skill/bundle.ts";
import { fileNamed } from "../../../src/skill/file-lookup.ts";
import { Findings } from "../../../src/skill/findings.ts";
import { checkNamedTools } from "../../../src/skill/missing-tools.ts";
import { parseManifest } from "../../../src/skill/parse.ts";
import {
  type AllowedTool,
  allowedTools,
  hullToolName,
  SUB_AGENT,
  toolsNamed,
  workspaceTool,
} from "../../../src/skill/tool-names.ts";

test("names of other clients mean Hull's tools, in any letter case", () => {
  const names: Record<string, string> = {
    bash: "Bash",
    SHELL: "Bash",
    read_file: "Read",
    view: "Read",
    readFile: "Read",
    write_file: "Write",
    create_file: "Write",
    str_replace: "Edit",
    edit_file: "Edit",
    MultiEdit: "Edit",
    LS: "Glob",
    glob: "Glob",
    GREP: "Grep",
    Task: SUB_AGENT,
    Skill: "load_skill",
    TodoWrite: "task_ledger",
    WebFetch: "WebFetch",
    "my-tool": "my-tool",
    mcp__github__create_issue: "github__create_issue",
    "mcp__my-server__do-it": "my_server__do-it",
    mcp__github: "github__*",
    "mcp__github__*": "github__*",
  };
  for (const [name, tool] of Object.entries(names)) expect([name, hullToolName(name)]).toEqual([name, tool]);
  expect([workspaceTool("view"), workspaceTool("WebFetch")]).toEqual(["Read", null]);
});

test("a tool with exactly the name comes first, then an alias, then another letter case", () => {
  const offered = ["Bash", "Read", "view", "github__a", "github__b", "Custom"];
  expect(toolsNamed("view", offered)).toEqual(["view"]);
  expect(toolsNamed("read_file", offered)).toEqual(["Read"]);
  expect(toolsNamed("mcp__github__*", offered)).toEqual(["github__a", "github__b"]);
  expect(toolsNamed("custom", offered)).toEqual(["Custom"]);
  expect(toolsNamed("git*a", offered)).toEqual(["github__a"]);
  expect(toolsNamed("*", offered)).toEqual(offered);
  expect(toolsNamed("WebFetch", offered)).toEqual([]);
  expect(toolsNamed("a*a", ["a"])).toEqual([]);
  expect(toolsNamed(`${"*x".repeat(200)}y`, ["x".repeat(400)])).toEqual([]);
});

test("R4: entries of allowed-tools as they are found", () => {
  const bash = (pattern: string): AllowedTool => ({ tool: "Bash", pattern });
  const table: [string[], AllowedTool[]][] = [
    [["Bash(git:*) Bash(jq:*) Read"], [bash("git:*"), bash("jq:*"), { tool: "Read" }]],
    [
      ["Bash(npm run test:*), Read(./docs/**)"],
      [bash("npm run test:*"), { tool: "Read", pattern: "./docs/**" }],
    ],
    [
      ["Read", "Bash(git add:*)"],
      [{ tool: "Read" }, bash("git add:*")],
    ],
    [["Bash (git:*), view"], [bash("git:*"), { tool: "Read" }]],
    [["Bash(git add:*, git commit:*)"], [bash("git add:*"), bash("git commit:*")]],
    [["Bash(*) Write()"], [{ tool: "Bash" }, { tool: "Write" }]],
    [["Bash(find . \\( -name x \\)) LS"], [bash("find . \\( -name x \\)"), { tool: "Glob" }]],
    [["Bash(git:*, Read"], [bash("git:*"), { tool: "Read" }]],
    [['["Read", "Bash(git:*)"]'], [{ tool: "Read" }, bash("git:*")]],
    [["- Read\n- Grep"], [{ tool: "Read" }, { tool: "Grep" }]],
    [["mcp__docs__*; Skill(pdf)"], [{ tool: "docs__*" }, { tool: "load_skill", pattern: "pdf" }]],
    [["*"], [{ tool: "*" }]],
    [[" , ()"], []],
  ];
  for (const [texts, entries] of table) expect([texts, allowedTools(texts)]).toEqual([texts, entries]);
});

test("a file is found by its exact name first, then in any letter case if that is one file", () => {
  const paths = ["forms.md", "a/Guide.md", "x.md", "X.md", "cafe\u0301.md"];
  const table: [string, string | null][] = [
    ["FORMS.md", "forms.md"],
    ["./A/../a/guide.MD", "a/Guide.md"],
    ["X.md", "X.md"],
    ["caf\u00e9.md", "cafe\u0301.md"],
    ["../forms.md", null],
    ["/forms.md", null],
    ["none.md", null],
  ];
  for (const [wanted, path] of table) expect([wanted, fileNamed(wanted, paths)]).toEqual([wanted, path]);
  expect(fileNamed("x.MD", paths)).toBeNull();
});

test("a skill wants workspace tools by its files, allowed-tools or commands; a licence is no such file", async () => {
  const wants = async (fields: string, body: string, others: string[] = []) => {
    const text = `---\nname: a\ndescription: d\n${fields}\n---\n${body}\n`;
    const files = ["SKILL.md", ...others].map((path) => ({
      path,
      mode: 0o644 as const,
      bytes: new TextEncoder().encode(path === "SKILL.md" ? text : 'import { a } from "./lib.ts";'),
    }));
    const found = new Map(files.map(({ path, bytes }) => [path, bytes]));
    const { manifest, diagnostics } = parseManifest(text, { folder: "a", file: "a/SKILL.md", files: found });
    if (manifest === null) expect.fail(JSON.stringify(diagnostics));
    const { record } = await makeRecord(manifest, body, files);
    return record.wants_workspace_tools === true;
  };
  const tool = "tools: [{name: t, description: d, command: [python3, ./t.py]}]";
  const table: [boolean, string, string, string[]][] = [
    [false, "license: MIT", "Text.", ["LICENSE.txt", "tools.json", "hooks.js", "hull.toml"]],
    [true, "license: MIT", "Text.", ["reference.md"]],
    [true, "allowed-tools: Bash(git:*)", "Text.", []],
    [true, "allowed_tools: [view]", "Text.", []],
    [false, "allowed-tools: WebFetch", "Text.", []],
    [true, "license: MIT", "Run:\n\n  ```bash\nls\n```", []],
    [true, "license: MIT", "~~~ sh\nls\n~~~", []],
    [false, "license: MIT", "```python\nx\n```\n`bash`", []],
    [true, "license: MIT", "On !`git branch --show-current`.", []],
    [true, "license: MIT", "```!\ngit status\n```", []],
    [false, "license: MIT", "```markdown\nOn !`git branch`.\n```\nOr `` !`git branch` ``.", []],
    [false, tool, "Text.", ["t.py"]],
    [true, tool, "Text.", ["t.py", "data.csv"]],
    [false, "license: MIT", "Text.", ["skill.ts", "lib.ts"]],
    [true, "license: MIT", "Text.", ["skill.ts", "other.ts"]],
    [false, "run: [./a.sh]", "```bash\nx\n```", ["a.sh"]],
  ];
  for (const [wanted, fields, body, files] of table) {
    expect([fields, body, files, await wants(fields, body, files)]).toEqual([fields, body, files, wanted]);
  }
});

test.each([
  [true, "Nothing provides WebSearch: the skill cannot search the web."],
  [
    false,
    "Nothing provides Agent, WebSearch: the skill cannot hand work to sub-agents without the run option sub_agents, or search the web.",
  ],
])("a skill that names Agent has sub-agents: %s", (sub_agents, message) => {
  const text = "---\nname: a\ndescription: b\nallowed-tools: Read, Agent, WebSearch\n---\nGo.\n";
  const { manifest } = parseManifest(text, { folder: "a", file: "a/SKILL.md" });
  const findings = new Findings("a", "a/SKILL.md");
  const provided = { mcp_servers: [], workspace_tools: true, sub_agents };
  checkNamedTools(findings, manifest ?? expect.fail(), [], provided);
  expect(findings.list.map((found) => found.message)).toEqual([message]);
});
