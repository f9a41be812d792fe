/** Skills that messages name, placeholders in their text, and their files. */
import { describe, expect, test } from "vitest";
import { commandsOf, instructions, withPositions } from "../../../../src/engine/agent/skill-text.ts";
import { workspaceTools } from "../../../../src/engine/workspace-tools/definitions.ts";
import { objectOf } from "../../../../src/skill/json.ts";
import { goOn, offered, play, received, SPEC, says, skill, tool, toolTexts, userTexts } from "./harness.ts";

describe("messages that begin with a skill's name", () => {
  const skills = [
    skill("my-skill", {
      prompt: "Do $ARGUMENTS; first $0; in ${HULL_SESSION_ID}, ${CLAUDE_SESSION_ID}.",
      on_activate: "on",
    }),
    skill("hidden", { disable_model_invocation: true }),
    skill("closed", { user_invocable: false }),
    skill("käse".normalize("NFD"), {}),
  ];
  const sent = async (text: string) => {
    const played = await play({ spec: { skills, prompt: says(text) }, replies: ["ok"] });
    const [request = expect.fail()] = played.requests;
    return { played, texts: userTexts(request), system: request.system };
  };

  test.each([
    ["/my-skill do it", ["do it"], "Do do it; first do; in s1, s1."],
    ["$my-skill\nmany\nlines", ["many\nlines"], "Do many\nlines; first many;"],
    ["/my-skill", ["Follow the instructions of the skill my-skill."], "Do ; first $0;"],
    ["/hidden go", ["go"], "BODY OF hidden"],
    ["/Käse go", ["go"], "BODY OF k"],
    ["/closed go", ["/closed go"], null],
    ["/nobody go", ["/nobody go"], null],
    ["$5 each", ["$5 each"], null],
    ["see /my-skill", ["see /my-skill"], null],
  ])("%j", async (text, texts, body) => {
    const { system, ...found } = await sent(text);
    expect(found.texts).toEqual(texts);
    const active = /## Active skill: (.*)/.exec(system)?.[1];
    if (body === null) expect(found.played.run.loaded).toEqual([]);
    else expect([active, system]).toEqual([found.played.run.loaded[0], expect.stringContaining(body)]);
  });

  test("are loaded even if no skill is matched", async () => {
    const skill_match = { strategy: "none", top_n: 1, sticky: true };
    const { records, run } = await play({
      spec: { skills, prompt: says("/my-skill do it"), skill_match },
      replies: ["ok"],
    });
    expect(run.loaded).toEqual(["my-skill"]);
    expect(records.filter(({ type }) => type === "skills_matched")).toEqual([]);
  });

  test("its activation hook is called once; a later run of the session still has the instructions", async () => {
    const { played } = await sent("/my-skill do it");
    expect(played.hooks.map(({ hook }) => hook)).toEqual(["on"]);
    const state = goOn(played, { run_id: "run_2", skills, prompt: says("more") });
    const second = await play({ state, replies: ["ok"] });
    expect(second.requests[0]?.system).toContain("Do do it; first do;");
    expect(second.hooks).toEqual([]);
  });

  test("a message while the run continues may name a skill too", async () => {
    const { requests } = await play({
      spec: { skills, tools: [tool("t")] },
      replies: [{ calls: [["t", {}]] }, "ok"],
      incoming: { 1: [received("/my-skill now")] },
    });
    expect(userTexts(requests[1] ?? expect.fail())).toEqual(["go", "now"]);
    expect(requests[1]?.system).toContain("Do now; first now;");
  });
});

