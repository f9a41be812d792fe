/** What hull dev prints of builds, at the start and after changes. */

import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { buildRoots } from "../../../scripts/build/build.ts";
import {
  BuildReport,
  certificateLine,
  oneLine,
  reportsProblem,
  skillLines,
} from "../../../scripts/dev/report.ts";
import { folder, put } from "./folder.ts";

const text = (name: string, description = "d") =>
  `---\nname: ${name}\ndescription: ${description}\n---\nBody.\n`;

test("a line for each skill within the width, at most 30 and a count", async () => {
  const names = Array.from({ length: 41 }, (_, i) => `skill-${String(i).padStart(2, "0")}`);
  const files = names.map((name) => [
    `skills/${name}/SKILL.md`,
    text(name, `>\n  ${"long ".repeat(60)}\n\n  and more`),
  ]);
  const dir = folder(Object.fromEntries(files));
  const { skills } = await buildRoots([join(dir, "skills")], { projectDir: dir });
  const lines = skillLines(skills, "GET /skills", 60);
  expect(lines).toHaveLength(31);
  expect(lines.every((line) => line.length <= 60 && !line.includes("\n"))).toBe(true);
  expect(lines.at(-1)).toBe("  … and 11 more: GET /skills");
  expect(oneLine("a\n b", undefined)).toBe("a b");
});

test("a reload prints what changed, and findings that are new", async () => {
  const dir = folder({ "skills/a/SKILL.md": text("a"), "skills/b/SKILL.md": text("other-name") });
  const printed = { out: "", err: "" };
  const keep = (to: "out" | "err") => (chunk: string | Uint8Array) => {
    printed[to] += String(chunk);
    return true;
  };
  const spies = [
    vi.spyOn(process.stdout, "write").mockImplementation(keep("out")),
    vi.spyOn(process.stderr, "write").mockImplementation(keep("err")),
  ];
  onTestFinished(() => {
    for (const spy of spies) spy.mockRestore();
  });
  const report = new BuildReport();
  const tell = async (first: boolean) => {
    printed.out = printed.err = "";
    report.print(await buildRoots([join(dir, "skills")], { projectDir: dir, keepGoing: true }), first);
    return { ...printed };
  };
  expect(await tell(true)).toMatchObject({
    out: "",
    err: expect.stringContaining("name_directory_mismatch"),
  });
  put(dir, "skills/a/SKILL.md", text("a", "changed"));
  put(dir, "skills/c/SKILL.md", text("c"));
  expect(await tell(false)).toEqual({ out: "Reloaded: 3 skills; added c; changed a\n", err: "" });
  put(dir, "skills/b/SKILL.md", text("b"));
  put(dir, "skills/c/SKILL.md", "no");
  const last = await tell(false);
  expect(last.out).toBe("Reloaded: 2 skills; added b; removed c, other-name; 1 finding gone\n");
  expect(last.err).toContain("frontmatter_missing");
});

test("the worst of many findings come first, and the rest is counted", async () => {
  const names = Array.from({ length: 40 }, (_, i) => `s${i}`);
  const dir = folder(Object.fromEntries(names.map((name) => [`skills/${name}/SKILL.md`, text(`${name}-x`)])));
  put(dir, "skills/z/SKILL.md", "no");
  let err = "";
  const spy = vi.spyOn(process.stderr, "write").mockImplementation((chunk) => {
    err += String(chunk);
    return true;
  });
  onTestFinished(() => spy.mockRestore());
  new BuildReport().print(
    await buildRoots([join(dir, "skills")], { projectDir: dir, keepGoing: true }),
    true,
  );
  expect(err).toMatch(/^\S*z\/SKILL\.md:1:1: error: /);
  expect(err).toContain("… and 11 more findings: hull validate prints all of them.");
});

test("the events of log lines that report a problem", () => {
  const problems = [
    "run_broke_off",
    "model_attempt_failed",
    "mcp_failure",
    "output_lost",
    "event_not_stored",
    "settings",
  ];
  expect(problems.filter((event) => !reportsProblem(event))).toEqual([]);
  expect(["request", "run", "run_attempt", "daemon_wake", "daemons_swept", 7].filter(reportsProblem)).toEqual(
    [],
  );
});

test("a certificate that workerd does not trust is told of, with a remedy", () => {
  const said =
    "e = rust/worker/ffi.rs:110: failed: TLS handshake failed: invalid peer certificate: UnknownIssuer";
  expect(certificateLine(said)).toMatch(/does not trust \(UnknownIssuer\)\..* NODE_EXTRA_CA_CERTS/);
  expect(certificateLine("stack: /opt/workerd@26b6840")).toBeNull();
});
