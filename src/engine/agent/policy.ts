/** Decides whether a tool call may be made. Pure. An absent list means no restriction; an empty one allows nothing. */

import { canonicalJson } from "../../skill/canonical.ts";
import { globMatches, nameMatches } from "../../skill/glob.ts";
import { isObject, objectOf, textsIn } from "../../skill/json.ts";
import type { Json, JsonObject, Risk, SideEffectLevel } from "../../skill/manifest.ts";
import { SIDE_EFFECT_LEVELS } from "../../skill/manifest-fields.ts";
import { RISKS } from "../../skill/tools-json/tool-fields.ts";
import { sha256 } from "../sha256.ts";
import { workLike } from "../workspace-tools/code-tools.ts";
import { isListed, isNamed } from "../workspace-tools/definitions.ts";
import type { AgentTool, RunPolicies } from "./spec.ts";

type ApprovalVerdict =
  | { verdict: "allow" }
  | { verdict: "deny"; reason: string }
  /** A person decides; `by_risk`: only the risk requires it, so a skill can have approved the call beforehand. */
  | { verdict: "ask"; reason: string; by_risk: boolean };

type PolicyVerdict =
  | ApprovalVerdict
  /** A predicate of the permissions must judge the arguments first. */
  | { verdict: "consult"; hook: string }
  /** The permissions refuse, so a hook decides. */
  | { verdict: "escalate"; reason: string; hook: string };

const LEVELS: readonly SideEffectLevel[] = SIDE_EFFECT_LEVELS;

/** The rank of a level; -1: unknown. */
export function rankOf(level: Json | undefined): number {
  const names: readonly (Json | undefined)[] = LEVELS;
  return names.indexOf(level);
}

/** The answer of a predicate of the permissions; `undefined`: not asked yet. */
type Answers = (hook: string) => Json | undefined;

/** Judges one call: the ceiling first, then permissions, then approvals. The first refusal counts. */
export function judgeCall(
  policies: RunPolicies,
  tool: AgentTool,
  args: JsonObject,
  answers: Answers,
): PolicyVerdict {
  for (const policy of [policies.ceiling ?? null, ...(policies.ceilings ?? []), policies.policy]) {
    const ceiling = overCeiling(policy, tool, args);
    if (ceiling !== null) return { verdict: "deny", reason: ceiling };
  }
  // No hook of this run can permit what a run above refuses.
  for (const { permissions } of policies.above ?? []) {
    const verdict = byPermissions(permissions, tool, args, answers);
    if (verdict.verdict === "escalate") return { verdict: "deny", reason: verdict.reason };
    if (verdict.verdict !== "allow") return verdict;
  }
  const permission = byPermissions(policies.permissions, tool, args, answers);
  if (permission.verdict !== "allow") return permission;
  return judgeApproval(policies, tool, args);
}

/** Whether this ceiling lets tools start processes. */
export function mayExecute(policy: JsonObject | null): boolean {
  const limit = rankOf(policy?.side_effect_level);
  return limit === -1 || limit >= rankOf("process_exec");
}

/** The digest that binds an approval: SHA-256 (hex) of the tool and its exact arguments. */
export function callDigest(tool: string, args: JsonObject): string {
  return sha256(canonicalJson([tool, args]));
}

/** What a session can grant: an approval by a person or the host, or a permission by the hook in charge of it. */
export type GrantScope = "approval" | "permission";

/** A grant as the session's state stores it. Approvals and permissions never replace each other. */
export function grantOf(scope: GrantScope, tool: string, args: JsonObject): string {
  const digest = callDigest(tool, args);
  return scope === "approval" ? digest : `${scope}:${digest}`;
}

/** Why the run's policies refuse every call of a tool that it does not have; `null`: they do not. */
export function outsideCeiling({ ceiling, policy }: RunPolicies, name: string): string | null {
  const refuses = [ceiling, policy].some((one) => textsIn(one?.tools)?.includes(name) === false);
  return refuses ? beyond(name) : null;
}

const ADVICE = "Use only the tools that this run declares, as they are named.";
const beyond = (name: string): string => `${name} is outside of the run's tool ceiling. ${ADVICE}`;

