/** Handlers of Skill Tools as processes: what they get, what they answer, how they end. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import * as z from "zod";
import type { JsonObject } from "../../src/skill/manifest.ts";
import type { HandlerOutcome } from "../../src/tool/handler/call.ts";
import { callScript } from "../support/handler-call.ts";
import { type Bundle, bundle, processesWith, startRunner, type TestRunner } from "../support/runner.ts";

/** The seed's two forms. */
const WITHOUT_MAIN = `def handler(args):
    text = args.get("text", "")
    words = text.split()
    return {"count": len(words)}
`;
const WITH_MAIN = `import json, sys

${WITHOUT_MAIN.replace('    text = args.get("text", "")', '    work_dir = args.get("__workDir")\n    text = args.get("text", "")')}
if __name__ == "__main__":
    args = json.loads(sys.argv[1]) if len(sys.argv) > 1 else json.load(sys.stdin)
    print(json.dumps(handler(args)))
`;

/** A case: the script's name and text, its arguments, and what of the outcome must be so; `said`: what it printed. */
type Case = [string, string, JsonObject, Partial<HandlerOutcome> & { said?: unknown }];

const value = (result: HandlerOutcome["value"]) => ({ value: result, fault: null });
const error = (text: string) => ({ value: { error: text }, fault: "tool_error" }) as const;
const containing = (text: string) => expect.stringContaining(text);

