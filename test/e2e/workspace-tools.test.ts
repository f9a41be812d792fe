/** The workspace tools in agent runs: real workerd, a real runner, a model whose turns are given. */
import { existsSync } from "node:fs";
import { realpath, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { commonHull } from "../support/common-hull.ts";
import { json } from "../support/hull-dev.ts";
import { until } from "../support/runner.ts";
import { dataOf, readEvents } from "../support/sse.ts";

const { hull } = await commonHull({
  "pages/SKILL.md": `---
name: pages
description: Makes pages
---
Run \`python3 scripts/count.py FILE\`. See REFERENCE.md.
`,
  "pages/scripts/count.py": "import sys\nprint(len(open(sys.argv[1]).read().split()))\n",
  "pages/scripts/kind.js": "console.log(typeof require, typeof module);\n",
  "pages/reference.md": "# Reference\nUse few words.\n",
  "wares/.claude-plugin/plugin.json": '{"name": "wares"}',
  "wares/price.txt": "12\n",
  "wares/skills/shop/SKILL.md":
    "---\nname: shop\ndescription: Sells\n---\nPrices: ${CLAUDE_PLUGIN_ROOT}/price.txt; notes: {baseDir}/SKILL.md.\n",
  "wares/STOCK.md": "Ten crates.\n",
  "wares/skills/store/SKILL.md":
    "---\nname: store\ndescription: Keeps\n---\nCount as in [the list](../../STOCK.md).\n",
  "wares/skills/till/SKILL.md": "---\nname: till\ndescription: Counts\n---\nRun scripts/count.sh.\n",
  "wares/skills/till/scripts/count.sh": '. "$(dirname "$0")/../../../price.sh"\n',
  "wares/price.sh": "echo $((2 * 6))\n",
  "plain/SKILL.md": "---\nname: plain\ndescription: Speaks\n---\nBe brief.\n",
});

interface Call {
  name: string;
  arguments: object;
}
const call = (name: string, args: object): Call => ({ name, arguments: args });

interface Result {
  status: string;
  rejected_tools: string[];
  successful_tools: string[];
  mock_calls: { messages: { role: string; content: unknown }[]; tools?: { name: string }[] }[];
  session_id: string | null;
}

/** Runs one turn for each list of calls, then an answer; the texts of the tools' results in order. */
async function run(
  turns: Call[][],
  options: object = { workspace_tools: true },
  path = "/runs",
): Promise<{ result: Result; texts: string[] }> {
  const mock = [...turns.map((tool_calls) => ({ text: "", tool_calls })), { text: "Done." }];
  const response = await hull.post(path, {
    prompt: "go",
    options: {
      provider: "mock",
      model: "mock",
      tool_format: "native",
      mock,
      loop_detect_warn: 0,
      ...options,
    },
  });
  const result = await json<Result>(response);
  expect(result, hull.output().slice(-2000)).toHaveProperty("status");
  const last = result.mock_calls.at(-1)?.messages ?? [];
  const texts = last.flatMap(({ role, content }) => (role === "tool" ? [String(content)] : []));
  return { result, texts };
}

const bash = (command: string, more: object = {}): Call => call("Bash", { command, ...more });

test("files are written, read, edited, listed and searched without a process, and commands see them", async () => {
  const { texts, result } = await run([
    [call("Write", { file_path: "notes/a.md", content: "one\ntwo\n" })],
    [call("Read", { file_path: "notes/a.md" })],
    [call("Edit", { file_path: "notes/a.md", old_string: "two", new_string: "three" })],
    [call("Glob", { pattern: "**/*.md" })],
    [call("Grep", { pattern: "thr.e", output_mode: "content" })],
    [bash("cat notes/a.md; echo from bash > made.txt; exit 3")],
    [call("Read", { file_path: "made.txt" })],
  ]);
  expect(texts[0]).toContain("Created notes/a.md");
  expect(texts[1]).toBe("     1\tone\n     2\ttwo");
  expect(texts[2]).toContain("1 place");
  expect(texts[3]).toBe("notes/a.md");
  expect(texts[4]).toBe("notes/a.md:2:three");
  expect(texts[5]).toBe("one\nthree\nexit code 3");
  expect(texts[6]).toBe("     1\tfrom bash");
  expect(result.status).toBe("done");
});

test("Edit changes nothing but the text, and refuses a file of another encoding", async () => {
  const { texts } = await run([
    [bash("printf '\\xef\\xbb\\xbfone\\ntwo\\n' > marked.csv; printf 'gr\\xfcn\\none\\n' > latin.txt")],
    [call("Edit", { file_path: "marked.csv", old_string: "one", new_string: "1" })],
    [call("Edit", { file_path: "latin.txt", old_string: "one", new_string: "1" })],
    [bash("od -An -tx1 marked.csv latin.txt | tr -d '\\n' | xargs")],
  ]);
  expect(texts[1]).toContain("1 place");
  expect(texts[2]).toContain("latin.txt is not UTF-8 text");
  expect(texts[3]).toBe("ef bb bf 31 0a 74 77 6f 0a 67 72 fc 6e 0a 6f 6e 65 0a");
});

test("a name in another form of Unicode is the same file, and a command's name that cannot be kept is explained", async () => {
  const { texts } = await run([
    [call("Write", { file_path: "cafe\u0301.txt", content: "one" })],
    [call("Read", { file_path: "caf\u00e9.txt" }), call("Glob", { pattern: "cafe\u0301*" })],
    [bash("touch $'a\\\\b' $'x\\xff'; cat $'caf\\xc3\\xa9.txt'")],
    [bash("mkdir $'e\\xcc\\x81' && cd $'e\\xcc\\x81' && printf two > $'o\\xcc\\x88'")],
    [bash("pwd; cat $'\\xc3\\xb6'"), call("Read", { file_path: "o\u0308" })],
  ]);
  expect(texts.slice(1, 3)).toEqual(["     1\tone", "caf\u00e9.txt"]);
  expect(texts.slice(5)).toEqual([expect.stringMatching(/\/\u00e9\ntwo$/), "     1\ttwo"]);
  expect(texts[3]).toContain('"a\\\\b" (bad_path: it has a backslash; rename it)');
  expect(texts[3]).toContain('"x\ufffd" (bad_path: it is not UTF-8; rename it)');
});

test("Write refuses a file that no session keeps, which the next command would take away", async () => {
  const { texts } = await run([
    [call("Write", { file_path: "node_modules/a.js", content: "one" })],
    [call("Write", { file_path: "a/m.pyc", content: "two" })],
    [bash("ls | wc -l")],
  ]);
  expect(texts).toEqual([
    "node_modules/a.js has node_modules, which no session keeps.",
    "a/m.pyc has m.pyc, which no session keeps.",
    "0",
  ]);
});

test("R8: a command begins where the last one ended, and knows the work folder and the session", async () => {
  const { id } = await json<{ id: string }>(await hull.post("/sessions", {}));
  const turns = [
    [bash("mkdir -p sub/deep && cd sub/deep && pwd")],
    [bash('pwd; echo "$CLAUDE_PROJECT_DIR/sub/deep $CLAUDE_SESSION_ID"; echo x > here.txt')],
    [call("Read", { file_path: "here.txt" }), call("Glob", { pattern: "*.txt" })],
    [bash("cd ../..; ls")],
    [bash("pwd")],
  ];
  const { texts } = await run(turns, { workspace_tools: true }, `/sessions/${id}/runs`);
  expect(texts[0]).toMatch(/\/workspaces\/[0-9a-f]{32}\/files\/sub\/deep$/);
  expect(texts[1]).toBe(`${texts[0]}\n${texts[0]} ${id}`);
  expect([texts[2], texts[3]]).toEqual(["     1\tx", "here.txt"]);
  expect(texts[5]).toBe(String(texts[0]).replace("/sub/deep", ""));
});

test("stages of a task's graph share its files, its folder and its variables", async () => {
  const mock = [
    { text: "", tool_calls: [bash('mkdir sub; echo "$WHO" > sub/made.txt')] },
    { text: "##DONE##" },
  ];
  const model_policy = {
    provider: "mock",
    model: "mock",
    tool_format: "native",
    workspace_tools: true,
    mock,
  };
  const command = `cat made.txt; basename "$PWD"; test "$WHO" = "it's me"`;
  const graph = {
    act: { mode: "agent", model_policy },
    verify: { verify: { command, expect_text: "it's me\nsub" } },
  };
  const execution = { cwd: "sub", env: { WHO: "it's me" } };
  const response = await hull.post("/tasks", { task: "go", graph, execution, wait: true });
  const task = await json<{ result: { stages: object[] } }>(response);
  expect(task.result.stages, JSON.stringify(task)).toMatchObject([
    { node_id: "act", outcome: "success" },
    { node_id: "verify", outcome: "verified" },
  ]);
});

test("what a command writes to TMPDIR, later ones find", async () => {
  const { texts } = await run([
    [bash('echo kept > "$TMPDIR/note"; pwd')],
    [bash('cat "$TMPDIR/note"; ls -A; rm -r "$TMPDIR"')],
    [bash("mktemp > /dev/null && echo made")],
  ]);
  expect(texts.slice(1)).toEqual(["kept", "made"]);
});

test("a command whose folder is missing begins in the work folder, and says so", async () => {
  const graph = { nodes: { v: { kind: "verify", verify: { command: "ls -A; echo begun" } } } };
  const body = { task: "go", graph, execution: { cwd: "it's/gone" }, wait: true };
  const task = await json<{ result: object }>(await hull.post("/tasks", body));
  const text = "begun\n[hull: there is no folder it's/gone; the command began in the work folder]";
  expect(task.result).toMatchObject({ visible_text: "begun", artifacts: [{ text }] });
});

test("a stage's command that is stopped takes no other command of the workflow with it", async () => {
  const begun = join(hull.root, "home", "begun");
  const check = (command: string, more: object = {}) => ({ kind: "verify", verify: { command }, ...more });
  const graph = {
    entry: "book",
    nodes: {
      book: check("echo booked", { compensation: "unbook" }),
      unbook: check("echo undone"),
      late: check("sleep 60", { timeout_ms: 300 }),
      long: check(`touch '${begun}'; sleep 60`),
    },
    edges: [
      { from: "book", to: "late" },
      { from: "late", to: "long" },
    ],
  };
  const headers = { prefer: "respond-async" };
  const { id } = await json<{ id: string }>(
    await hull.post("/workflows/execute", { task: "go", graph, options: { provider: "mock" } }, headers),
  );
  await until(
    () => existsSync(begun),
    (has) => has,
  );
  await hull.post(`/workflows/runs/${id}/cancel`, {});
  interface Recorded {
    status: string;
    stages: { node_id: string; error: { code: string } | null }[];
    compensations: { outcome: string }[];
  }
  const ended = await until(
    async () => json<Recorded>(await hull.call(`/workflows/runs/${id}`)),
    ({ status }) => status === "cancelled",
  );
  expect(ended.stages.slice(0, 2).map(({ node_id, error }) => [node_id, error?.code])).toEqual([
    ["book", undefined],
    ["late", "timed_out"],
  ]);
  expect(ended.compensations).toMatchObject([{ node_id: "unbook", outcome: "verified" }]);
});

test("commands have the variables that hull.toml names, no provider's keys, and stderr where it was written", async () => {
  const { texts } = await run([
    [bash("echo one; echo two >&2; echo three; echo $BUILD_NAME; env | grep -c -e API_KEY -e HULL_TOOL_")],
    [bash("cat <<'END'\na $x `b`\nEND\n# a comment\necho \"$0 $#\"; for i in 1 2; do echo $i; done")],
    [bash("if then")],
    [
      bash("sleep 5", { timeout_ms: 300 }),
      bash("echo kept > t.txt; setsid sleep 60 & sleep 5", { timeout_ms: 300 }),
    ],
    [call("Read", { file_path: "t.txt" })],
  ]);
  expect(texts[0]).toBe("one\ntwo\nthree\nnightly\n0\nexit code 1");
  expect(texts[1]).toBe("a $x `b`\nbash 0\n1\n2");
  expect(texts[2]).toContain("syntax error");
  expect(texts[3]).toContain("[hull: stopped after 300 ms");
  expect(texts[5]).toBe("     1\tkept");
});

test("bash counts a command's lines from 1, and processes left in the background are ended with a message", async () => {
  const slept = `61.${process.pid}`;
  const { texts } = await run([
    [bash(`sleep ${slept} & disown; sleep ${slept} & echo begun; exit 3`)],
    [bash(`true\nnosuch_program\nps -eo args | grep -c '^sleep ${slept}'`)],
    [bash("echo waits; sleep 60", { timeout_ms: 300 })],
  ]);
  expect(texts[0]).toBe(
    "begun\n[hull: what the command left in the background was ended with it]\nexit code 3",
  );
  expect(texts[1]).toBe("bash: line 2: nosuch_program: command not found\n0\nexit code 1");
  // The command that the time limit stopped was in the foreground.
  expect(texts[2]).toMatch(/^waits\n(Terminated\n)?\[hull: stopped after 300 ms/);
});

test("R9: 30 MB of output: capped, the whole in a file", async () => {
  const { texts } = await run([
    [bash("yes 0123456789abcdef | head -c 30000000")],
    [bash("ls .hull/output | wc -l; cat .hull/output/* | wc -c")],
  ]);
  expect(texts[0]?.length).toBeLessThanOrEqual(30_000);
  expect(texts[0]).toMatch(/30000000 characters left out; the whole output is in \.hull\/output\/\S+\.txt\]/);
  expect(texts[1]).toBe("1\n30000000");
});

test("R6: without network a command fails and says why", async () => {
  const { texts } = await run([[bash("curl -sS -m 5 http://127.0.0.1:9/ || wget -q http://127.0.0.1:9/")]]);
  expect(texts[0]).toContain("commands reach no other machine here");
  expect(texts[0]).toContain("[workspace_tools] network");
});

test("R5: the ceiling read_only denies Bash, Write and Edit, and shows it", async () => {
  const { result, texts } = await run(
    [
      [bash("true"), call("Write", { file_path: "a", content: "x" })],
      [call("Edit", { file_path: "a", old_string: "x", new_string: "y" }), call("Glob", { pattern: "*" })],
    ],
    { workspace_tools: true, policy: { side_effect_level: "read_only" } },
  );
  expect(result.rejected_tools.sort()).toEqual(["Bash", "Edit", "Write"]);
  expect(result.successful_tools).toEqual(["Glob"]);
  expect(texts[0]).toContain("permission_denied");
});

test("a run limited to some files has no commands, since those reach all files", async () => {
  const calls = [[bash("true"), call("Write", { file_path: "out/a", content: "x" })]];
  const roots = await run(calls, { workspace_tools: true, policy: { workspace_roots: ["out"] } });
  expect([roots.result.rejected_tools, roots.result.successful_tools]).toEqual([["Bash"], ["Write"]]);
  const paths = await run(calls, {
    workspace_tools: true,
    approval_policy: { write_path_allowlist: ["out/*"] },
  });
  expect([paths.result.rejected_tools, paths.result.successful_tools]).toEqual([["Bash"], ["Write"]]);
});

test("files keep their times between commands", async () => {
  const { texts } = await run([
    [bash("echo a > a; touch -d '2020-01-02 03:04:05 UTC' a; echo b > b")],
    [call("Write", { file_path: "c", content: "c" }), call("Glob", { pattern: "*" })],
    [bash("TZ=UTC stat -c %y a | cut -c1-19; [ b -nt a ] && echo newer")],
  ]);
  expect(texts[3]).toBe("2020-01-02 03:04:05\nnewer");
  expect(texts[2]?.split("\n").at(-1)).toBe("a");
});

test("policies know the tools by the names of other clients, in any case", async () => {
  const { result } = await run([[bash("true"), call("Read", { file_path: "x" })]], {
    workspace_tools: ["shell", "view"],
    policy: { tools: ["read_file"] },
  });
  expect(result.rejected_tools).toEqual(["Bash"]);
  expect(result.mock_calls[0]?.tools?.map(({ name }) => name)).toEqual(["Bash", "Read"]);
  const denied = await run([[bash("true")]], {
    approval_policy: { auto_deny: ["BASH"] } as object,
    workspace_tools: true,
  });
  expect(denied.result.rejected_tools).toEqual(["Bash"]);
});

test("a skill that needs them brings them; its files are read and run, and cannot be changed", async () => {
  const { texts, result } = await run(
    [
      [call("Write", { file_path: "in.txt", content: "a b c" })],
      [bash('python3 "$HULL_SKILL_DIR/scripts/count.py" in.txt; ls -d "$CLAUDE_SKILL_DIR"')],
    ],
    { skill: "pages" },
  );
  expect(texts[1]).toMatch(/^3\n\/.*\/skills\/[0-9a-f]{16}\/pages$/);
  const dir = texts[1]?.split("\n")[1] ?? "";
  const more = await run(
    [
      [call("Read", { file_path: `${dir}/REFERENCE.md` }), call("Grep", { pattern: "few", path: dir })],
      [
        call("Write", { file_path: `${dir}/reference.md`, content: "x" }),
        call("Glob", { pattern: "**", path: dir }),
      ],
      [bash(`echo changed >> ${dir}/reference.md; echo more > ${dir}/new; true`)],
    ],
    { skill: "pages" },
  );
  expect(more.texts[0]).toContain("Use few words.");
  expect(more.texts[1]).toBe(`${dir}/reference.md`);
  expect(more.texts[2]).toContain("those cannot be changed");
  expect(more.texts[3]).toContain(`${dir}/scripts/count.py`);
  const after = await run([[bash(`cat ${dir}/reference.md; ls ${dir}`)]], { skill: "pages" });
  expect(after.texts[0]).toBe("# Reference\nUse few words.\nSKILL.md\nreference.md\nscripts");
  const moved = await run(
    [
      [bash(`cd ${dir}`)],
      [call("Read", { file_path: "notes.txt" }), call("Write", { file_path: "notes.txt", content: "x" })],
    ],
    { skill: "pages" },
  );
  const back = /: the last command ended in \/\S+\/pages\. The work folder is \/\S+\/files\.$/;
  expect(moved.texts.slice(1)).toEqual(Array(2).fill(expect.stringMatching(back)));
  expect(result.successful_tools).toContain("Bash");
  const plain = await run([[bash("true")]], { skill: "plain" });
  expect(plain.result.rejected_tools).toEqual(["Bash"]);
});

test("a skill with no file of its own that names its plugin's folder has the tools and the folder", async () => {
  const { result } = await run([], { skill: "shop", workspace_tools: undefined });
  const [, price = "", own = ""] =
    /Prices: (\S+); notes: (\S+)\./.exec(JSON.stringify(result.mock_calls[0])) ?? [];
  const { texts } = await run([[call("Read", { file_path: price }), bash(`cat ${price}; ls ${own}`)]], {
    skill: "shop",
    workspace_tools: undefined,
  });
  expect(texts).toEqual(["     1\t12", `12\n${own}`]);
});

test("a relative link to a file of the plugin works from the skill's base directory", async () => {
  const options = { skill: "store", workspace_tools: undefined };
  const { result } = await run([], options);
  const [, base = ""] =
    /Base directory for this skill: (\S+?)\\n/.exec(JSON.stringify(result.mock_calls[0])) ?? [];
  const resource = (path: string) => call("read_skill_resource", { skill: "store", path });
  const { texts } = await run(
    [
      [call("Read", { file_path: `${base}/../../STOCK.md` }), bash(`cd ${base} && cat ../../STOCK.md; ls`)],
      [
        resource("../../STOCK.md"),
        resource(`${base}/../../STOCK.md`),
        resource(join(base, "../../stock.md")),
      ],
      [resource("../../../shop/SKILL.md"), call("Read", { file_path: `${base}/../../../../../x` })],
      [bash('echo "$HULL_SKILL_DIR $CLAUDE_SKILL_DIR"; cat "$SKILL_DIR/../../STOCK.md"')],
    ],
    options,
  );
  const told = "[STOCK.md: characters 0 to 12 of 12]\nTen crates.\n";
  expect(texts.slice(0, 5)).toEqual(["     1\tTen crates.", "Ten crates.\nSKILL.md", told, told, told]);
  expect(texts[5]).toContain("is not inside the skill's folder");
  expect(texts[6]).toContain("outside of the work folder");
  expect(texts[7]).toBe(`${base} ${base}\nTen crates.`);
  const bare = await run([[resource("../../STOCK.md")]], { ...options, workspace_tools: false });
  expect(bare.texts).toEqual([told]);
});

test("a script reaches a file of its plugin by a relative path", async () => {
  const { texts } = await run([[bash('bash "$CLAUDE_SKILL_DIR/scripts/count.sh"')]], { skill: "till" });
  expect(texts).toEqual(["12"]);
});

test("programs find no project above the work folder and the skills, and the runner's link leads there", async () => {
  const file = join(hull.root, "package.json");
  await writeFile(file, '{"type": "module"}');
  try {
    const script =
      'node "$CLAUDE_SKILL_DIR/scripts/kind.js"; cp "$CLAUDE_SKILL_DIR/scripts/kind.js" . && node kind.js';
    const upwards =
      'until [ "$PWD" = / ]; do ls "$PWD/hull.toml" "$PWD/package.json"; cd ..; done 2>/dev/null';
    const { texts } = await run(
      [
        [bash(script)],
        [bash(`cd "$CLAUDE_SKILL_DIR"; ${upwards}`)],
        [bash('cd "$HULL_WORKSPACE"; pwd')],
        [bash(upwards)],
      ],
      { skill: "pages", workspace_tools: undefined },
    );
    const state = await realpath(join(hull.stateDir, "runner"));
    expect(texts).toEqual([
      "function object\nfunction object",
      "[hull: no output]",
      expect.stringContaining(`${state}/workspaces/`),
      "[hull: no output]",
    ]);
  } finally {
    await rm(file);
  }
});

test("a command that a skill's folder refuses says how to go on", async () => {
  const refused = 'cd "$CLAUDE_SKILL_DIR"; echo "touch: cannot touch x: Permission denied"; exit 1';
  const { texts } = await run([[bash(refused)]], { skill: "pages", workspace_tools: undefined });
  expect(texts[0]).toContain("Copy what has to change into the work folder");
});

test("Glob and Grep say where they did not look, and where relative paths begin", async () => {
  const { texts } = await run([
    [bash("mkdir a; touch f.ts xf.ts a/f.ts; seq 1 1500000 > large.txt")],
    [call("Glob", { pattern: "**/f.ts" }), call("Glob", { pattern: "[fx]*.ts" })],
    [call("Glob", { pattern: "*", path: "none" }), call("Glob", { pattern: "../*" })],
    [call("Grep", { pattern: "^77$" })],
    [bash("cd /tmp")],
    [call("Read", { file_path: "f.ts" }), call("Glob", { pattern: "*" })],
    [
      bash("cd -"),
      call("Glob", { pattern: "a/*", head_limit: 1 }),
      call("Grep", { pattern: "^78$", "-n": true }),
    ],
  ]);
  const lines = texts.map((text) => text.split("\n").sort());
  expect(lines[1]).toEqual(["a/f.ts", "f.ts"]);
  expect(lines[2]).toEqual(["f.ts", "xf.ts"]);
  expect(texts[3]).toBe("[hull: there are no files in none]");
  expect(texts[4]).toBe(".. is outside of the work folder and of the run's skills.");
  expect(texts[5]).toMatch(/nothing matches\]\n\[hull: not searched, of more than \d+ bytes: large\.txt;/);
  expect(texts[7]).toMatch(
    /^f\.ts is outside .*: the last command ended in \/tmp\. The work folder is \/\S+\.$/,
  );
  expect(texts[8]).toMatch(/^\. is outside /);
  expect(texts[10]).toMatch(/\n\[hull: Glob has no parameter head_limit, and ignored it\]$/);
  expect(texts[11]).not.toContain("has no parameter");
  const empty = await run([
    [bash("mkdir empty; cd empty")],
    [call("Glob", { pattern: "*" }), call("Grep", { pattern: "x" })],
  ]);
  expect(empty.texts.slice(1)).toEqual(Array(2).fill("[hull: there are no files in empty]"));
});

test("Grep takes the parameters that models know: types, lines around matches, a part of the answer", async () => {
  const around = { pattern: "[58]", type: "md", output_mode: "content" };
  const { texts } = await run([
    [bash("seq 1 9 > n.md; cp n.md n.py")],
    [
      call("Grep", { ...around, context: 1, head_limit: 3 }),
      call("Grep", { ...around, "-B": 1, offset: 3, glob: null, path: null }),
      call("Grep", { pattern: "5", path: "n.py", output_mode: "content", "-C": 0, "-A": 1 }),
      call("Grep", { ...around, multiline: true, "-A": -1 }),
      call("Grep", { pattern: "5", glob: "n.*", type: "python" }),
    ],
  ]);
  expect(texts.slice(1)).toEqual([
    "n.md-4-4\nn.md:5:5\nn.md-6-6\n[hull: there is more; narrow the search, or go on with offset 3]",
    "n.md-7-7\nn.md:8:8",
    "n.py:5:5\nn.py-6-6",
    expect.stringContaining("Grep: -A must be a whole number from 0."),
    "n.py",
  ]);
});

test("R10: paths outside the run's files are refused", async () => {
  const paths = ["../../x", "/etc/passwd", "/proc/self/environ", `${hull.stateDir}/runner.secret`];
  const { texts } = await run([
    paths.map((file_path) => call("Read", { file_path })),
    [bash("ln -s /etc/passwd link; ln -s / root; true")],
    [call("Read", { file_path: "link" }), call("Read", { file_path: "root/etc/passwd" })],
    [call("Write", { file_path: "../../x", content: "x" })],
  ]);
  for (const text of texts.slice(0, 4)) expect(text).toContain("is outside of the work folder");
  expect(texts[4]).toContain("not kept among the files");
  expect(texts[5]).toContain("There is no file link");
  expect(texts[6]).toContain("There is no file");
  expect(texts[7]).toContain("is outside of the work folder");
});

test("images are shown to the model, and output is streamed as it arrives", async () => {
  const png =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
  const { result } = await run([
    [bash(`echo ${png} | base64 -d > dot.png`)],
    [call("Read", { file_path: "dot.png" })],
  ]);
  expect(JSON.stringify(result.mock_calls.at(-1)?.messages)).toContain(png);
  const mock = [{ text: "", tool_calls: [bash("echo early; sleep 0.2; echo late")] }, { text: "Done." }];
  const options = { provider: "mock", model: "mock", mock, workspace_tools: true };
  const events = await readEvents(
    await hull.post("/runs", { prompt: "go", options }, { accept: "text/event-stream" }),
  );
  const told = dataOf(events, "tool_output").map(({ stream, text }) => [stream, text]);
  expect(told.map(([, text]) => text).join("")).toBe("early\nlate\n");
  expect(told[0]?.[0]).toBe("stdout");
});

test("in a session the files are the session's", async () => {
  const made = await json<{ id: string }>(await hull.post("/sessions", {}));
  await hull.call(`/sessions/${made.id}/files/in.csv`, "a,b\n1,2\n", { method: "PUT" });
  const path = `/sessions/${made.id}/runs`;
  const first = await run(
    [[bash("wc -l < in.csv | tr -d ' ' > out/count.txt || mkdir out; wc -l < in.csv > out/count.txt")]],
    { workspace_tools: true },
    path,
  );
  expect(first.result.status).toBe("done");
  expect(await (await hull.call(`/sessions/${made.id}/files/out/count.txt`)).text()).toBe("2\n");
  const second = await run([[call("Read", { file_path: "out/count.txt" })]], { workspace_tools: true }, path);
  expect(second.texts.at(-1)).toBe("     1\t2");
});

test("the error of an unknown tool lists every tool that there is", async () => {
  const { texts } = await run([[call("nope", {})]], { skills: ["pages"], workspace_tools: ["Read"] });
  expect(texts[0]).toContain("Use only: Read, load_skill, read_skill_resource.");
});
