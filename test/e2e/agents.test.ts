/** Agents to which skills hand work: real workerd, a real runner, a provider whose turns are given. */
import { beforeEach, expect, test } from "vitest";
import { commonHull } from "../support/common-hull.ts";
import { json } from "../support/hull-dev.ts";
import { until } from "../support/runner.ts";
import { killWorker } from "../support/shared.ts";

const skill = (name: string, fields: string, text: string) => ({
  [`${name}/SKILL.md`]: `---\nname: ${name}\ndescription: "Is ${name}. Examples: <example>Be it.</example>"\n${fields}\n---\n${text}\n`,
});

const { hull, fake } = await commonHull({
  ...skill("lead", "workspace_tools: true", "Let the code-critic look at it, then ask the `planner`."),
  ...skill(
    "code-critic",
    "context: agent\ntool_scope: [Read, Grep]",
    "You judge code. Your rules are in ${CLAUDE_SKILL_DIR}/rules.md.",
  ),
  "code-critic/rules.md": "No goto.\n",
  ...skill("planner", "context: agent", "You plan."),
  ...skill("prose", "license: MIT", "A planner is a person who plans. No code-critics here."),
  ...skill("launcher", "license: MIT", "Launch two agents in parallel."),
  ...skill("tasked", "allowed-tools: Task, Read", "Hand it on."),
  ...skill("as-critic", "context: fork\nagent: code-critic", "Judge only what changed in $ARGUMENTS."),
});

const OPTIONS = { provider: "anthropic", model: "claude-haiku-4-5", max_tokens: 500 };
const delegate = (args: object) => ({ tool_calls: [{ name: "sub_agent", arguments: args }] });

interface Sent {
  system: string;
  tools: {
    name: string;
    input_schema: { properties: { agent?: { enum: string[]; description: string } } };
  }[];
  messages: { role: string; content: unknown }[];
}
beforeEach(() => {
  fake.requests.length = 0;
});
const sent = (): Sent[] =>
  fake.requests.map(({ body }) => {
    const { system = "", tools = [], messages } = body as Partial<Sent>;
    return { system: JSON.stringify(system), tools, messages: messages ?? [] };
  });
const toolNames = ({ tools }: Sent): string[] => tools.map(({ name }) => name);
const agentsOffered = ({ tools }: Sent): string[] | null => {
  const tool = tools.find(({ name }) => name === "sub_agent");
  return tool === undefined ? null : (tool.input_schema.properties.agent?.enum ?? []);
};
const runs = async (options: object, turns: Parameters<typeof fake.script>[0], prompt = "Go.") => {
  fake.script(turns);
  return json<{ status: string; text: string }>(
    await hull.post("/runs", { prompt, options: { ...OPTIONS, ...options } }),
  );
};

test("a skill whose text names agents hands work to one, which has its own text and tools", async () => {
  fake.script([
    delegate({ task: "Judge x.js.", agent: "code-critic", instructions: "Be brief." }),
    { tool_calls: [{ name: "Read", arguments: { file_path: "x.js" } }] },
    { text: "No goto found." },
    { text: "It is fine." },
  ]);
  const response = await hull.call("/skills/lead", "Look at x.js.");
  expect([response.status, await response.text()]).toEqual([200, "It is fine."]);
  const [first, child, , last] = sent();
  if (first === undefined || child === undefined || last === undefined) expect.fail("too few requests");
  expect(agentsOffered(first)).toEqual(["code-critic", "planner"]);
  expect(toolNames(first)).not.toContain("load_skill");
  expect(
    first.tools.find(({ name }) => name === "sub_agent")?.input_schema.properties.agent?.description,
  ).toBe(
    "The agent; without it, one that knows nothing but the task. There are:\n- code-critic: Is code-critic.\n- planner: Is planner.",
  );
  expect(child.system).toMatch(
    /You judge code\. Your rules are in \/.*\/code-critic\/rules\.md\..*Be brief\./,
  );
  expect(child.system).not.toContain("ask the");
  expect(toolNames(child).filter((name) => /^[A-Z]|sub_agent/.test(name))).toEqual(["Read", "Grep"]);
  expect(JSON.stringify(last.messages.at(-1))).toContain("No goto found.");
});

