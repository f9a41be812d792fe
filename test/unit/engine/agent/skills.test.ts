/** Skills of agent runs: matching, lifecycle, loading, files. */
import { describe, expect, test } from "vitest";
import { applyAgentRecord } from "../../../../src/engine/agent/apply.ts";
import type { AgentRecord } from "../../../../src/engine/agent/records.ts";
import { matchSkills } from "../../../../src/engine/agent/skills.ts";
import type { AgentSkill } from "../../../../src/engine/agent/spec.ts";
import { catalogSection } from "../../../../src/engine/skill-choice/catalog.ts";
import { workspaceTools } from "../../../../src/engine/workspace-tools/definitions.ts";
import { objectOf } from "../../../../src/skill/json.ts";
import type { Json } from "../../../../src/skill/manifest.ts";
import { fc } from "../../../support/property.ts";
import {
  goOn,
  offered,
  type Played,
  play,
  type Reply,
  says,
  skill,
  started,
  tool,
  toolTexts,
} from "./harness.ts";

const matches = (records: readonly AgentRecord[]) =>
  records.filter((record) => record.type === "skills_matched");
describe("matching", () => {
  test("the skill that the prompt names is active, with its body; the candidates are reported", async () => {
    const skills = [skill("deploying"), skill("testing")];
    const { records, requests } = await play({
      spec: { skills, prompt: says("deploying please") },
      replies: ["ok"],
    });
    expect(matches(records)).toMatchObject([
      {
        active: ["deploying"],
        reassess: false,
        candidates: [{ name: "deploying", reason: "1 keyword hit; name mentioned" }],
      },
    ]);
    expect(matches(records)[0]?.candidates[0]?.score).toBeGreaterThan(2);
    expect(requests[0]?.system).toContain("BODY OF deploying");
    expect(requests[0]?.system).not.toContain("BODY OF testing");
  });

  test("scores: keywords, duplicates kept, name, globs; ties in the order of the registry", () => {
    const skills = [
      skill("second", { description: "write tables", when_to_use: "tables" }),
      skill("first", { description: "write tables", when_to_use: "tables" }),
      skill("infra", { description: "x", paths: ["infra/**", "*.tf"] }),
      skill("hidden", { description: "write tables", disable_model_invocation: true }),
    ];
    const found = matchSkills(skills, "Write tables, tables! of", ["infra/terraform/cluster.tf"]);
    expect(found.map(({ name, score }) => [name, Math.round(score * 100) / 100])).toEqual([
      ["infra", 1.5],
      ["second", 0.77],
      ["first", 0.77],
    ]);
    expect(matchSkills([skill("x", { description: "none" })], "a b c", [])).toEqual([]);
  });

  test("keyword hits are the words of the query that are parts of a text, as often as it has them", () => {
    const text = fc.string({ unit: fc.constantFrom(..."aabcÉß1 ,-İ😀"), maxLength: 40 });
    fc.assert(
      fc.property(text, text, (query, description) => {
        const words = query.toLowerCase().split(/[^\p{L}\p{N}]+/u);
        const hits = words.filter((word) => word.length > 2 && description.toLowerCase().includes(word));
        const [found] = matchSkills([skill("none such", { description })], query, []);
        expect(found?.score ?? 0).toBe(hits.length === 0 ? 0 : hits.length / (hits.length + 1.5));
      }),
      { numRuns: 2000 },
    );
  });

  test("no match: reported without candidates, nothing active", async () => {
    const { records, requests } = await play({
      spec: { skills: [skill("deploying")], prompt: says("hm") },
      replies: ["ok"],
    });
    expect(matches(records)).toMatchObject([{ candidates: [], active: [] }]);
    expect(requests[0]?.system).not.toContain("Active skill");
  });

  test("not sticky: old skills end before new ones begin, hooks in that order; without a change, only the match is recorded", async () => {
    const skills = [
      skill("alpha", { on_activate: "a+", on_deactivate: "a-" }),
      skill("beta", { on_activate: "b+", on_deactivate: "b-" }),
    ];
    const hooks = {
      "b+": () => {
        throw new TypeError("no");
      },
    };
    const { records, requests, ...played } = await play({
      spec: {
        skills,
        prompt: says("alpha"),
        tools: [tool("t")],
        skill_match: { strategy: "metadata", top_n: 1, sticky: false },
      },
      replies: [{ calls: [["t", {}]] }, { calls: [["t", {}]] }, "ok"],
      hooks,
      incoming: {
        2: [
          {
            v: 1,
            at: 1,
            type: "message_received",
            run: "run_1",
            delivery: "finish_step",
            message: { role: "user", content: [{ type: "text", text: "now beta" }] },
          },
        ],
      },
    });
    expect(matches(records).map(({ active, reassess }) => [active, reassess])).toEqual([
      [["alpha"], false],
      [["alpha"], true],
      [["beta"], true],
    ]);
    expect(played.hooks.map(({ hook }) => hook)).toEqual(["a+", "a-", "b+"]);
    expect(played.step).toMatchObject({ status: "done" });
    expect(requests[2]?.system).toContain("BODY OF beta");
    expect(requests[2]?.system).not.toContain("BODY OF alpha");
  });

  test("another run of the session: the active skill stays without a match; one that is gone does not", async () => {
    const skills = [skill("alpha"), skill("beta")];
    const first = await play({ spec: { skills, prompt: says("alpha") }, replies: ["ok"] });
    const state = goOn(first, { run_id: "run_2", skills, prompt: says("beta") });
    const second = await play({ state, replies: ["ok"] });
    expect(second.run.active).toEqual(["alpha"]);
    expect(matches(second.records)).toEqual([]);
    const other = goOn(first, { run_id: "run_3", skills: [skill("beta")], prompt: says("beta") });
    expect((await play({ state: other, replies: ["ok"] })).run.active).toEqual(["beta"]);
  });

  test("without a host for its strategy, a run matches by metadata, with a warning", async () => {
    const { records } = await play({
      spec: {
        skills: [skill("alpha")],
        prompt: says("alpha"),
        skill_match: { strategy: "embedding", top_n: 1, sticky: true },
      },
      replies: ["ok"],
    });
    expect(matches(records)).toMatchObject([{ active: ["alpha"], strategy: "metadata", warnings: [{}] }]);
  });
});