function overCeiling(policy: JsonObject | null, tool: AgentTool, args: JsonObject): string | null {
  if (policy === null) return null;
  const { name } = tool.definition;
  const said = Object.entries(objectOf(policy.tool_annotations)).filter(
    ([key]) => key === name || (!key.includes("*") && isNamed(key, tool)),
  );
  const annotations = Object.assign({}, tool.annotations, ...said.map(([, own]) => objectOf(own)));
  if (textsIn(policy.blocked_tools)?.some((glob) => isBlockedBy(glob, tool)) === true)
    return `${name} is blocked. ${ADVICE}`;
  const tools = textsIn(policy.tools);
  if (tools !== null && !tools.some((one) => isListed(one, tool))) return beyond(name);
  const [missing] = capabilitiesBeyond(policy, annotations);
  if (missing !== undefined)
    return `${name} needs ${missing}, which is outside of the run's capability ceiling. ${ADVICE}`;
  const limit = rankOf(policy.side_effect_level);
  const level = rankOf(annotations.side_effect_level);
  if (limit !== -1 && (level === -1 ? LEVELS.length : level) > limit) {
    return `${name} has side effects of level ${annotations.side_effect_level ?? "unknown"}; the run's ceiling is ${LEVELS[limit]}. ${ADVICE}`;
  }
  const roots = textsIn(policy.workspace_roots);
  if (roots !== null) {
    if (reachesEverything(tool) && !roots.some((root) => ["", "."].includes(normalised(root))))
      return `${name} reaches every file of the work folder, and the run is bound to ${roots.join(", ") || "none of it"}. ${ADVICE}`;
    const paths = pathArguments(annotations.arg_schema, args);
    const outside = paths.find((path) => !roots.some((root) => isWithin(path, root)));
    if (outside !== undefined)
      return `${name} may not touch ${outside}: it is outside of the run's workspace roots. ${ADVICE}`;
  }
  return brokenConstraint(policy.tool_arg_constraints, tool, args);
}

/** What a ceiling's `capabilities` lack of others, as `capability.operation`. A ceiling without the member has all. */
export function capabilitiesBeyond({ capabilities }: JsonObject, own: JsonObject): string[] {
  if (capabilities === undefined || capabilities === null) return [];
  const allowed = objectOf(capabilities);
  return Object.entries(objectOf(own.capabilities)).flatMap(([name, operations]) =>
    (textsIn(operations) ?? [])
      .filter((operation) => !(textsIn(allowed[name]) ?? []).includes(operation))
      .map((operation) => `${name}.${operation}`),
  );
}

function isBlockedBy(glob: string, tool: AgentTool): boolean {
  const as = (name: string) => ({ ...tool, definition: { ...tool.definition, name } });
  return isNamed(glob, tool) || workLike(tool).some((name) => isNamed(glob, as(name)));
}

/**
 * The constraint that a call breaks. Every matching constraint must hold: the named argument, or the first text
 * argument, matches one of its globs. `tool` is a glob, too; a name with dots selects a member of an argument.
 */
export function brokenConstraint(
  constraints: Json | undefined,
  of: Pick<AgentTool, "definition" | "executor" | "other_names">,
  args: JsonObject,
): string | null {
  const { definition } = of;
  const { name } = definition;
  for (const item of Array.isArray(constraints) ? constraints : []) {
    const { tool, arg_patterns, arg_key } = objectOf(item);
    if (typeof tool !== "string" || !isNamed(tool, of)) continue;
    const values = valuesAt(args, typeof arg_key === "string" ? arg_key : firstText(definition, args));
    const texts = values.map((value) => (typeof value === "string" ? value : JSON.stringify(value)));
    const globs = textsIn(arg_patterns) ?? [];
    if (!texts.every((text) => globs.some((glob) => admits(glob, text)))) {
      const which = typeof arg_key === "string" ? arg_key : "its argument";
      return `${name} breaks the run's argument constraint: ${which} must match ${globs.join(" or ") || "nothing"}. ${ADVICE}`;
    }
  }
  return null;
}

/** Whether a glob admits an argument. If the glob has a `/`, a path with `..` must also lead to what it matches. */
function admits(glob: string, text: string): boolean {
  const leads = glob.includes("/") && text.split("/").includes("..");
  return nameMatches(glob, text) && (!leads || nameMatches(glob, normalised(text)));
}

