/** Which agents come with a run's skills: those that their texts name. */
import { expect, test } from "vitest";
import { assembleSkill } from "../../../src/skill/assemble.ts";
import { agentOf, agentsIn, wantsSubAgents } from "../../../src/skill/named-agents.ts";

async function made(name: string, more: { fields?: string; body?: string; namespace?: string; by?: string }) {
  const { fields = "license: MIT", body = "Text.", namespace, by } = more;
  const text = `---\nname: ${name}\ndescription: d\n${fields}\n---\n${body}\n`;
  const files = [{ path: "SKILL.md", mode: 0o644 as const, bytes: new TextEncoder().encode(text) }];
  const { skill } = await assembleSkill(files, {
    folder: name,
    file: `${name}/SKILL.md`,
    ...(namespace === undefined ? {} : { location: { namespace }, slug: `${namespace}--${name}` }),
    ...(by === undefined ? {} : { uploadedBy: by }),
  });
  return skill ?? expect.fail();
}

const agent = { fields: "context: agent" };
const AGENTS = await Promise.all([
  made("code-critic", agent),
  made("planner", agent),
  made("code-critic", { ...agent, namespace: "shop" }),
  made("buyer", { ...agent, namespace: "shop" }),
]);
const OTHER = await made("helper-skill", { body: "I am no agent." });
const cards = [...AGENTS, OTHER].map(({ card }) => card);

test.each<[body: string, agents: string[]]>([
  ["Launch 2 code-critic agents.", ["code-critic"]],
  ["Use **code-critic**, then code-critics, my-code-critic or code-critic-pro.", ["code-critic"]],
  ["Use code-critics, my-code-critic, code-critic-pro and helper-skill.", []],
  ["A planner plans; ask the planner.", []],
  ["Ask `planner`.", ["planner"]],
  ["Ask @planner about it.", ["planner"]],
  ["Ask the planner agent.", ["planner"]],
  ["Task(subagent_type=planner, prompt=x)", ["planner"]],
  ['Task(subagent_type: "planner")', ["planner"]],
  ["Task(subagent_type='Shop:buyer')", ["shop--buyer"]],
  ['subagent_type="shop-buyer"', ["shop--buyer"]],
  ["Ask shop:code-critic and `buyer`.", ["code-critic", "shop--code-critic"]],
  ["-".repeat(100_000), []],
])("a skill without a plugin that says %j", async (body, agents) => {
  const { record } = await made("lead", { body });
  expect(agentsIn({ cards }, [record])).toEqual(agents);
});

test("a skill names agents of its own plugin, and the one as which it works", async () => {
  const ofShop = await made("lead", { body: "Ask code-critic and the `buyer`.", namespace: "shop" });
  expect(agentsIn({ cards }, [ofShop.record])).toEqual(["shop--buyer", "shop--code-critic"]);
  const records = AGENTS.map(({ record }) => record);
  for (const [agent, slug, namespace] of [
    ["planner", "planner"],
    ["code-critic", "code-critic"],
    ["code-critic", "shop--code-critic", "shop"],
    ["Shop:buyer", "shop--buyer"],
  ] as const) {
    const more = namespace === undefined ? {} : { namespace };
    const { record } = await made("lead", { fields: `context: fork\nagent: ${agent}`, ...more });
    expect(agentsIn({ cards }, [record])).toContain(slug);
    expect(agentOf(record, records)?.manifest.slug).toBe(slug);
  }
  const plain = await made("lead", { fields: "agent: planner" });
  expect(agentOf(plain.record, records)).toBeUndefined();
});

test("an agent does not come with itself, nor with an upload, whose run may not delegate either", async () => {
  const [critic] = AGENTS;
  const itself = await made("code-critic", { ...agent, body: "I am code-critic." });
  expect(agentsIn({ cards }, [itself.record, critic?.record ?? expect.fail()])).toEqual([]);
  const by = { body: "Ask code-critic.", fields: "allowed-tools: Task" };
  const [published, uploaded] = await Promise.all([made("lead", by), made("lead", { ...by, by: "acme" })]);
  expect([published, uploaded].map(({ record }) => agentsIn({ cards }, [record]).length)).toEqual([1, 0]);
  expect([published, uploaded].map(({ record }) => wantsSubAgents(record))).toEqual([true, false]);
});

test.each([
  ["allowed-tools: Bash, Agent(code-critic)", "Text.", true],
  ["tool_scope: [Read, task]", "Text.", true],
  ["allowed-tools: TaskCreate, TodoWrite", "A task is done by an agent.", false],
  ["license: MIT", "1. Launch a haiku agent to look at the diff.", true],
  ["license: MIT", "Then dispatch three parallel sub-agents.", true],
  ["license: MIT", "Use the Task tool.", true],
  ["license: MIT", 'subagent_type: "general-purpose"', true],
  ["license: MIT", "Launch the server. Agents may call it.", false],
  ["license: MIT", "The agent launches.", false],
])("%s and %j want sub-agents: %s", async (fields, body, wants) => {
  expect(wantsSubAgents((await made("lead", { fields, body })).record)).toBe(wants);
});