test("placeholders in a body: arguments, the folder, the session; a second $ or a backslash keeps one as text; prices stay", () => {
  const prompt =
    "$ARGUMENTS|$1|$$1|\\$1|\\$ARGUMENTS|$$x$$|${HARN_SKILL_DIR}/a|${HULL_OTHER}|$${HULL_SKILL_DIR}";
  const shown = (given: string) =>
    instructions(skill("s", { prompt, files: { paths: [], count: 0 } }), {
      session_id: null,
      arguments: given,
    });
  expect(shown("a b")).toBe("a b|b|$1|$1|$ARGUMENTS|$$x$$|skill://s/a|${HULL_OTHER}|${HULL_SKILL_DIR}");
  expect(shown("")).toBe("|$1|$1|\\$1|$ARGUMENTS|$$x$$|skill://s/a|${HULL_OTHER}|${HULL_SKILL_DIR}");
  const prices = "$2M of $500K, $5.00 or $1,000 for $30; $$2x$$, $0.5";
  const priced = instructions(skill("s", { prompt: `${prices}; $1, $2. $0-$1.` }), {
    session_id: null,
    arguments: "a b",
  });
  expect(priced).toBe(`${prices}; b, $2. a-b.`);
});

test.each([
  "${CLAUDE_SKILL_DIR}",
  "$HULL_SKILL_DIR",
  "$SKILL_DIR",
  "{baseDir}",
  "{skill_dir}",
  "{{skill_dir}}",
  "{{ baseDir }}",
  "<path-to-skill>",
  "~/.claude/skills/s",
  "$HOME/.claude/skills/collection/s",
])("%s in a body is the skill's folder", (spelling) => {
  const own = skill("s", { prompt: `Run ${spelling}/a.py.`, dir: "/skills/k/s" });
  expect(instructions(own, { session_id: null, arguments: "", skills: [own] })).toBe("Run /skills/k/s/a.py.");
});

test("a file in another client's folder is one of the skill, unless the path means no skill of the run", () => {
  const own = skill("s", { dir: "/skills/k/s", prompt: "" });
  const shown = (path: string) =>
    instructions(
      { ...own, prompt: `~/.claude/skills/${path}` },
      { session_id: null, arguments: "", skills: [own] },
    );
  expect(["s/scripts/a.py", "s/README.md", "s", "c/s/bin/a", "c/other/s", "c/s.md"].map(shown)).toEqual([
    "/skills/k/s/scripts/a.py",
    "/skills/k/s/README.md",
    "/skills/k/s",
    "/skills/k/s/bin/a",
    "~/.claude/skills/c/other/s",
    "~/.claude/skills/c/s.md",
  ]);
});

test("a command that did not run is filled in like the text around it, and an output stays as it is", () => {
  const prompt = "$0: !`cat {baseDir}/$0`, !`echo $0`\n```!\necho $0\n```\n~~~md\n!`echo $0`\n~~~";
  const shown = (outputs: { [command: string]: string }, later?: true) =>
    instructions(skill("s", { prompt, dir: "/k/s" }), {
      session_id: null,
      arguments: "a",
      outputs,
      ...(later === undefined ? {} : { later }),
    });
  expect(shown({ "echo $0": "$0" })).toBe("a: !`cat /k/s/a`, $0\n$0\n~~~md\n!`echo a`\n~~~");
  expect(shown({}, true)).toBe("a: !`cat /k/s/$0`, !`echo $0`\n```!\necho $0\n```\n~~~md\n!`echo a`\n~~~");
});

test("the arguments in single quotes are a word, as other clients fill them in; other quotes stay", () => {
  const prompt = `!\`a '$ARGUMENTS' '$ARGUMENTS[1]' '$1' "'$ARGUMENTS'" 'x $ARGUMENTS' \\''$ARGUMENTS'\``;
  expect(commandsOf(skill("s", { prompt }), [])).toEqual([
    `a "$ARGUMENTS" "$ARGUMENTS[1]" '$1' "'$ARGUMENTS'" 'x $ARGUMENTS' \\'"$ARGUMENTS"`,
  ]);
});

test("names of arguments are their positions in the text, the longest name first", () => {
  const names = ["old", "old-name", "n"];
  expect(withPositions("$old-name, $old-x, ${n}, $n. $no \\$n $$n", names)).toBe(
    "$ARGUMENTS[1], $ARGUMENTS[0]-x, ${n}, $ARGUMENTS[2]. $no \\$n $$n",
  );
});

test("only what other clients run is a command in a text; how a text shows others to write it is none", () => {
  const prompt = '(!`a b`) "!`c`": KEY=!`d`, `` !`e` ``, `!`f, x!`g`\n\t!`h`';
  expect(commandsOf(skill("s", { prompt }), [])).toEqual(["a b", "c", "h"]);
});

