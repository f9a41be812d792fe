/** Which skill a prompt asks for, and what the list of skills says within its budget. */
import { expect, test } from "vitest";
import { matchSkills } from "../../../../src/engine/agent/skills.ts";
import type { AgentSkill } from "../../../../src/engine/agent/spec.ts";
import { chooseSkills, indexSkills } from "../../../../src/engine/skill-choice/choose.ts";
import { significantWords, stemmed } from "../../../../src/engine/skill-choice/words.ts";
import { play, says, toolTexts } from "../agent/harness.ts";
import { PROMPTS, SKILLS } from "./prompts.ts";

const skill = (name: string, description: string, more: Partial<AgentSkill> = {}): AgentSkill => ({
  name,
  description,
  when_to_use: "",
  prompt: "",
  paths: [],
  allowed_tools: [],
  disable_model_invocation: false,
  on_activate: null,
  on_deactivate: null,
  ...more,
});
const skills = SKILLS.map(([name, description]) => skill(name, description));
const index = indexSkills(skills);
const chosen = (prompt: string): string | null => chooseSkills(skills, index, prompt, []).active[0] ?? null;

test("R11: of the prompts over 17 skills at least 90 % are right, and at least 95 % of unrelated ones activate none", () => {
  const wrong = PROMPTS.filter(([prompt, wanted]) => chosen(prompt) !== wanted);
  const unrelated = PROMPTS.filter(([, wanted]) => wanted === null);
  const strays = wrong.filter(([, wanted]) => wanted === null);
  const told = wrong.map(([prompt, wanted]) => `${prompt}: ${chosen(prompt)}, not ${wanted}`).join("\n");
  expect(PROMPTS.length).toBeGreaterThanOrEqual(60);
  expect(wrong.length / PROMPTS.length, told).toBeLessThanOrEqual(0.1);
  expect(strays.length / unrelated.length, told).toBeLessThanOrEqual(0.05);
  // A wrong skill is worse than none.
  expect(wrong.filter(([prompt]) => chosen(prompt) !== null).length, told).toBeLessThanOrEqual(2);
});

test.each([
  ["Clean up the data directory", null],
  ["Create a table of contents for my book idea", null],
  ["Is Python faster than Ruby?", null],
  ["Extract all e-mail addresses from this text", null],
  ["Count the words in this paragraph", null],
  ["Write the company newsletter for November", "internal-comms"],
  ["Write an incident report for yesterday's outage", "internal-comms"],
])("words of every request do not decide for a skill: %s", (prompt, wanted) => {
  expect(chosen(prompt)).toBe(wanted);
});

test("a word of Hindi is no set of its consonants, which every description has", () => {
  const own = [skill("mausam", "मौसम का हाल बताता है"), skill("mail", "ई-मेल भेजता है"), ...skills];
  expect(chooseSkills(own, indexSkills(own), "मुझे एक कविता सुनाओ", []).candidates).toEqual([]);
  const choice = chooseSkills(own, indexSkills(own), "कल मौसम का हाल क्या है", []);
  expect(choice.candidates[0]?.name).toBe("mausam");
});

test("words are the same in each form of Unicode", () => {
  const own = [skill("resumes", "Lebensläufe prüfen"), ...skills];
  const asked = "Bitte Lebensläufe prüfen".normalize("NFD");
  expect(chooseSkills(own, indexSkills(own), asked, []).candidates[0]?.name).toBe("resumes");
  const named = [skill("lebensläufe", "Lists"), ...skills];
  expect(chooseSkills(named, indexSkills(named), "/lebensläufe".normalize("NFD"), []).active).toEqual([
    "lebensläufe",
  ]);
  for (const form of ["NFC", "NFD"]) {
    const stored = skill("lebensläufe".normalize(form), "Käse");
    expect(matchSkills([stored], "käse".normalize("NFD"), []), form).toHaveLength(1);
    expect(matchSkills([stored], "lebensläufe".normalize("NFD"), []), form).toHaveLength(1);
    expect(chooseSkills([stored], indexSkills([stored]), "/lebensläufe", []).active, form).toHaveLength(1);
  }
  const barred = [skill("käse", "Käse", { user_invocable: false }), ...skills];
  const called = (form: string) =>
    chooseSkills(barred, indexSkills(barred), form.normalize("NFD"), []).candidates;
  expect([called("käse")[0]?.name, called("/käse")]).toEqual(["käse", []]);
});

test("the words of a name describe its purpose, however common they are", () => {
  const own = [
    skill("code-review", "Comments on changes, file by file"),
    skill("mail", "Answers letters"),
    skill("deploy", "Brings a release to its servers"),
  ];
  const choice = chooseSkills(own, indexSkills(own), "Review my code, please", []);
  expect(choice.active).toEqual(["code-review"]);
});

test("a prompt cannot call by /name a skill that users may not call", () => {
  const closed = skill("closed", "Shuts the books", { user_invocable: false, paths: ["*.csv"] });
  const own = [closed, skill("mail", "Answers letters")];
  const choice = (prompt: string, files: string[] = []): string[] =>
    chooseSkills(own, indexSkills(own), prompt, files).active;
  expect(["/closed the books", "/mail me", "use the closed skill"].map((prompt) => choice(prompt))).toEqual([
    [],
    ["mail"],
    ["closed"],
  ]);
  expect(choice("/closed the books", ["a.csv"])).toEqual(["closed"]);
});