describe("scope", () => {
  const tools = [
    tool("deploy_service", {}, ["command"]),
    { ...tool("watch"), definition: { ...tool("watch").definition, namespace: "ops" } },
    tool("other"),
  ];
  const scoped = async (allowed_tools: string[], replies: Parameters<typeof play>[0]["replies"] = ["ok"]) =>
    play({ spec: { tools, skills: [skill("alpha", { allowed_tools })], prompt: says("alpha") }, replies });

  test.each([
    [["deploy_service"], ["deploy_service"]],
    [["namespace:ops"], ["watch"]],
    [["*"], ["deploy_service", "watch", "other"]],
    [[], ["deploy_service", "watch", "other"]],
    [
      ["Read", "Bash(git:*)"],
      ["deploy_service", "watch", "other"],
    ],
    [["Read", "other"], ["other"]],
  ])("%j offers %j, and load_skill", async (allowed, names) => {
    const { requests } = await scoped(allowed);
    expect(offered(requests[0] ?? expect.fail())).toEqual([...names, "load_skill"]);
  });

  test("a call of a tool outside of it is not made; a pattern bounds the arguments", async () => {
    const { requests, executed } = await scoped(
      ["deploy_service(git:*)"],
      [
        { calls: [["other", {}]] },
        { calls: [["deploy_service", { command: "rm x" }]] },
        { calls: [["deploy_service", { command: "git add x" }]] },
        "ok",
      ],
    );
    expect(toolTexts(requests[1] ?? expect.fail())[0]).toContain("not available");
    expect(toolTexts(requests[2] ?? expect.fail())[1]).toContain("argument constraint");
    expect(executed.map(({ args }) => args)).toEqual([{ command: "git add x" }]);
  });

  test("the run's own skill narrows the tools too, whether or not there are others", async () => {
    const own_skill = skill("alpha", { allowed_tools: ["watch"] });
    for (const skills of [[], [skill("beta")]]) {
      const { requests } = await play({ spec: { tools, skills, own_skill }, replies: ["ok"] });
      expect(offered(requests[0] ?? expect.fail()).filter((name) => name !== "load_skill")).toEqual([
        "watch",
      ]);
    }
  });

  test("a skill that is loaded narrows the tools too", async () => {
    const { requests } = await play({
      spec: { tools, skills: [skill("alpha", { allowed_tools: ["watch"] })], prompt: says("go") },
      replies: [{ calls: [["load_skill", { name: "alpha" }]] }, "ok"],
    });
    expect(requests.map(offered)).toEqual([
      ["deploy_service", "watch", "other", "load_skill"],
      ["watch", "load_skill"],
    ]);
  });
});

