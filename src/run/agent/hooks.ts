/**
 * The hooks that a run names. Hull finds them before the run starts, so a missing one fails early. The module comes from
 * the registry; the isolate belongs to one tenant.
 */
import type { AgentSpec, HookTarget } from "../../engine/agent/spec.ts";
import { InvalidRequest } from "../../errors/llm.ts";
import { readBytes } from "../../registry/published.ts";
import { defined, isObject } from "../../skill/json.ts";
import type { Json, SkillRecord } from "../../skill/manifest.ts";
import { callInIsolate } from "../../tool/isolate/hook.ts";
import type { RunContext } from "../context.ts";
import { resolveHook } from "./resolve-hook.ts";

type Named = Pick<
  AgentSpec,
  "tools" | "tool_hooks" | "skills" | "context_callback" | "post_turn_callback" | "policies" | "compaction"
>;

/**
 * Finds each reference among the hooks of these skills. The result is keyed by reference.
 * @throws InvalidRequest that names the option
 */
export function runHooks(spec: Named, records: readonly SkillRecord[]): Record<string, HookTarget> {
  const named = references(spec);
  if (named.length === 0) return {};
  const skills = records.map(({ manifest, hooks, uploaded_by }) => ({
    slug: manifest.slug,
    ...defined({ hooks, uploaded_by }),
  }));
  const found: Record<string, HookTarget> = {};
  for (const [option, reference] of named) found[reference] = resolveHook(reference, skills, option);
  return found;
}

function references(spec: Named): [option: string, hook: string][] {
  const { tools, skills, policies, compaction, tool_hooks = [] } = spec;
  const found: [string, string][] = [];
  const add = (option: string, hook: Json | undefined): void => {
    if (typeof hook === "string") found.push([option, hook]);
  };
  // If a value names a hook, that hook decides about the arguments.
  const addRules = (option: string, rules: Json | undefined): void => {
    if (isObject(rules)) for (const [tool, rule] of Object.entries(rules)) add(`${option}.${tool}`, rule);
  };
  add("context_callback", spec.context_callback);
  add("post_turn_callback", spec.post_turn_callback);
  add("permissions.on_escalation", policies.permissions?.on_escalation);
  add("compact_callback", compaction.compact_callback);
  add("mask_callback", compaction.mask_callback);
  add("compress_callback", compaction.compress_callback);
  addRules("permissions.allow", policies.permissions?.allow);
  addRules("permissions.deny", policies.permissions?.deny);
  for (const { definition, executor, handler } of tools) {
    if (executor === "hook") add(`tools.${definition.name}.handler`, handler);
  }
  for (const [index, { pre, post }] of tool_hooks.entries()) {
    add(`tool_hooks.${index}.pre`, pre);
    add(`tool_hooks.${index}.post`, post);
  }
  for (const { name, on_activate, on_deactivate } of skills) {
    add(`skills.${name}.on_activate`, on_activate);
    add(`skills.${name}.on_deactivate`, on_deactivate);
  }
  return found;
}

/**
 * The hook's answer; `null` if the hook returns nothing.
 * @param call `payload: null`: the hook is called without arguments
 * @throws InvalidRequest for a reference that the run did not name; HookFailed HookInvalid HookTimeout HooksUnavailable, and
 * the signal's reason
 */
export function callRunHook(
  { deployment, isolatePlaces: places, tenant }: Pick<RunContext, "deployment" | "isolatePlaces" | "tenant">,
  { hooks = {} }: Pick<AgentSpec, "hooks">,
  { reference, payload, signal }: { reference: string; payload: Json; signal: AbortSignal },
): Promise<Json> {
  const target = hooks[reference];
  if (target === undefined)
    throw new InvalidRequest({ option: reference, detail: `The run names no hook "${reference}".` });
  const { module, exportName, fresh } = target;
  const { redactor, local: guarded, hook_timeout_ms: timeoutMs } = deployment.settings;
  return callInIsolate({
    isolates: deployment.isolates,
    places,
    // A digest has a fixed length, so no other tenant's name makes the same id.
    id: fresh ? null : `hooks:${tenant}:${module}`,
    source: async () => new Response(await readBytes(deployment.env, "module", module)).text(),
    exportName,
    payload,
    timeoutMs,
    signal,
    redactor,
    guarded,
  });
}
