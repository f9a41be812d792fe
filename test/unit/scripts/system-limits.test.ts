/** Commands where the system gives less than they ask for: no more bytes, few open files, pipes in place of files. */
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { type Ended, hullHere } from "../../support/hull-here.ts";
import { folder, skillText } from "./folder.ts";

const BUILD = new URL("../../../scripts/build/", import.meta.url).href;
const BIN = fileURLToPath(new URL("../../../bin/hull.mjs", import.meta.url));

/** A command in a shell that limits it; it ends after two minutes, whatever it waits for. */
function limited(limit: string, args: string[], cwd: string): Ended {
  const { status, stdout, stderr } = spawnSync(
    "sh",
    ["-c", `${limit}; exec "$0" "$@"`, process.execPath, BIN, ...args],
    { cwd, encoding: "utf8", timeout: 120_000, killSignal: "SIGKILL" },
  );
  return { code: status ?? -1, out: stdout, err: stderr };
}

test.skipIf(process.platform === "win32").each([
  [["new", "b"], "skills/b/SKILL.md"],
  [["init", "sub"], "sub/package.json"],
  [["pack", "skills/a"], "a.skill"],
  [["sign", "skills/a", "--key", "key.pem"], "skills/a/SKILL.sig"],
  [["sign", "--new-key", "new.pem"], "new.pem"],
])("hull %j leaves no part of a file where the system takes no more bytes", async (args, file) => {
  const project = folder({ "skills/a/SKILL.md": skillText("A") });
  await hullHere(["sign", "--new-key", "key.pem"], project);
  const { code, err } = limited("ulimit -f 0", args, project);
  expect([code, err]).toEqual([1, expect.stringContaining(file)]);
  expect(err).toContain("larger than the system allows");
  expect(existsSync(join(project, file))).toBe(false);
  expect(await hullHere(args, project)).toMatchObject({ code: 0 });
});

test.skipIf(process.platform === "win32")("a pipe in the place of a file blocks no command", async () => {
  const project = folder({
    "skills/a/SKILL.md": skillText("A"),
    "skills/b/x": "",
    "skills/.claude-plugin/x": "",
  });
  const pipes = ["a/.hullignore", "a/hull.toml", "b/SKILL.md", ".hullignore", ".claude-plugin/plugin.json"];
  for (const path of pipes) spawnSync("mkfifo", [join(project, "skills", path)]);
  for (const command of [["validate"], ["build", "--keep-going"]]) {
    const { code, err } = limited("true", command, project);
    expect([command, code]).toEqual([command, 1]);
    expect(err).toContain("skills/b/SKILL.md: warning: SKILL.md is not a regular file");
  }
});

test.skipIf(process.platform === "win32")(
  "a build of many skills in plugins opens few files at once",
  async () => {
    const files: Record<string, string> = {};
    for (const plugin of ["one", "two"]) {
      files[`skills/${plugin}/.claude-plugin/plugin.json`] = JSON.stringify({ name: plugin });
      for (let i = 0; i < 200; i++) files[`skills/${plugin}/skills/s${i}/SKILL.md`] = skillText(`S${i}`);
    }
    const { code, out } = limited("ulimit -n 100", ["build"], folder(files));
    expect([code, out]).toEqual([0, expect.stringContaining("Built 400 skills")]);
  },
);

test.skipIf(process.platform === "win32")("where no more files open, no folder counts as empty", () => {
  const project = folder({ "skills/a/SKILL.md": skillText("A") });
  const script = `
    import { openSync } from "node:fs";
    const { findSkills, inspectRoot } = await import(process.argv[1] + "scan.ts");
    const { listFiles } = await import(process.argv[1] + "list-files.ts");
    process.stdout.write("");
    const context = inspectRoot(process.argv[2], process.argv[2]);
    const [skill] = findSkills(context).skills;
    try {
      for (;;) openSync("/dev/null");
    } catch {}
    try {
      process.stdout.write(JSON.stringify(listFiles(skill, context)));
    } catch ({ code }) {
      process.stdout.write(code);
    }`;
  const command = 'ulimit -n 64; exec "$0" --input-type=module -e "$@"';
  const { stdout } = spawnSync("sh", ["-c", command, process.execPath, script, BUILD, project], {
    encoding: "utf8",
  });
  expect(stdout).toBe("EMFILE");
});