/** Whether a glob matches an argument as it is written, or as the path to which it leads. */
const reaches = (glob: string, text: string): boolean =>
  [text, text.normalize("NFC")].some((form) => nameMatches(glob, form)) ||
  (glob.includes("/") && nameMatches(glob, normalised(text)));

/**
 * The value under the whole key, and the value that its dots lead to: both, so that neither can hide the other. A
 * missing value is the empty text.
 */
function valuesAt(args: JsonObject, key: string): Json[] {
  const led = key.split(".").reduce<Json | undefined>((value, part) => objectOf(value)[part], args);
  const values = [args[key], key.includes(".") ? led : undefined].filter((value) => value !== undefined);
  return values.length === 0 ? [""] : values;
}

/**
 * The argument that a constraint without a name checks: the first that the tool declares as text, whatever the model
 * sent. The model chooses order and types, so it could put another text first, or send a list instead of the text.
 */
export function firstText({ parameters }: AgentTool["definition"], args: JsonObject): string {
  const declared = Object.entries(objectOf(parameters.properties));
  const texts = declared.filter(([, schema]) => {
    const { type = "string" } = objectOf(schema);
    return type === "string" || (Array.isArray(type) && type.includes("string"));
  });
  const isText = (key: string): boolean => typeof args[key] === "string";
  const further = Object.keys(args).filter((key) => !declared.some(([name]) => name === key));
  const [first] = texts.find(([key]) => args[key] !== undefined) ?? [];
  return first ?? [...declared.map(([key]) => key), ...further].find(isText) ?? "";
}

/** Judges by permissions. Denials come first. If there is an allow list, everything else is denied. */
function byPermissions(
  permissions: JsonObject | null,
  tool: AgentTool,
  args: JsonObject,
  answers: Answers,
): PolicyVerdict {
  if (permissions === null) return { verdict: "allow" };
  const { name } = tool.definition;
  const denied = namedBy(permissions.deny, reaches, tool, args, answers);
  if (typeof denied === "object") return { verdict: "consult", ...denied };
  const allowed =
    denied || !hasEntries(permissions.allow) || namedBy(permissions.allow, admits, tool, args, answers);
  if (typeof allowed === "object") return { verdict: "consult", ...allowed };
  if (!denied && allowed) return { verdict: "allow" };
  const reason = denied
    ? `${name} is denied by the run's permissions.`
    : `${name} is not among what is allowed.`;
  const hook = permissions.on_escalation;
  return typeof hook === "string" ? { verdict: "escalate", reason, hook } : { verdict: "deny", reason };
}

/**
 * Whether a list of globs, or an object of tool to `true`, argument globs or a predicate, matches this call; or the
 * predicate that Hull must ask.
 */
function namedBy(
  entries: Json | undefined,
  matching: (glob: string, text: string) => boolean,
  tool: AgentTool,
  args: JsonObject,
  answers: Answers,
): boolean | { hook: string } {
  if (Array.isArray(entries)) return entries.some((glob) => typeof glob === "string" && isNamed(glob, tool));
  const rules = Object.entries(objectOf(entries)).filter(([glob]) => isNamed(glob, tool));
  const texts = Object.values(args).map((value) =>
    typeof value === "string" ? value : JSON.stringify(value),
  );
  const named = rules.some(
    ([, rule]) =>
      rule === true ||
      (typeof rule === "string" && answers(rule) === true) ||
      (textsIn(rule) ?? []).some((pattern) => texts.some((text) => matching(pattern, text))),
  );
  if (named) return true;
  const open = rules.find(([, rule]) => typeof rule === "string" && answers(rule) === undefined)?.[1];
  return typeof open === "string" ? { hook: open } : false;
}

const hasEntries = (entries: Json | undefined): boolean =>
  Array.isArray(entries) ? entries.length > 0 : Object.keys(objectOf(entries)).length > 0;

/**
 * Judges a call that ceiling and permissions permit, or that an escalation granted. What the caller approves or denies
 * beforehand counts before any question.
 */
export function judgeApproval(
  { approval_policy, above = [] }: Pick<RunPolicies, "approval_policy" | "above">,
  tool: AgentTool,
  args: JsonObject,
): ApprovalVerdict {
  const own = byApprovals(approval_policy, tool, args);
  const all = [own, ...above.map((terms) => byApprovals(terms.approval_policy, tool, args))];
  return all.find(({ verdict }) => verdict === "deny") ?? all.find(isBinding) ?? all.find(isAsking) ?? own;
}