const PYTHON: Case[] = [
  ["without_main.py", WITHOUT_MAIN, { text: "a b c" }, { ...value({ count: 3 }), said: "" }],
  ["with_main.py", WITH_MAIN, { text: "a b c" }, { ...value({ count: 3 }), said: "" }],
  [
    "print.py",
    'print("top")\ndef handler(a):\n    print("x")\n    return 1',
    {},
    { ...value(1), said: "top\nx\n" },
  ],
  [
    "child.py",
    'import os\ndef handler(a):\n    os.system("echo child")\n    return "r"',
    {},
    { ...value("r"), said: "child\n" },
  ],
  [
    "async.py",
    "import asyncio\nasync def handler(a):\n    await asyncio.sleep(0)\n    return [a['x']]",
    { x: 1 },
    value([1]),
  ],
  [
    "raise.py",
    'def handler(a):\n    raise ValueError("boom")',
    {},
    { ...error("boom"), said: containing("ValueError: boom") },
  ],
  [
    "cut.py",
    'def handler(a):\n    raise ValueError("w" * 19990 + " canary-secret")',
    {},
    { ...error("w".repeat(19_990)), said: containing("canary-secret") },
  ],
  ["silent.py", "def handler(a):\n    raise KeyboardInterrupt", {}, error("KeyboardInterrupt")],
  ["nan.py", 'def handler(a):\n    return {"x": float("nan")}', {}, error(containing("not JSON"))],
  ["set.py", "def handler(a):\n    return {1, 2}", {}, error(containing("set"))],
  ["cycle.py", "def handler(a):\n    a['a'] = a\n    return a", {}, error(containing("not JSON"))],
  [
    "snowflake.py",
    "def handler(a):\n    return {'id': 2 ** 63 - 1}",
    {},
    value({ id: "9223372036854775807" }),
  ],
  ["none.py", "def handler(a):\n    return None", {}, value(null)],
  ["text.py", 'def handler(a):\n    return "ü\\ud800"', {}, value("ü\ud800")],
  [
    "exit.py",
    "import sys\ndef handler(a):\n    sys.exit(3)",
    {},
    { ...error(containing("3")), exit_code: 3 },
  ],
  [
    "exit_text.py",
    'import sys\ndef handler(a):\n    sys.exit("no")',
    {},
    { ...error(containing("no")), said: "no\n" },
  ],
  [
    "hard_exit.py",
    "import os\ndef handler(a):\n    os._exit(4)",
    {},
    { ...error(containing("status 4")), exit_code: 4 },
  ],
  ["large.py", 'def handler(a):\n    return "x" * 6000000', {}, error(containing("bytes"))],
  ["class.py", "class handler:\n    def __new__(cls, a):\n        return a['x']", { x: 2 }, value(2)],
  ["if.py", "try:\n    if True:\n        handler = lambda a: 5\nexcept ImportError:\n    pass", {}, value(5)],
  ["import.py", "from helper_of_import import handler", { x: 3 }, value(3)],
  ["not_callable.py", "handler = 3", {}, error("handler is not a function (scripts/not_callable.py)")],
  ["syntax.py", "def handler(a):\n  return (", {}, error(containing("syntax.py, line 2"))],
  [
    "missing.py",
    "\nimport no_such_module\ndef handler(a): pass",
    {},
    error("No module named 'no_such_module' (scripts/missing.py, line 2)"),
  ],
  // A module next to the script comes before one of the standard library that the warm interpreter has.
  ["shadow.py", "import calendar\ndef handler(a):\n    return calendar.MINE", {}, value("own calendar")],
  [
    "plain.py",
    'print("hello")',
    {},
    { ...value("hello"), diagnostics: [expect.objectContaining({ code: "stdout_not_json" })] },
  ],
  [
    "plain_args.py",
    "import json, sys\nassert json.loads(sys.argv[1]) == json.load(sys.stdin)\nprint(json.dumps({'n': __name__, 'k': sorted(json.loads(sys.argv[1]))}))",
    { b: 1 },
    value({ n: "__main__", k: ["__workDir", "b"] }),
  ],
  [
    "plain_fail.py",
    "raise ValueError('boom')",
    {},
    { ...error(containing("ValueError: boom")), exit_code: 1 },
  ],
  ["in_guard.py", 'if __name__ == "__main__":\n    handler = 1\n    print(7)', {}, value(7)],
  // The server's state and what an earlier call did to its own are not there.
  [
    "state.py",
    "import builtins, __main__\ndef handler(a):\n    seen = getattr(builtins, 'mine', 0)\n    builtins.mine = 1\n    return [seen, hasattr(__main__, 'live')]",
    {},
    value([0, false]),
  ],
  ["state.py", "", {}, value([0, false])],
  ["long.py", "def handler(a):\n    return len(a['x'])", { x: "ü".repeat(100_000) }, value(100_000)],
  [
    "thread.py",
    "import threading, time\ndef handler(a):\n    threading.Thread(target=lambda: (time.sleep(0.1), print('late'))).start()\n    return 1",
    {},
    { ...value(1), said: "late\n" },
  ],
];

