/** Commands and agents of Claude Code as skills: called over HTTP, by `/name` in a session, and changed while `hull dev` runs. */
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { json } from "../support/hull-dev.ts";
import { until } from "../support/runner.ts";
import { sharedHull, sharedProvider } from "../support/shared.ts";

const fake = await sharedProvider();
const hull = await sharedHull({
  env: { ANTHROPIC_API_KEY: "sk-ant-e2e-key", ANTHROPIC_BASE_URL: fake.url },
  ownRoots: true,
  project: {
    "hull.toml": "commands = true\nagents = true\n",
    ".claude-plugin/plugin.json": '{"name": "kit"}',
    ".claude/commands/greet.md": "Greet $ARGUMENTS.\n",
    "commands/fix.md":
      "---\ndescription: Fixes an issue\nargument-hint: <issue> <branch>\narguments: issue branch\nallowed-tools: Bash(echo:*)\n---\n" +
      "Fix $issue on $1, known as !`echo [$ARGUMENTS]`. Follow [the steps](steps/one.md).\n",
    "commands/steps/one.md": "First, look.\n",
    "agents/fix.md":
      "---\nname: fix\ndescription: |\n  Fixes. <example>user: Fix it</example>\ntools: Read, WebFetch\ncontext: fork\n---\nYou fix. Follow [the steps](../commands/steps/one.md).\n",
  },
  skills: { "plain/SKILL.md": "---\nname: plain\ndescription: Plain\n---\nPlain.\n" },
});

const sent = (): string => JSON.stringify(fake.requests.at(-1)?.body ?? {});
const slugs = async (): Promise<string[]> =>
  (await json<{ slug: string }[]>(await hull.call("/skills"))).map(({ slug }) => slug);

test("a call of a command fills its input in, and the model reads the files to which it links", async () => {
  expect(await slugs()).toEqual(["fix", "greet", "kit-agents--fix", "one", "plain"]);
  fake.script([
    ({ body }) => {
      const [, base = ""] = /Base directory for this skill: ([^\\"]+)/.exec(JSON.stringify(body)) ?? [];
      return { tool_calls: [{ name: "Read", arguments: { file_path: `${base}/steps/one.md` } }] };
    },
    { tool_calls: [{ name: "read_skill_resource", arguments: { skill: "fix", path: "steps/one.md" } }] },
    { text: "Fixed." },
  ]);
  const answer = await hull.call("/skills/fix", "42 main", { headers: { "content-type": "text/plain" } });
  expect([answer.status, await answer.text()]).toEqual([200, "Fixed."]);
  expect(sent()).toContain("Fix 42 on main, known as [42 main]. Follow");
  expect(sent().split("First, look.").length - 1).toBe(2);
  await (await hull.call("/skills/greet", "Ada")).text();
  expect(sent()).toContain("Greet Ada.");
});

test("a call of an agent runs its text, without the workspace tools that it does not name", async () => {
  const card = await json<Record<string, unknown>>(await hull.call("/skills/kit-agents--fix/card"));
  expect(card).toMatchObject({ name: "fix", agent: true, workspaceTools: true, namespace: "kit" });
  fake.script([
    ({ body }) => {
      const [, base = ""] = /Base directory for this skill: ([^\\"]+)/.exec(JSON.stringify(body)) ?? [];
      const file_path = `${base}/../commands/steps/one.md`;
      return { tool_calls: [{ name: "Read", arguments: { file_path } }] };
    },
    { text: "Fixed." },
  ]);
  const answer = await hull.call("/skills/kit-agents--fix", "Fix it");
  expect([answer.status, await answer.text()]).toEqual([200, "Fixed."]);
  expect(sent()).toContain("You fix. Follow");
  expect(sent()).toContain("First, look.");
  const { tools } = JSON.parse(sent());
  expect(tools.map(({ name }: { name: string }) => name)).toEqual(["Read", "read_skill_resource"]);
});

test("a person calls a command in a session by /name and by /plugin:name", async () => {
  const { id } = await json<{ id: string }>(await hull.post("/sessions", {}));
  for (const [prompt, filled] of [
    ["/fix 7 next", "Fix 7 on next, known as [7 next]."],
    ["/kit:fix 8 last", "Fix 8 on last, known as [8 last]."],
  ]) {
    fake.script([{ text: "Done." }]);
    const options = { provider: "anthropic", skills: ["fix", "greet"] };
    const run = await hull.post(`/sessions/${id}/runs`, { prompt, options });
    expect((await json<{ status: string }>(run)).status).toBe("done");
    expect(sent()).toContain(filled);
  }
});

test("watch mode serves a command that appears or changes, and no more one that is gone", async () => {
  const path = join(hull.root, "commands/late.md");
  const described = async (text: string): Promise<void> => {
    await writeFile(path, `# ${text}\n`);
    const card = async () => (await hull.call("/skills/late/card")).text();
    await until(card, (found) => found.includes(`"description":"${text}"`));
  };
  await described("Comes late");
  await described("Has changed");
  await rm(path);
  await until(slugs, (found) => !found.includes("late"));
});