const isAsking = ({ verdict }: ApprovalVerdict): boolean => verdict === "ask";
const isBinding = (verdict: ApprovalVerdict): boolean => verdict.verdict === "ask" && !verdict.by_risk;

function byApprovals(approval_policy: JsonObject | null, tool: AgentTool, args: JsonObject): ApprovalVerdict {
  const policy = approval_policy ?? {};
  const { name } = tool.definition;
  const lists = (key: string): boolean => (textsIn(policy[key]) ?? []).some((glob) => isNamed(glob, tool));
  if (lists("auto_deny")) return { verdict: "deny", reason: `${name} is denied by the approval policy.` };
  const writable = textsIn(policy.write_path_allowlist);
  if (writable !== null && reachesEverything(tool) && !writable.includes("**"))
    return { verdict: "deny", reason: `${name} may write to every file, and the run only to some.` };
  if (writable !== null && writes(tool)) {
    const outside = pathArguments(tool.annotations.arg_schema, args).find(
      (path) => !writable.some((glob) => baseOf(glob) === baseOf(path) && globMatches(glob, path)),
    );
    if (outside !== undefined) return { verdict: "deny", reason: `${name} may not write to ${outside}.` };
  }
  if (lists("auto_approve")) return { verdict: "allow" };
  if (lists("require_approval"))
    return { verdict: "ask", reason: `${name} needs an approval.`, by_risk: false };
  if (tool.needs_approval === true || isAtLeast(tool.risk, policy.require_risk)) {
    const risk = tool.risk === undefined ? "" : ` of risk ${tool.risk}`;
    return { verdict: "ask", reason: `A call${risk} needs an approval.`, by_risk: true };
  }
  return { verdict: "allow" };
}

/** Whether a risk is known, and not below the level. */
export function isAtLeast(risk: Risk | undefined, level: Json | undefined): boolean {
  const known = RISKS.find((name) => name === level);
  return risk !== undefined && known !== undefined && RISKS.indexOf(risk) >= RISKS.indexOf(known);
}

const READING = ["read", "search", "think", "fetch"];

/** Whether a tool only reads, by its declaration. */
export function onlyReads({ annotations }: Pick<AgentTool, "annotations">): boolean {
  return annotations.kind !== undefined && READING.includes(annotations.kind);
}

/**
 * Whether calls of a tool keep their order within a turn. Tools that write do, according to their declaration or to the
 * run's policy. A tool that declares nothing does not.
 */
export function keepsOrder(tool: AgentTool | null, policy: JsonObject | null): boolean {
  if (tool === null) return false;
  const own = objectOf(objectOf(policy?.tool_annotations)[tool.definition.name]);
  const kind = own.kind ?? tool.annotations.kind;
  if (typeof kind === "string" && READING.includes(kind)) return false;
  if (kind === "edit" || kind === "execute") return true;
  // What Hull assumes about a tool of a server or of the host is not that tool's declaration.
  const foreign = tool.executor === "mcp" || tool.executor === "webhook";
  const level = own.side_effect_level ?? (foreign ? undefined : tool.annotations.side_effect_level);
  return rankOf(level) >= rankOf("workspace_write");
}

/** Whether a tool may touch any file, as a command can, so that no argument says which. */
const reachesEverything = ({ executor, handler }: AgentTool): boolean =>
  executor === "workspace" && handler === "Bash";

function writes(tool: AgentTool): boolean {
  const level = tool.annotations.side_effect_level;
  return !onlyReads(tool) && level !== "none" && level !== "read_only";
}

/** Arguments with these names hold paths, unless the tool declares which do. */
export const PATH_ARGUMENTS = ["path", "file", "file_path", "dir", "directory"];

/** Values of the arguments that hold paths: those that the tool declares, else those with such names. */
function pathArguments(schema: Json | undefined, args: JsonObject): string[] {
  const declared = textsIn(objectOf(schema).path_params) ?? PATH_ARGUMENTS;
  return declared.flatMap((name) => {
    const value = args[name];
    return typeof value === "string" ? [normalised(value)] : (textsIn(value) ?? []).map(normalised);
  });
}