test("whoever calls a skill again gets the output of its commands for these words", async () => {
  const { requests } = await play({
    spec: {
      skills: [skill("my-skill", { prompt: "Look: !`cat $0`" })],
      tools: [tool("t"), ...workspaceTools(["Bash"], [])],
      prompt: says("/my-skill one"),
    },
    replies: [{ calls: [["t", {}]] }, "ok"],
    hooks: { "!my-skill": (payload) => ({ "cat $0": `of ${objectOf(payload).arguments}` }) },
    incoming: { 1: [received("/my-skill two")] },
  });
  expect(requests.map(({ system }) => /Look: .*/.exec(system)?.[0])).toEqual([
    "Look: of one",
    "Look: of two",
  ]);
});

describe("read_skill_resource", () => {
  const files = { paths: ["references/a.md"], count: 1 };
  const skills = [
    skill("s", { files }),
    skill("hidden", { files, disable_model_invocation: true }),
    skill("bare"),
  ];
  const read = (args: object, prompt = "go") =>
    play({
      spec: { skills, prompt: says(prompt), tools: [tool("t")] },
      replies: [{ calls: [["read_skill_resource", JSON.parse(JSON.stringify(args))]] }, "ok"],
    });

  test("is offered where a skill has files, and carried out by the driver, uncut", async () => {
    const none = await play({ spec: { skills: [skill("bare")] }, replies: ["ok"] });
    expect(offered(none.requests[0] ?? expect.fail())).toEqual(["load_skill"]);
    const spec = { skills, compaction: { ...SPEC.compaction, tool_output_max_chars: 100 } };
    const { executed, requests } = await play({
      spec,
      replies: [{ calls: [["read_skill_resource", { skill: "s", path: "references/a.md" }]] }, "ok"],
      results: { read_skill_resource: ["y".repeat(500)] },
    });
    expect(offered(requests[0] ?? expect.fail())).toEqual(["load_skill", "read_skill_resource"]);
    expect(executed).toHaveLength(1);
    expect(toolTexts(requests[1] ?? expect.fail())).toEqual(["y".repeat(500)]);
  });

  test("gives way to the run's own tool of its name", async () => {
    const { executed, requests } = await play({
      spec: { skills, tools: [tool("read_skill_resource")] },
      replies: [{ calls: [["read_skill_resource", { anything: 1 }]] }, "ok"],
    });
    expect(offered(requests[0] ?? expect.fail())).toEqual(["read_skill_resource", "load_skill"]);
    expect(executed).toMatchObject([{ name: "read_skill_resource", args: { anything: 1 } }]);
  });

  test.each([
    [{ skill: "s", path: "../../x" }, "not inside"],
    [{ skill: "s", path: "/etc/passwd" }, "not inside"],
    [{ skill: "s" }, "path"],
    [{ skill: "bare", path: "a" }, "no skill"],
    [{ path: "a" }, "skill is missing. There are: s"],
    [{ skill: "hidden", path: "a" }, "no skill"],
    [{ skill: "s", path: "a", offset: -1 }, "whole numbers"],
  ])("%j is not carried out", async (args, words) => {
    const { executed, requests } = await read(args);
    expect(executed).toEqual([]);
    expect(JSON.parse(toolTexts(requests[1] ?? expect.fail())[0] ?? "").error).toContain(words);
  });

  test("reads a hidden skill's file once a person has activated it", async () => {
    expect((await read({ skill: "hidden", path: "references/a.md" }, "/hidden go")).executed).toHaveLength(1);
  });

  test("images come as a message after the results", async () => {
    const { requests } = await play({
      spec: { skills },
      replies: [{ calls: [["read_skill_resource", { skill: "s", path: "i.png" }]] }, "ok"],
      results: {
        read_skill_resource: [
          { content: "{}", parts: [{ type: "image", media_type: "image/png", data: "AA==" }] },
        ],
      },
    });
    expect(requests[1]?.messages.at(-1)).toEqual({
      role: "user",
      content: [{ type: "image", media_type: "image/png", data: "AA==" }],
    });
  });
});
