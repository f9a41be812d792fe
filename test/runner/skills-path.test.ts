/** The folder of skills as executions see it at /skills. */
import { expect, test } from "vitest";
import { canMount } from "../support/namespaces.ts";
import { type Bundle, bundle, run, startRunner } from "../support/runner.ts";

const root = process.getuid?.() === 0;
const BASH = { language: "bash", config: "{}", context: "{}", network: null } as const;
test
  .runIf(canMount())
  .each([
    ["the runner's own uid", []],
    ...(root ? [["a uid of their own", ["--child-uid", "65123"]] satisfies [string, string[]]] : []),
  ])(
  "with %s: each sees the skills of its run at /skills, at the same time, and cannot change them",
  async (_, flags) => {
    const runner = await startRunner({ flags: [...flags, "--concurrency", "2"] });
    const said = async (key: string, from: Bundle, command: string, shown = true): Promise<string> => {
      const handler = { ...BASH, ...(shown ? { skills_path: true as const } : {}) };
      const skills = { key, list: [{ name: "pdf", digest: from.digest }] };
      const { stdout } = await run(
        runner,
        from,
        { argv: ["bash"], handler, skills },
        { stdin: Buffer.from(command) },
      );
      return stdout.toString();
    };
    try {
      const [red, blue] = await Promise.all(
        ["red", "blue"].map((word) =>
          bundle({ "scripts/x.py": `print("${word}")\n`, "run.sh": "#!/bin/sh\n" }),
        ),
      );
      if (red === undefined || blue === undefined) throw new Error("no bundles");
      const command =
        'here=$PWD; python3 -S -E /skills/pdf/scripts/x.py; sleep 0.3; (cd /skills/pdf && ls -d scripts; cd / && python3 -S -E skills/pdf/scripts/x.py); touch /skills/pdf/new 2>&1 || echo kept; cd "$here" && echo a >f && cat f && ls /proc/self/fd >/dev/null && echo b >/dev/null && pwd -P | grep -c hull';
      const texts = await Promise.all([
        said("0".repeat(16), red, command),
        said("1".repeat(16), blue, command),
      ]);
      for (const [index, word] of ["red", "blue"].entries()) {
        const text = texts[index] ?? "";
        expect(text.split("\n").filter((line) => line === word)).toHaveLength(2);
        expect(text).toMatch(/scripts\n(?:.*\n)*.*\nkept\na\n1\n$/);
      }
      expect(await said("0".repeat(16), red, "ls /skills 2>&1 || echo none", false)).toMatch(/none\n$/);
      expect(runner.log()).not.toContain("skills_path_not_shown");
    } finally {
      await runner.stop();
    }
  },
);

test.runIf(root).each([
  ["the runner's own uid", { uid: 65123 }, ""],
  ["a uid of their own", { flags: ["--child-uid", "65123"] }, "kept\n"],
])("with %s: what a command copies from a skill is its own to change", async (_, settings, original) => {
  const runner = await startRunner(settings);
  try {
    const from = await bundle({ "scripts/x.py": 'print("red")\n', "run.sh": "#!/bin/sh\n" });
    const skills = { key: "0".repeat(16), list: [{ name: "pdf", digest: from.digest }] };
    const skill = `${runner.stateDir}/skills/${skills.key}/pdf`;
    const command = `cp -r ${skill} pdf && cp ${skill}/run.sh . && echo more | tee -a pdf/scripts/x.py run.sh && touch pdf/scripts/new && ls pdf/scripts; [ -w ${skill}/scripts/x.py ] || echo kept`;
    const fields = { argv: ["bash"], handler: BASH, skills };
    const { stdout } = await run(runner, from, fields, { stdin: Buffer.from(command) });
    expect(stdout.toString()).toBe(`more\nnew\nx.py\n${original}`);
  } finally {
    await runner.stop();
  }
});

test("what Python compiles in a skill's folder stays; what a process changed there is gone in the next run", async () => {
  const runner = await startRunner();
  try {
    const from = await bundle({ "x.py": 'print("red")\n' });
    const skills = { key: "0".repeat(16), list: [{ name: "pdf", digest: from.digest }] };
    const said = async (request_id: string, command: string): Promise<string> => {
      const stdin = Buffer.from(`cd ${runner.stateDir}/skills/${skills.key}/pdf; ${command}`);
      const fields = { argv: ["bash"], handler: BASH, skills, request_id };
      return (await run(runner, from, fields, { stdin })).stdout.toString();
    };
    const compiled = "python3 -c 'import x'; ls -d __pycache__; stat -c %i .";
    const first = await said("one", compiled);
    expect(first).toMatch(/^red\n__pycache__\n\d+\n$/);
    expect(await said("two", compiled)).toBe(first);
    expect(await said("three", "echo 'print(1)' > x.py; touch new; ls")).toBe("__pycache__\nnew\nx.py\n");
    expect(await said("four", "ls; cat x.py")).toBe('x.py\nprint("red")\n');
  } finally {
    await runner.stop();
  }
});
