/** The limits that a delegated run inherits: it can only have less than the run above it. Pure. */
import { ToolsRejected } from "../../errors/llm.ts";
import type { HullError } from "../../errors.ts";
import { canonicalJson } from "../../skill/canonical.ts";
import { objectOf } from "../../skill/json.ts";
import type { JsonObject } from "../../skill/manifest.ts";
import { least } from "../least.ts";
import { addSpent, heldBy } from "../shares.ts";
import { watchersOf } from "./command-hooks.ts";
import { droppedTools, intersectPolicies } from "./policy.ts";
import { outsideScope, scopedTools } from "./skills.ts";
import type { AgentSpec, Ceilings, RunPolicies } from "./spec.ts";
import { spentBy } from "./spent.ts";
import type { RunState } from "./state.ts";

/** How many levels below a request may delegate: without a policy, and at most with one. */
const USUAL_LEVELS = 4;
const MOST_LEVELS = 16;

/** The ceilings of a request outside of any run: none. */
export const NO_CEILINGS: Ceilings = {
  run_id: null,
  session_id: null,
  account: null,
  levels: MOST_LEVELS + 1,
  deadline: null,
  tokens: null,
  usd: null,
  policies: null,
  hooks: null,
  tool_hooks: [],
  tools: [],
};

/** Levels below a run that may delegate; -1: the run itself may not. */
function levelsOf({ delegation, policies }: Pick<AgentSpec, "delegation" | "policies">): number {
  const limit = limitOf(policies.policy);
  return delegation === undefined ? limit : Math.min(delegation.levels, limit);
}

function limitOf(policy: JsonObject | null): number {
  const limit = policy?.recursion_limit;
  return typeof limit === "number" ? Math.min(limit, MOST_LEVELS) : USUAL_LEVELS;
}

/**
 * What a run under way leaves to runs below it.
 * @param live `false`: it has ended, and its budgets with it
 * @param sharers how many runs below it share the rest of its budgets; each gets an equal share
 */
export function ceilingsOf(run: RunState, live: boolean, sharers = 1): Ceilings {
  const { spec } = run;
  const { run_id, session_id, delegation, policies, deadline, token_budget, total_budget_usd } = spec;
  const watchers = watchersOf(run);
  const { tokens, cost_usd: usd } = addSpent(spentBy(run), heldBy(run.shares));
  return {
    run_id: live ? run_id : null,
    session_id,
    account: delegation?.account ?? session_id,
    levels: levelsOf(spec),
    deadline: live ? (deadline ?? null) : null,
    tokens: live && token_budget !== null ? Math.floor(Math.max(0, token_budget - tokens) / sharers) : null,
    usd: live && total_budget_usd !== null ? Math.max(0, total_budget_usd - usd) / sharers : null,
    policies,
    hooks: spec.hooks ?? null,
    tool_hooks: spec.tool_hooks ?? [],
    ...(watchers.length === 0 ? {} : { watchers: watchers.map((skill) => ({ ...skill, prompt: "" })) }),
    tools: scopedTools(run).filter((tool) => outsideScope(run, tool, {}) === null),
    ...(delegation?.files === undefined ? {} : { files: delegation.files }),
  };
}

const RETURNED = "Tasks under way return at their end what they do not use.";

/** Why nothing can be delegated below these ceilings; `null`: delegation is possible. */
export function refusal({ levels, tokens, usd, deadline }: Ceilings, now: number): string | null {
  if (levels < 0)
    return "The run may not delegate: it is as many levels below its request as recursion_limit allows.";
  if (tokens === 0) return `Nothing is left of the run's token_budget. ${RETURNED}`;
  if (usd === 0) return `Nothing is left of the run's total_budget_usd. ${RETURNED}`;
  if (deadline !== null && deadline !== undefined && deadline.at <= now) return "The run's time is over.";
  return null;
}

/** The error of a task whose tools the session above refuses, all of them. */
export const noneAbove = (tools: readonly string[]): HullError =>
  new ToolsRejected({
    tools,
    reason: `The policy of the session above allows none of the tools that the task asks for: ${tools.join(", ")}.`,
  });

/**
 * Narrows a run's specification to the limits that the run above leaves.
 * @throws ToolsRejected if none of the run's tools remains
 */
export function narrowed(spec: AgentSpec, above: Ceilings, account: string): AgentSpec {
  const { policies } = spec;
  const outer = above.policies?.policy ?? null;
  const policy = intersectPolicies(outer, policies.policy);
  const asked = policies.policy?.tools;
  const lost = droppedTools(policies.policy, policy);
  if (lost.length > 0 && Array.isArray(asked) && lost.length === asked.length) throw noneAbove(lost);
  const dropped = [...new Set([...(policies.dropped ?? []), ...lost])];
  const bounds = intersectPolicies(above.policies?.ceiling ?? null, policies.ceiling ?? null);
  const ceiling = intersectPolicies(bounds, outer);
  const ceilings = [
    ...separateCeilings(above.policies),
    ...separateCeilings(policies),
    ...(outer === null ? [] : [outer]),
  ];
  const deadlines = [spec.deadline, above.deadline].filter((one) => one != null);
  const [deadline] = deadlines.toSorted((a, b) => a.at - b.at);
  const further = termsOf(above.policies);
  const hooked = [...above.tool_hooks, ...(spec.tool_hooks ?? [])];
  const parent = above.session_id === null ? null : { session_id: above.session_id, run_id: above.run_id };
  const { budget: given, ...call } = spec.call;
  // The rest of the budget belongs to this run alone; its account also counts what other runs spent.
  const { total_budget_usd: _, ...budget } = objectOf(given);
  return {
    ...spec,
    policies: {
      ...policies,
      policy,
      ...(ceiling === null ? {} : { ceiling, ceilings: distinct(ceilings) }),
      ...(dropped.length === 0 ? {} : { dropped }),
      ...(further.length === 0 ? {} : { above: further }),
      ...(above.policies?.host === true ? { host: true as const } : {}),
    },
    call: Object.keys(budget).length === 0 ? call : { ...call, budget },
    ...(hooked.length === 0 ? {} : { tool_hooks: hooked }),
    token_budget: least(spec.token_budget, above.tokens),
    total_budget_usd: least(spec.total_budget_usd, above.usd),
    ...(deadline === undefined ? {} : { deadline }),
    ...(above.hooks === null || above.hooks === undefined
      ? {}
      : { hooks: { ...above.hooks, ...spec.hooks } }),
    delegation: {
      parent,
      levels: Math.min(above.levels - 1, limitOf(policy)),
      account: above.account ?? account,
      ...(above.session_id === null ? {} : { files: above.files ?? above.session_id }),
    },
  };
}

/** The ceilings of a run, each as it was given. */
const separateCeilings = (policies: Pick<RunPolicies, "ceiling" | "ceilings"> | null): JsonObject[] =>
  policies?.ceilings ?? (policies?.ceiling === undefined ? [] : [policies.ceiling]);

const distinct = (policies: readonly JsonObject[]): JsonObject[] => [
  ...new Map(policies.map((policy) => [canonicalJson(policy), policy])).values(),
];

/** The policies of a run that also bind the runs below it. */
function termsOf(policies: RunPolicies | null): NonNullable<RunPolicies["above"]> {
  if (policies === null) return [];
  const { approval_policy, permissions, above = [] } = policies;
  return approval_policy === null && permissions === null
    ? above
    : [...above, { approval_policy, permissions }];
}
