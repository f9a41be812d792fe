/** Several folders of skills in hull.toml, of which not all are there, and a runner, which is not there either. */
import { expect, test } from "vitest";
import { json, runHull } from "../support/hull-dev.ts";
import { until } from "../support/runner.ts";
import { sharedHull } from "../support/shared.ts";

const plain = (name: string, word: string): string =>
  `---\nname: ${name}\ndescription: ${word}. Use when asked.\nversion: 1.0\n---\nSays ${word}.\n`;

const hull = await sharedHull({
  args: ["--direct"],
  ownRoots: true,
  skills: { "both/SKILL.md": plain("both", "base"), "both/base.md": "b" },
  project: {
    "hull.toml":
      'skills = ["skills", ".claude/skills", ".agents/skills"]\n[runner]\nurl = "http://127.0.0.1:2"\n',
    ".agents/skills/group/deep/SKILL.md": plain("deep", "agents"),
  },
  env: { HULL_RUNNER_SECRET: "s".repeat(32) },
});

const described = async (): Promise<string> => {
  const cards: { slug: string; description: string }[] = await json(await hull.call("/skills"));
  return cards.map(({ slug, description }) => `${slug}: ${description.split(".")[0]}`).join(", ");
};

test("Agent Skills of each folder are served, and of one that comes later", async () => {
  expect(await described()).toBe("both: base, deep: agents");
  await hull.write("../.claude/skills/both/SKILL.md", plain("both", "claude"));
  await until(described, (text) => text === "both: claude, deep: agents");
});

test("the runner that does not answer is told of, and the server starts", async () => {
  await hull.printed(/warning: the runner http:\/\/127\.0\.0\.1:2 .*nothing listens there.* runner\.url/);
  expect((await hull.call("/skills")).status).toBe(200);
  const { code, output } = await runHull(["doctor", "--port", "0"], { cwd: hull.root });
  expect([code, output]).toEqual([
    1,
    expect.stringMatching(/✘ runner .*127\.0\.0\.1:2 .*\n +fix: .*runner\.url/),
  ]);
  expect(output.match(/✘/g)).toHaveLength(1);
});
