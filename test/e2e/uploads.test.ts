/** `hull upload` and `hull remove` against a real `hull dev --direct` with a real runner (S119). */
import { execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { ADMIN, CANARIES, commonHull } from "../support/common-hull.ts";
import { json, runHull } from "../support/hull-dev.ts";

const SKILL =
  "---\nname: Bounce\ndescription: Echoes.\nrun: ./run.sh\ntool_env: [TOKEN, HIDDEN]\n---\nEchoes.\n";
const SCRIPT = '#!/bin/sh\nprintf "%s/%s/" "$TOKEN" "$HIDDEN"; cat; cat data/note.txt\n';

const { hull } = await commonHull(
  { "hi/SKILL.md": "---\nname: Hi\ndescription: Says hi.\nmode: llm\nprovider: mock\n---\nSay hi.\n" },
  "keyed",
);
write({ "SKILL.md": SKILL, "run.sh": SCRIPT, "data/note.txt": "!", ".env": "SECRET=1" });

function write(files: Record<string, string>): void {
  for (const [path, text] of Object.entries(files)) {
    const target = join(hull.root, "bounce", path);
    mkdirSync(dirname(target), { recursive: true });
    writeFileSync(target, text);
    if (text.startsWith("#!")) chmodSync(target, 0o755);
  }
}

const command = (args: string[], key: string) =>
  runHull([...args, "--url", hull.url], {
    cwd: hull.root,
    env: { HULL_API_KEY: key, NO_COLOR: "1" },
    ...(args[0] === "remove" ? { process: true } : {}),
  });
const run = (key: string) =>
  hull.call("/skills/bounce", "ball", { headers: { authorization: `Bearer ${key}` } });
async function keyOf(tenant: string): Promise<string> {
  const made = await command(["keys", "add", "--tenant", tenant, "--scopes", "invoke,publish"], ADMIN);
  return /^hull_\S+$/m.exec(made.output)?.[0] ?? "";
}

test("a script is uploaded, runs with its grants, gets a new version, and is removed", async () => {
  const [acme, other] = [await keyOf("acme"), await keyOf("other")];
  const uploaded = await command(["upload", "bounce"], acme);
  expect(uploaded.output).toMatch(
    /bounce\/SKILL\.md:5:1: warning: tool_env: Nobody granted this skill the variable HIDDEN/,
  );
  expect(uploaded.output).toContain('in HULL_GRANTS, e.g. {"bounce":["HIDDEN"]}.\n');
  expect(uploaded.output).toMatch(
    new RegExp(`Uploaded bounce as [0-9a-f]{12}: POST ${hull.url}/skills/bounce\n$`),
  );
  expect(uploaded.output).not.toContain("TOKEN is not");
  expect(uploaded.code).toBe(0);
  expect(await (await run(acme)).text()).toBe("granted-7//ball!");
  expect([(await run(other)).status, (await run(ADMIN)).status]).toEqual([404, 404]);
  expect(await command(["upload", "bounce"], other)).toMatchObject({
    code: 1,
    output: expect.stringContaining("[slug_taken]"),
  });
  expect(await command(["remove", "bounce"], other)).toMatchObject({ code: 3 });

  // A finding names the file as the caller sees it, also in a folder of several skills.
  write({
    "../own/skills/wants/SKILL.md":
      "---\nname: wants\ndescription: Wants. Use when asked.\nallowed-tools: Bash\n---\nRun.\n",
  });
  const wants = await command(["upload", "own/skills/wants"], acme);
  expect(wants.output).toMatch(
    /^own\/skills\/wants\/SKILL\.md\S*: warning: .*\[workspace_tools_not_granted\]\n.*e\.g\. \{"wants":\["workspace_tools"\]\}\.\n/m,
  );
  expect(await command(["remove", "wants"], acme)).toMatchObject({ code: 0 });
  write({ "../.claude/commands/tell.md": "---\nallowed-tools: Bash\n---\nTell.\n" });
  const tell = await command(["upload", ".claude/commands/tell.md"], acme);
  expect(tell.output).toMatch(
    /^\.claude\/commands\/tell\.md:2:1: warning: .*\[workspace_tools_not_granted\]$/m,
  );
  expect(await command(["remove", "tell"], acme)).toMatchObject({ code: 0 });

  // A zip of the whole folder, as a person would make it and curl send it.
  execFileSync("zip", ["-qr", "../bounce.zip", "."], { cwd: join(hull.root, "bounce") });
  const again = await hull.call("/_hull/skills/bounce", undefined, {
    method: "PUT",
    headers: { authorization: `Bearer ${acme}` },
    body: readFileSync(join(hull.root, "bounce.zip")),
  });
  const before = await json(again);
  expect([again.status, before.updated_at]).toEqual([200, before.created_at]);
  write({ "data/note.txt": "?" });
  const printed = JSON.parse((await command(["upload", "bounce", "--json"], acme)).output);
  expect(printed).toMatchObject({ slug: "bounce", warnings: [{ level: "warning", field: "tool_env" }] });
  expect(await (await run(acme)).text()).toBe("granted-7//ball?");

  expect(await command(["remove", "bounce"], acme)).toMatchObject({ code: 0, output: "Removed bounce.\n" });
  expect((await run(acme)).status).toBe(404);
  expect(await command(["remove", "bounce"], acme)).toMatchObject({ code: 3 });
  expect(hull.output()).not.toContain(CANARIES.HIDDEN);
});

test("files that cannot be uploaded are reported with the reason", async () => {
  const key = await keyOf("acme");
  for (const [program, message] of [
    ["/bin/cat", "has an absolute path"],
    ["./none.sh", "no file none.sh"],
  ]) {
    write({ "SKILL.md": SKILL.replace("./run.sh", program ?? "") });
    const { code, output } = await command(["upload", "bounce"], key);
    expect([code, output]).toEqual([
      1,
      expect.stringMatching(/bounce\/SKILL\.md:4:\d: error: run: .*Nothing was/s),
    ]);
    expect(output).toContain(message);
    const [first = ""] = (await command(["upload", "bounce", "--json"], key)).output.split("\n");
    expect(JSON.parse(first)).toMatchObject({ diagnostics: [{ level: "error", file: "SKILL.md" }] });
  }
  write({ "SKILL.md": SKILL });
  expect(await command(["upload", "."], key)).toMatchObject({ code: 3 });
  expect(await command(["upload", "nowhere"], key)).toMatchObject({ code: 3 });
  expect(await command(["upload", "bounce"], "wrong-key-0123456789")).toMatchObject({ code: 5 });
  expect((await runHull(["upload", "bounce"], { cwd: hull.root })).code).toBe(2);
});