const many = (count: number): AgentSkill[] =>
  Array.from({ length: count }, (_, i) =>
    skill(
      `helper-${i}`,
      `Helps with topic${i} and area${i % 40}: reports, notes and reviews of topic${i}. ${"More words. ".repeat(12)}`,
    ),
  );

test("R12: 1,175 skills: the list keeps its budget, and the right one is found by words", async () => {
  const all = many(1175);
  const played = await play({
    spec: {
      skills: all,
      skill_match: { strategy: "auto", top_n: 1, sticky: true },
      prompt: says("What do we have?"),
    },
    replies: [
      { calls: [["search_skills", { query: "a review of topic777" }]] },
      { calls: [["load_skill", { name: "helper-777" }]] },
      "done",
    ],
  });
  const [first, second, third] = played.requests;
  expect(Math.ceil((first?.system ?? expect.fail()).length / 4)).toBeLessThanOrEqual(6000);
  const load = first?.tools.find(({ name }) => name === "load_skill");
  expect(load?.parameters.properties).not.toHaveProperty("name.enum");
  const found: { skills: { name: string }[] } = JSON.parse(toolTexts(second ?? expect.fail())[0] ?? "");
  expect(found.skills[0]?.name).toBe("helper-777");
  expect(toolTexts(third ?? expect.fail()).at(-1)).toContain('<skill_content name="helper-777">');
});

test("a list that has no room for all skills shows those that fit the request, and the others can be searched", async () => {
  const played = await play({
    spec: {
      skills: many(90),
      skill_catalogue_tokens: 500,
      skill_match: { strategy: "none", top_n: 0, sticky: true },
      prompt: says("a review of topic77"),
    },
    replies: [{ calls: [["search_skills", { query: "notes of topic88" }]] }, "done"],
  });
  const [first, second] = played.requests;
  expect(first?.system).toContain("look for others with search_skills");
  expect(first?.system).toContain("\nhelper-77\n");
  expect(first?.system).not.toContain("\nhelper-88\n");
  expect(toolTexts(second ?? expect.fail())[0]).toContain('"helper-88"');
});

test("skills that the model may not load, or that users may not call, take no place among the candidates", () => {
  const own = [
    ...Array.from({ length: 5 }, (_, i) =>
      skill(`invoice-${i}`, "Invoices", { disable_model_invocation: true }),
    ),
    skill("closed", "Invoices", { user_invocable: false }),
    skill("mail", "Answers letters about invoices"),
  ];
  const names = (prompt: string): string[] =>
    chooseSkills(own, indexSkills(own), prompt, []).candidates.map(({ name }) => name);
  expect(names("/closed invoices")).toEqual(["mail"]);
  expect(names("Show the invoices")).toEqual(["closed", "mail"]);
});

test("words that fit a skill best which only users may call choose no other", () => {
  const own = [
    ...many(20),
    skill("branch-tidy", "Cleans up local git branches and worktrees that are merged", {
      disable_model_invocation: true,
    }),
    skill("review-gate", "Reviews a branch, a pull request or a range of git for new entry points"),
  ];
  const active = (prompt: string) => chooseSkills(own, indexSkills(own), prompt, []).active;
  expect(active("Clean up my stale local git branches and worktrees")).toEqual([]);
  expect(active("Review this git branch for new entry points")).toEqual(["review-gate"]);
});

test.each([
  ["fill this with /pdf please", "pdf", true],
  ["use the pdf skill", "pdf", true],
  ["use the skill pdf", "pdf", true],
  ["use 'pdf' here", "pdf", true],
  ["make a pdf", "pdf", false],
  ["cluster the cells with scanpy", "scanpy", true],
  ["Run CodeQL on this repository", "codeql", true],
  ["I use scanpy-like tools", "scanpy", false],
  ["give her access", "access", false],
  ["use frontend-design", "frontend-design", true],
  ["frontend design please", "frontend-design", true],
  ["frontend-designs", "frontend-design", false],
  ["see /home/pdf/x", "pdf", false],
])("%j names %s: %s", (prompt, name, named) => {
  const own = [skill(name, "Works on documents")];
  const { candidates } = chooseSkills(own, indexSkills(own), prompt, []);
  expect(candidates.some(({ reason }) => reason === "named in the prompt")).toBe(named);
});

test("a skill is active if its paths match a file, and several that are named", () => {
  const own = [skill("a", "Alpha", { paths: ["infra/**"] }), skill("b-c", "Beta"), skill("d-e", "Delta")];
  const index = indexSkills(own);
  expect(chooseSkills(own, index, "go", ["infra/x.tf"]).active).toEqual(["a"]);
  expect(chooseSkills(own, index, "use b-c and then d-e", []).active).toEqual(["b-c", "d-e"]);
  const hidden = [skill("b-c", "Beta", { disable_model_invocation: true })];
  expect(chooseSkills(hidden, indexSkills(hidden), "use b-c", []).active).toEqual([]);
});

test("words are compared by their stems, programs by their files", () => {
  expect(["merging", "merged", "merges", "merge"].map(stemmed)).toEqual(Array(4).fill("merg"));
  expect(significantWords("Fix the Excel file")).toContain("xlsx");
  expect(significantWords("report.xlsx")).toContain("xlsx");
  expect(significantWords("What is this?")).toEqual([]);
});