const OTHERS: Case[] = [
  ["echo.sh", "cat", { t: "ü✓\n\u2028" }, value(expect.objectContaining({ t: "ü✓\n\u2028" }))],
  [
    "argument.sh",
    'printf %s "$1"; echo note >&2',
    { t: 1 },
    { ...value(expect.objectContaining({ t: 1 })), said: "note\n" },
  ],
  [
    "long.sh",
    'echo "$# $(wc -c)"',
    { t: "x".repeat(200_000) },
    value(expect.stringMatching(/^0 200\d\d\d$/)),
  ],
  ["empty.sh", "true", {}, value(null)],
  ["fail.sh", 'echo "why not" >&2; exit 7', {}, { ...error(containing("status 7.\nwhy not")), exit_code: 7 }],
  ["killed.sh", "kill -9 $$", {}, error(containing("SIGKILL"))],
  ["own.tool", "#!/bin/sh\ncat", { t: 1 }, value(expect.objectContaining({ t: 1 }))],
  ["closed.rb", "puts 1", {}, error(containing("not executable"))],
  [
    "esm.js",
    "export default async function handler(args) { console.log('x'); return { n: args.t + 1 }; }",
    { t: 1 },
    { ...value({ n: 2 }), said: "x\n" },
  ],
  [
    "sync.mjs",
    "import { readFileSync } from 'node:fs';\nexport default (args) => readFileSync(0, 'utf8');",
    {},
    value(""),
  ],
  ["cjs.js", "module.exports = async () => 1;", {}, error(containing("scripts/cjs.js is a CommonJS module"))],
  ["cjs.cjs", "module.exports = async () => 1;", {}, error(containing("CommonJS"))],
  ["none.js", "export const x = 1;", {}, error("scripts/none.js has no default export.")],
  ["throws.js", "export default () => { throw 'text'; }", {}, error("text")],
  [
    "cut.js",
    "export default () => { throw new Error('w'.repeat(19990) + ' canary-secret'); }",
    {},
    { ...error("w".repeat(19_990)), said: containing("canary-secret") },
  ],
  ["bigint.js", "export default () => ({ n: 1n });", {}, error(containing("BigInt"))],
  ["nan.js", "export default () => ({ n: NaN });", {}, error(containing("NaN"))],
  ["undefined.js", "export default () => {};", {}, value(null)],
  [
    "syntax.js",
    "export default () => {\n  return (;\n}",
    {},
    error(containing("(scripts/syntax.js, line 2)")),
  ],
  ["bare.js", "import 'no-such-package';\nexport default () => 1;", {}, error(containing("no-such-package"))],
  ["never.js", "export default () => new Promise(() => {});", {}, error(containing("never settles"))],
  [
    "leaves.js",
    "export default () => process.exit(5);",
    {},
    { ...error(containing("status 5")), exit_code: 5 },
  ],
  [
    "terminated.js",
    "export default () => { process.kill(process.pid, 'SIGTERM'); return new Promise((done) => setTimeout(done, 60_000)); }",
    {},
    { ...error("SIGTERM stopped the handler before it returned."), exit_code: 143 },
  ],
  [
    "large.js",
    "export default () => 'x'.repeat(5 * 1024 * 1024);",
    {},
    error("The result has 5242894 bytes as JSON; at most 5242880 are taken."),
  ],
  [
    "late.js",
    "export default () => new Promise(() => { setTimeout(() => { throw new Error('later'); }, 1); });",
    {},
    error("later"),
  ],
  // As in an isolate: an artifact has an id that updates name, and what has no words does not end otherwise.
  [
    "artifact.js",
    "export default async (args, ctx) => { const { id } = await ctx.artifact({ title: 'T' }); return [typeof id, await ctx.artifact.update(id, {})].concat(await ctx.artifact({ id: 'mine' })); }",
    {},
    value(["string", { id: expect.any(String) }, { id: "mine" }]),
  ],
  [
    "artifact_as_text.js",
    "export default (args, ctx) => ctx.artifact('text');",
    {},
    error("An artifact is an object, such as { type, title, content }."),
  ],
  [
    "emit.js",
    "export default async (args, ctx) => { for (const it of [{ a: 1 }, 5n, Symbol('s')]) await ctx.emit(it); }",
    {},
    { ...value(null), said: '{"a":1}5Symbol(s)' },
  ],
  [
    "thrown_object.js",
    "export default () => { throw { code: 7, why: ['x'] }; }",
    {},
    error('{"code":7,"why":["x"]}'),
  ],
  [
    "thrown_cycle.js",
    "export default () => { const a = {}; a.a = a; throw a; }",
    {},
    error("a value that cannot be shown"),
  ],
  [
    "bare_object.js",
    "export default () => { throw Object.create(null); }",
    {},
    error("a value that cannot be shown"),
  ],
  [
    "to_json.js",
    "export default () => ({ toJSON() { throw 'why'; } });",
    {},
    error("The result is not JSON: why"),
  ],
  ["open.js", "export default () => { setInterval(() => {}, 1000); return 1; }", {}, value(1)],
];