describe("catalog", () => {
  test("no skills, or none that models may use: no section and no tool", async () => {
    for (const skills of [[], [skill("a", { disable_model_invocation: true })]]) {
      const { requests } = await play({ spec: { skills, tools: [tool("t")] }, replies: ["ok"] });
      expect(requests[0]?.system).not.toContain("skill");
      expect(offered(requests[0] ?? expect.fail())).toEqual(["t"]);
    }
  });

  test("a skill that a message calls is shown, and not listed again", async () => {
    const skills = [skill("a", { prompt: "Do A." }), skill("b")];
    const spec = {
      skills,
      prompt: [{ role: "user" as const, content: [{ type: "text" as const, text: "/a now" }] }],
    };
    const { requests } = await play({ spec, replies: ["ok"] });
    const system = requests[0]?.system ?? "";
    expect(system).toContain("## Active skill: a");
    expect(Array.from(system.matchAll(/<name>\n(.*)\n<\/name>/g), ([, name]) => name)).toEqual(["b"]);
  });

  test("sorted, escaped, one element or text to a line; two runs give the same bytes", async () => {
    const skills = [
      skill("b", { description: `R&D <x> "q" 'a'`, when_to_use: "asked", dir: "/s/b" }),
      skill("a"),
      skill("c", { files: { paths: [], count: 0 } }),
    ];
    const text = catalogSection(skills, 4000, false);
    expect(text.slice(text.indexOf("<available_skills>"))).toBe(
      [
        "<available_skills>",
        "<skill>",
        "<name>",
        "a",
        "</name>",
        "<description>",
        "About a",
        "</description>",
        "</skill>",
        "<skill>",
        "<name>",
        "b",
        "</name>",
        "<description>",
        "R&amp;D &lt;x&gt; &quot;q&quot; &apos;a&apos; Use it when: asked",
        "</description>",
        "<location>",
        "/s/b/SKILL.md",
        "</location>",
        "</skill>",
        "<skill>",
        "<name>",
        "c",
        "</name>",
        "<description>",
        "About c",
        "</description>",
        "<location>",
        "skill://c/SKILL.md",
        "</location>",
        "</skill>",
        "</available_skills>",
      ].join("\n"),
    );
    expect(catalogSection(skills.toReversed(), 4000, false)).toBe(text);
  });

  test("over its tokens the longest descriptions are cut first, evenly; then skills are left out and counted", () => {
    const many = (count: number, length: number) =>
      Array.from({ length: count }, (_, i) =>
        skill(`s${String(i).padStart(2, "0")}`, { description: "d".repeat(length) }),
      );
    const mixed = [...many(4, 1000), skill("short", { description: "Short and whole." })];
    const cut = catalogSection(mixed, 500, false);
    expect(cut).toContain("\nShort and whole.\n");
    const lengths = Array.from(cut.matchAll(/\n(d+)…\n/g), ([, text]) => text?.length);
    expect(new Set(lengths).size).toBe(1);
    expect(lengths).toHaveLength(4);
    expect(cut.length).toBeLessThanOrEqual(2000);
    expect(cut).not.toContain("not listed");
    const short = catalogSection(many(90, 400), 500, false);
    const shown = short.match(/<skill>/g)?.length ?? 0;
    expect(short).toMatch(new RegExp(`\\n\\(${90 - shown} more skills are not listed\\)$`));
    expect(short.indexOf("</available_skills>")).toBeLessThan(2000);
  });
});

