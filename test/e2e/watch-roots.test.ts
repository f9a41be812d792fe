/** Watch mode over two roots, and what `hull dev` takes from its flags. */
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { json, runHull } from "../support/hull-dev.ts";
import { until } from "../support/runner.ts";
import { sharedHull } from "../support/shared.ts";

const says = (name: string, word: string): string =>
  `---\nname: ${name}\ndescription: Says a word.\nrun: [sh, -c, "echo ${word}"]\n---\nSays it.\n`;
const broken = (name: string): string => says(name, "x").replace("run:", "mode: lmm\nrun:");

const hull = await sharedHull({
  args: [
    "over",
    "--direct",
    "--skills",
    "over",
    "--name",
    "Two roots",
    "--cors",
    "https://a.example,https://b.example",
    "--cors",
    "https://c.example",
  ],
  skills: {
    "both/SKILL.md": says("Both", "base"),
    "base/SKILL.md": says("Base", "base"),
    "timed/SKILL.md": "---\nname: Timed\ndescription: d\nrun: [./time.sh]\n---\nTimes itself.\n",
    "timed/time.sh": "#!/bin/sh\ndate +%s%N\nsleep 0.4\ndate +%s%N\n",
  },
  project: {
    "over/both/SKILL.md": says("Both", "over"),
    "over/only/SKILL.md": says("Only", "over"),
    "hull.toml": 'cors_origins = ["https://z.example"]\n[runner]\nconcurrency = 2\n',
  },
});

test("hull dev names the hull.toml above the folder that it gets", () => {
  expect(hull.output()).toMatch(/\nSettings and \.env are those of \S+, which has a hull\.toml\.\nWatching /);
});

const said = async (slug: string): Promise<string> => {
  const response = await hull.call(`/skills/${slug}`, "");
  return `${response.status} ${(await response.text()).trim()}`;
};
const becomes = (slug: string, expected: RegExp): Promise<string> =>
  until(
    () => said(slug),
    (text) => expected.test(text),
  );
const stale = async (slug: string): Promise<unknown> =>
  (await json(await hull.call(`/skills/${slug}/card`))).stale;

test("--name and --cors; an invalid origin is refused", async () => {
  expect(await (await hull.call("/", undefined, { headers: { accept: "text/html" } })).text()).toContain(
    "Two roots",
  );
  const allowed = async (origin: string) =>
    (await hull.call("/skills", undefined, { headers: { origin } })).headers.get(
      "access-control-allow-origin",
    );
  for (const name of ["a", "b", "c"])
    expect(await allowed(`https://${name}.example`)).toBe(`https://${name}.example`);
  expect(await allowed("https://z.example")).toBe(null);
  const bad = await runHull(["dev", "--cors", "https://a.example/x"], { cwd: hull.root });
  expect(bad).toMatchObject({ code: 2, output: expect.stringContaining("--cors: must be origins like") });
});

test("a later root replaces a skill of an earlier one, and both are served", async () => {
  expect([await said("both"), await said("base"), await said("only")]).toEqual([
    "200 over",
    "200 base",
    "200 over",
  ]);
  await hull.write("both/SKILL.md", says("Both", "hidden"));
  await hull.write("base/SKILL.md", says("Base", "edited"));
  expect(await becomes("base", /edited/)).toBe("200 edited");
  expect(await said("both")).toBe("200 over");
});

test("S10: broken in the later root, its last good version stays, not the earlier root's", async () => {
  const at = hull.output().length;
  await hull.write("../over/both/SKILL.md", broken("Both"));
  expect(await hull.printed(/last good version kept of both/, at)).toMatch(/over\/both\/SKILL\.md:4:/);
  expect([await said("both"), await stale("both")]).toEqual(["200 over", true]);
  await hull.write("../over/both/SKILL.md", says("Both", "mended"));
  expect(await becomes("both", /mended/)).toBe("200 mended");
  expect(await stale("both")).toBe(undefined);
});

test("when its folder is removed, the earlier root's skill is served; when it returns, the later one's", async () => {
  await hull.remove("../over/both");
  expect(await becomes("both", /hidden/)).toBe("200 hidden");
  await hull.write("../over/both/SKILL.md", says("Both", "again"));
  expect(await becomes("both", /again/)).toBe("200 again");
});

test("S11: ignored files of either root rebuild nothing, a skill's own file that skill only", async () => {
  const versions = async () =>
    Object.fromEntries(
      (await json<{ slug: string; version: string }[]>(await hull.call("/skills"))).map((c) => [
        c.slug,
        c.version,
      ]),
    );
  // A change is served before it is printed: once this one is, none of an earlier test is still to come.
  const earlier = hull.output().length;
  await hull.write("base/SKILL.md", says("Base", "edited again"));
  await hull.printed(/Reloaded: .*changed base/, earlier);
  const before = await versions();
  const at = hull.output().length;
  await hull.write("base/__pycache__/a.pyc", "1");
  await hull.write("../over/only/.env", "A=1");
  await hull.write("../over/only/state.json", "{}");
  const printed = await hull.printed(/Reloaded.*\n/, at);
  expect(printed.match(/Reloaded.*/g)).toEqual(["Reloaded: 4 skills; changed only"]);
  const after = await versions();
  expect(Object.keys(after).filter((slug) => after[slug] !== before[slug])).toEqual(["only"]);
});

test("S12: a folder that is added to the later root, and an edit inside it", async () => {
  await hull.write(
    "../over/late/SKILL.md",
    "---\nname: Late\ndescription: d\nrun: [./late.sh]\n---\nLate.\n",
  );
  await hull.write("../over/late/late.sh", "#!/bin/sh\necho first\n");
  expect(await becomes("late", /first/)).toBe("200 first");
  await hull.write("../over/late/late.sh", "#!/bin/sh\necho second\n");
  expect(await becomes("late", /second/)).toBe("200 second");
});

test("S13: reloads from both roots at the cap: never more than the cap runs", async () => {
  const calls = Array.from({ length: 4 }, () => said("timed"));
  await sleep(150);
  const at = hull.output().length;
  await hull.write("base/SKILL.md", says("Base", "reloaded"));
  await hull.write("../over/only/SKILL.md", says("Only", "reloaded"));
  await hull.printed(/Reloaded/, at);
  calls.push(...Array.from({ length: 4 }, () => said("timed")));
  const runs = (await Promise.all(calls)).map((answer) => answer.split(/\s/).slice(1).map(Number));
  // The most that run at once do so when one of them begins.
  const atOnce = runs.map(([begun = 0]) => runs.filter(([b = 0, e = 0]) => b <= begun && begun < e).length);
  expect(atOnce).toHaveLength(8);
  expect(Math.max(...atOnce)).toBe(2);
});