let files: Bundle;
beforeAll(async () => {
  const scripts = [...PYTHON, ...OTHERS].filter(([, text]) => text !== "");
  files = await bundle({
    ...Object.fromEntries(scripts.map(([name, text]) => [`scripts/${name}`, text])),
    "scripts/helper_of_import.py": "def handler(a):\n    return a['x']\n",
    "scripts/calendar.py": "MINE = 'own calendar'\n",
    "scripts/exact.py": "def handler(a):\n    return str(a['id'])\n",
    "scripts/cmdline.py": "def handler(a):\n    return open('/proc/self/cmdline').read()\n",
    "scripts/environment.py": "import os\ndef handler(a):\n    return dict(os.environ)\n",
    "scripts/environment.js": "export default (args, ctx) => ({ ...process.env, ctx: ctx.env.GRANTED });",
    "scripts/environment.sh": "node -p 'JSON.stringify(process.env)'",
  });
});

describe.each([
  ["by fork servers", [], true],
  ["without spawners", ["--spawners", "0"], false],
] as const)("%s", (_, flags, forked) => {
  let runner: TestRunner;
  beforeAll(async () => {
    const env = { OPENAI_API_KEY: "canary-openai", LEAKED: "canary-leaked" };
    runner = await startRunner({ flags: [...flags], env });
  });
  afterAll(async () => {
    const { stateDir } = runner;
    await runner.stop();
    expect(processesWith(stateDir)).toEqual([]);
  });

  test.each(PYTHON)("H1 H2 H3 H5 %s", async (name, _text, args, expected) => {
    expect(await callScript(runner, files, `scripts/${name}`, args)).toMatchObject(expected);
  });

  // They do not depend on who starts Python.
  test.each(forked ? OTHERS : [])("L4 H6 %s", async (name, _text, args, expected) => {
    expect(await callScript(runner, files, `scripts/${name}`, args)).toMatchObject(expected);
  });

  test("Python gets numbers with all their digits", async () => {
    const raw = '{"id": 12345678901234567890}';
    const { value } = await callScript(runner, files, "scripts/exact.py", JSON.parse(raw), { raw });
    expect(value).toBe("12345678901234567890");
  });

  test("Python is started by a fork server or without, as configured", async () => {
    const { value } = await callScript(runner, files, "scripts/cmdline.py");
    expect(String(value).includes("hull-python")).toBe(forked);
  });

  test.each(["environment.py", "environment.js", "environment.sh"])(
    "H8 %s: only allowed tools",
    async (name) => {
      const env = { GRANTED: "g" };
      const config = { quality: "high" };
      const of = { sessionId: "s1", bot: "shop", models: { writer: "opus" } };
      const { value } = await callScript(runner, files, `scripts/${name}`, {}, { env, config, ...of });
      const allowed =
        /^(PATH|HOME|USER|LOGNAME|SHELL|PWD|OLDPWD|SHLVL|_|TMPDIR|TMP|TEMP|TERM|LANG|LANGUAGE|TZ|LC_\w+|GRANTED|ctx|HU(LL|SK)_OUTPUT_(FILE|DIR)|HULL_(INPUT_DIR|EXECUTION_ID|SKILL|SKILL_DIR|TOOL_CONFIG|TOOL_CONTEXT))$/;
      expect(Object.keys(value ?? {}).filter((key) => !allowed.test(key))).toEqual([]);
      expect(value).toMatchObject({
        GRANTED: "g",
        HULL_TOOL_CONFIG: JSON.stringify(config),
        HULL_SKILL: "tools",
        ...(name.endsWith(".js") ? { ctx: "g" } : {}),
      });
      const { HULL_TOOL_CONTEXT } = z.object({ HULL_TOOL_CONTEXT: z.string() }).parse(value);
      expect(JSON.parse(HULL_TOOL_CONTEXT)).toMatchObject({ callId: "call_1", ...of });
      expect(JSON.stringify(value)).not.toContain("canary");
    },
  );
});