describe("load_skill", () => {
  const load = (args: object, skills: AgentSkill[]) =>
    play({
      spec: { skills },
      replies: [{ calls: [["load_skill", JSON.parse(JSON.stringify(args))]] }, "ok"],
    });
  const answer = ({ requests }: Played, call = 1) => toolTexts(requests[call] ?? expect.fail()).at(-1) ?? "";

  test("brings the instructions and the names of 200 files; the enum has what models may load", async () => {
    const paths = Array.from({ length: 200 }, (_, i) => `references/${String(i).padStart(3, "0")}.md`);
    const skills = [
      skill("big", { files: { paths, count: 300 } }),
      skill("a"),
      skill("hidden", { disable_model_invocation: true }),
    ];
    const played = await load({ name: "big" }, skills);
    const text = answer(played);
    expect(text).toMatch(/^<skill_content name="big">\nBODY OF big\n\nThe skill's folder is skill:\/\/big\//);
    expect(text.match(/<file>/g)).toHaveLength(200);
    expect(text).toContain("<file>references/000.md</file>\n");
    expect(text).toContain("</file>\n(100 more)\n</skill_resources>");
    const definition = played.requests[0]?.tools.find(({ name }) => name === "load_skill");
    expect(definition?.parameters.properties).toMatchObject({ name: { enum: ["a", "big"] } });
    expect(played.requests[1]?.system).not.toContain("BODY OF big");
  });

  test.each([
    [{ name: "nobody" }, "skill_not_found"],
    [{ name: "hidden" }, "skill_model_invocation_disabled"],
    [{}, "invalid_arguments"],
    [{ name: "a", require_signature: "yes" }, "invalid_arguments"],
    [{ name: "a", require_signature: true }, "UnsignedSkillError"],
    [{ name: "foreign", require_signature: true }, "UntrustedSignerError"],
  ])("%j: %s", async (args, error) => {
    const foreign = skill("foreign", { signature: { signer: "f".repeat(64), trusted: false } });
    const hidden = skill("hidden", { disable_model_invocation: true });
    const played = await load(args, [skill("a"), hidden, foreign]);
    expect(JSON.parse(answer(played))).toMatchObject({ error, message: expect.any(String) });
    // No text shows a model skills that are not for it.
    if (error === "skill_not_found") expect(answer(played)).not.toContain("hidden");
  });

  test("a tool of the run that has the name comes before it", async () => {
    const own = tool("load_skill");
    const replies: Reply[] = [{ calls: [["load_skill", {}]] }, "ok"];
    const { requests, executed } = await play({ spec: { tools: [own], skills: [skill("a")] }, replies });
    expect(requests[0]?.tools.filter(({ name }) => name === "load_skill")).toEqual([own.definition]);
    expect(executed).toMatchObject([{ name: "load_skill" }]);
  });

  test("a skill with a trusted signature is loaded where a signature is required", async () => {
    const signed = skill("a", { signature: { signer: "f".repeat(64), trusted: true } });
    expect(answer(await load({ name: "a", require_signature: true }, [signed]))).toContain("BODY OF a");
  });

  test("fills in what the model calls a skill with, also after a compaction", async () => {
    const prompt = "Fix $0: $ARGUMENTS. !`cat $0`";
    const spec = { skills: [skill("a", { prompt })], tools: workspaceTools(["Bash"], []) };
    const calls: Reply[] = [{ calls: [["load_skill", { name: "a", args: "42 now" }]] }, "ok"];
    const hooks = { "!a": (payload: Json) => ({ "cat $0": `file ${objectOf(payload).arguments}` }) };
    const played = await play({ spec, replies: calls, hooks });
    expect(answer(played)).toContain("Fix 42: 42 now. file 42 now");
    const trimmed = applyAgentRecord(played.state, { v: 1, at: 2, type: "session_trimmed", keep_last: 1 });
    const state = applyAgentRecord(trimmed, started({ ...spec, run_id: "run_2" }));
    expect((await play({ state, replies: ["ok"] })).requests[0]?.system).toContain("Fix 42: 42 now.");
    const offers = async (text: string) => {
      const { requests } = await load({ name: "a" }, [skill("a", { prompt: text })]);
      return Object.keys(objectOf(requests[0]?.tools[0]?.parameters.properties));
    };
    expect([await offers("$ARGUMENTS"), await offers("Fix $0.")]).toEqual([
      ["name", "args", "require_signature"],
      ["name", "require_signature"],
    ]);
  });

  test("answers a second call with a short note, announces a new version, and says if the skill is active already", async () => {
    const call = { calls: [["load_skill", { name: "a" }] as [string, object]] };
    const replies = () => JSON.parse(JSON.stringify([call, call, "ok"]));
    const first = await play({ spec: { skills: [skill("a")] }, replies: replies() });
    expect(toolTexts(first.requests[2] ?? expect.fail()).map((text) => text.includes("BODY"))).toEqual([
      true,
      false,
    ]);
    const again = goOn(first, { run_id: "run_2", skills: [skill("a")] });
    expect(answer(await play({ state: again, replies: replies() }))).toContain("active already");
    const changed = goOn(first, {
      run_id: "run_3",
      skills: [skill("a", { digest: "new", prompt: "NEW BODY" })],
    });
    const third = await play({ state: changed, replies: replies() });
    expect(answer(third)).toMatch(/^The skill a was changed[\s\S]*NEW BODY/);
    const active = await play({
      spec: { skills: [skill("alpha")], prompt: says("alpha") },
      replies: JSON.parse(JSON.stringify(replies()).replaceAll('"a"', '"alpha"')),
    });
    expect(answer(active)).toContain("active already");
  });

  test("compaction neither removes nor cuts the instructions", async () => {
    const prompt = "X".repeat(40_000);
    const first = await load({ name: "a" }, [skill("a", { prompt })]);
    expect(answer(first)).toContain(prompt);
    const trimmed = applyAgentRecord(first.state, { v: 1, at: 2, type: "session_trimmed", keep_last: 1 });
    const state = applyAgentRecord(trimmed, started({ run_id: "run_2", skills: [skill("a", { prompt })] }));
    const second = await play({ state, replies: ["ok"] });
    expect(second.requests[0]?.system).toContain(prompt);
  });
});