/**
 * Removes `.` and `..`; the rest is in Unicode's form NFC, as are all files of a workspace. A path that leaves the
 * workspace keeps its leading `..` or `/`.
 */
export function normalised(path: string): string {
  const parts: string[] = [];
  for (const part of path.normalize("NFC").split("/")) {
    if (part === "" || part === ".") continue;
    if (part === ".." && parts.length > 0 && parts.at(-1) !== "..") parts.pop();
    else parts.push(part);
  }
  return path.startsWith("/") ? `/${parts.filter((part) => part !== "..").join("/")}` : parts.join("/");
}

/** Where a normalised path or a glob begins: in the workspace, above it, or at the root of the machine. */
function baseOf(path: string): "inside" | "above" | "absolute" {
  if (path.startsWith("/")) return "absolute";
  return path === ".." || path.startsWith("../") ? "above" : "inside";
}

export function isWithin(path: string, root: string): boolean {
  const base = normalised(root);
  if (baseOf(path) !== baseOf(base)) return false;
  return base === "" || base === "/" || path === base || path.startsWith(`${base}/`);
}

/**
 * The policy in which both given policies hold: lists and roots intersect, the lower level and limit count, constraints
 * add up. `null`: unrestricted.
 */
export function intersectPolicies(outer: JsonObject | null, own: JsonObject | null): JsonObject | null {
  if (outer === null) return own;
  if (own === null) return outer;
  const both: JsonObject = { ...outer, ...own };
  const tools = intersected(textsIn(outer.tools), textsIn(own.tools));
  if (tools !== null) both.tools = tools;
  const roots = intersectedRoots(textsIn(outer.workspace_roots), textsIn(own.workspace_roots));
  if (roots !== null) both.workspace_roots = roots;
  if (isObject(outer.capabilities) && isObject(own.capabilities)) {
    const inner = own.capabilities;
    both.capabilities = Object.fromEntries(
      Object.entries(outer.capabilities).flatMap(([name, ops]): [string, Json][] =>
        inner[name] === undefined ? [] : [[name, intersected(textsIn(ops), textsIn(inner[name])) ?? []]],
      ),
    );
  }
  const level = lower(outer.side_effect_level, own.side_effect_level);
  if (level !== null) both.side_effect_level = level;
  const limits = [outer.recursion_limit, own.recursion_limit].filter((limit) => typeof limit === "number");
  if (limits.length > 0) both.recursion_limit = Math.min(...limits);
  const blocked = [...(textsIn(outer.blocked_tools) ?? []), ...(textsIn(own.blocked_tools) ?? [])];
  if (blocked.length > 0) both.blocked_tools = blocked;
  both.tool_arg_constraints = [...arrayOf(outer.tool_arg_constraints), ...arrayOf(own.tool_arg_constraints)];
  both.tool_annotations = { ...objectOf(outer.tool_annotations), ...objectOf(own.tool_annotations) };
  return both;
}

/** Tools that a policy asks for and that its ceiling removes or blocks. */
export function droppedTools(own: JsonObject | null, effective: JsonObject | null): string[] {
  const left = textsIn(effective?.tools);
  const blocked = textsIn(effective?.blocked_tools) ?? [];
  return (textsIn(own?.tools) ?? []).filter(
    (name) => left?.includes(name) === false || blocked.some((glob) => nameMatches(glob, name)),
  );
}

function intersected(a: string[] | null, b: string[] | null): string[] | null {
  if (a === null || b === null) return a ?? b;
  return a.filter((item) => b.includes(item));
}

/** The roots that lie within both lists. */
function intersectedRoots(a: string[] | null, b: string[] | null): string[] | null {
  if (a === null || b === null) return a ?? b;
  const inner = b.filter((root) => a.some((outer) => isWithin(normalised(root), outer)));
  const outer = a.filter((root) => b.some((other) => isWithin(normalised(root), other)));
  return [...new Set([...inner, ...outer])];
}

function lower(a: Json | undefined, b: Json | undefined): SideEffectLevel | null {
  const known = [a, b].map(rankOf).filter((index) => index !== -1);
  return known.length === 0 ? null : (LEVELS[Math.min(...known)] ?? null);
}

const arrayOf = (value: Json | undefined): Json[] => (Array.isArray(value) ? value : []);
