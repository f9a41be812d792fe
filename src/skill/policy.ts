/** The shapes of the limits on tool calls of runs, in options and in `[policy]` of hull.toml. */
import * as z from "zod/mini";
import { shapesOf } from "./field-kinds.ts";
import { COMMAND_TOOL_FIELDS, SIDE_EFFECT_LEVELS } from "./manifest-fields.ts";
import { RISKS } from "./tools-json/tool-fields.ts";

const maybe = z.exactOptional;

/** A capability policy. Absent: no limit; empty: nothing is allowed. A misspelt key must not mean the former. */
export const policyShape = z.lazy(() => {
  const texts = z.array(z.string());
  const operations = z.record(z.string(), texts);
  const level = z.enum(SIDE_EFFECT_LEVELS);
  const annotations = z.strictObject({
    ...shapesOf(COMMAND_TOOL_FIELDS.annotations.fields),
    kind: maybe(z.string()),
  });
  return z.strictObject({
    tools: maybe(texts),
    blocked_tools: maybe(texts),
    capabilities: maybe(operations),
    workspace_roots: maybe(texts),
    side_effect_level: maybe(level),
    recursion_limit: maybe(z.int().check(z.nonnegative())),
    tool_arg_constraints: maybe(
      z.array(z.strictObject({ tool: z.string(), arg_patterns: texts, arg_key: maybe(z.string()) })),
    ),
    tool_annotations: maybe(z.record(z.string(), annotations)),
  });
});

/** The lowest risk at which a call of a skill's tool needs an approval. */
const REQUIRED_RISKS = ["none", ...RISKS] as const;
export type RequiredRisk = (typeof REQUIRED_RISKS)[number];

/**
 * `[approvals]` of hull.toml: for published skills, for uploaded ones, and for single skills by name (`approvals.ts`).
 */
export const approvalsShape = z.lazy(() => {
  const level = z.enum(REQUIRED_RISKS);
  return z.strictObject({
    require_risk: maybe(level),
    uploaded_require_risk: maybe(level),
    skills: maybe(z.record(z.string(), level)),
  });
});

/** Lists of globs. */
export const approvalPolicyShape = z.lazy(() => {
  const globs = maybe(z.array(z.string()));
  return z.strictObject({
    require_risk: maybe(z.enum(REQUIRED_RISKS)),
    auto_approve: globs,
    auto_deny: globs,
    require_approval: globs,
    write_path_allowlist: globs,
  });
});

/** A text as a rule names a predicate. */
export const permissionsShape = z.lazy(() => {
  const rule = z.union([z.literal(true), z.array(z.string()), z.string()]);
  const entries = maybe(
    z.union(
      [z.array(z.string()), z.record(z.string(), rule)],
      "must be a list of globs, or an object from a glob to true, to a list of globs or to a hook's name",
    ),
  );
  return z.strictObject({ allow: entries, deny: entries, on_escalation: maybe(z.string()) });
});