test.each([
  ["a text that names no agent", { skill: "prose" }, null],
  ["Task in allowed-tools", { skill: "tasked" }, []],
  ["a text that speaks of launching agents", { skill: "launcher" }, []],
  ["Task in allowed-tools of a skill that the run may load", { skills: ["tasked"] }, []],
  ["an agent that the request names", { skills: ["planner", "prose"] }, ["planner"]],
  ["sub_agents: false", { skill: "lead", sub_agents: false }, null],
  ["sub_agents: true", { skill: "prose", sub_agents: true }, []],
])("%s decides whether there are sub-agents, and which", async (_, options, agents) => {
  await runs(options, [{ text: "Done." }]);
  expect(sent().map(agentsOffered)).toEqual([agents]);
});

test("an agent without tool_scope hands work on, also to its own kind", async () => {
  fake.script([
    delegate({ task: "Plan.", agent: "planner" }),
    delegate({ task: "Plan a part.", agent: "planner" }),
    { text: "Part." },
    { text: "Plan." },
    { text: "Done." },
  ]);
  const response = await hull.call("/skills/lead", "Go.");
  expect([response.status, await response.text()]).toEqual([200, "Done."]);
  const [, child, below] = sent();
  expect([child, below].map((one) => one?.system.includes("You plan."))).toEqual([true, true]);
});

test("an agent is neither loaded, nor active, nor called by its name", async () => {
  const result = await runs(
    { skills: ["planner", "prose"] },
    [
      { tool_calls: [{ name: "load_skill", arguments: { name: "planner" } }] },
      delegate({ task: "Plan.", agent: "nobody" }),
      { text: "Done." },
    ],
    "/planner Please plan.",
  );
  expect(result).toMatchObject({ status: "done", text: "Done." });
  const [first, second, third] = sent();
  expect(JSON.stringify(first)).not.toContain("You plan.");
  expect(JSON.stringify(first?.messages)).toContain("/planner Please plan.");
  expect(JSON.stringify(second?.messages.at(-1))).toMatch(/There is no skill .*planner.* There are: prose\./);
  expect(JSON.stringify(third?.messages.at(-1))).toContain(
    'There is no agent \\"nobody\\". There are: planner;',
  );
  expect(sent()).toHaveLength(3);
});

test("a skill with context: fork works as the agent that it names, called or loaded", async () => {
  fake.script([{ text: "Good." }]);
  await hull.call("/skills/as-critic", "a.js");
  const [called] = sent();
  expect(called?.system).toMatch(/You judge code\..*Judge only what changed in a\.js\./);
  expect(called === undefined ? [] : toolNames(called).filter((name) => /^[A-Z]/.test(name))).toEqual([
    "Read",
    "Grep",
  ]);
  fake.requests.length = 0;
  const load = { name: "load_skill", arguments: { name: "as-critic", task: "b.js" } };
  await runs({ skills: ["as-critic"] }, [{ tool_calls: [load] }, { text: "Good." }, { text: "Done." }]);
  const [, child] = sent();
  expect(child?.system).toMatch(/You judge code\..*Judge only what changed in b\.js\./);
});

test("the Worker dies while an agent works: the same agent goes on, and its work counts once", async () => {
  fake.script([
    delegate({ task: "Judge x.js.", agent: "code-critic" }),
    { text: ["No goto ", "so far"], hang: true },
    { text: "No goto found." },
    { text: "It is fine." },
  ]);
  const { id } = await json<{ id: string }>(await hull.post("/sessions", {}));
  const body = { prompt: "Look at x.js.", options: { ...OPTIONS, skill: "lead" } };
  const { run_id } = await json<{ run_id: string }>(await hull.post(`/sessions/${id}/runs?wait=none`, body));
  await until(
    async () => fake.requests.length,
    (count) => count === 2,
  );
  await killWorker(hull);
  const { result } = await until(
    async () =>
      json<{ status: string; result?: { text: string } }>(await hull.call(`/sessions/${id}/runs/${run_id}`)),
    ({ status }) => status !== "running",
  );
  expect(result?.text).toBe("It is fine.");
  const [, begun, again, last] = sent();
  expect(again).toEqual(begun);
  expect(again?.system).toContain("You judge code.");
  expect(JSON.stringify(last?.messages.at(-1))).toContain("No goto found.");
  const { child_ids } = await json<{ child_ids: string[] }>(await hull.call(`/sessions/${id}/ancestry`));
  expect([sent().length, child_ids.length]).toEqual([4, 1]);
});
