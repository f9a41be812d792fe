/** `define_tool` and `remove_tool`: the model of a run makes tools of its own. */

import { sha256, utf8 } from "../../bytes.ts";
import { plainResult } from "../../engine/agent/call-results.ts";
import type { AgentToolResult } from "../../engine/agent/records.ts";
import type { AgentSpec, AgentTool } from "../../engine/agent/spec.ts";
import type { AgentEffectContext, PlannedCall } from "../../engine/agent/step.ts";
import { SkillNotFound } from "../../errors/request.ts";
import { HullError } from "../../errors.ts";
import { bundledVersion, createSkill, removeSkillsBy } from "../../registry/stored-skills/rows.ts";
import { isObject } from "../../skill/json.ts";
import type { JsonObject } from "../../skill/manifest.ts";
import { DEFINE_TOOL } from "../../skill/tool-names.ts";
import { parametersOf } from "../../skill/tools-json/parameters.ts";
import { RESERVED_TOOLS } from "../../skill/tools-json/read.ts";
import { handlerFault } from "../../tool/isolate/handler.ts";
import type { RunContext } from "../context.ts";
import { toolPolicy } from "../handler/policy.ts";
import { dropSkill, uploadSkill } from "../upload.ts";
import { UPLOAD_RULES } from "../v1-skills.ts";
import {
  DEFINED,
  type DefinedTool,
  definedFiles,
  sessionRecord,
  skillNameOf,
  toolOfSession,
} from "./session-tools.ts";
import { toolsOfSkill } from "./skill-tools.ts";
import { servedSkill } from "./skills.ts";

const REMOVE_TOOL = "remove_tool";
const NAME = /^[a-z][a-z0-9_]{0,63}$/;
/** Longest code, in UTF-16 units. A session's records hold the code. */
const MAX_CODE = 65_536;
/** Time limit in ms for loading a module. */
const MAX_LOAD_MS = 2000;

/** A call of the two tools may make tools of the session, and store skills if the run began with this right. */
const STORES: JsonObject = { stores: true };

/**
 * The two tools, for runs with the option `dynamic_tools`.
 * @param stores whether the tools may store and remove skills: true if the caller of the run may do so
 */
export function dynamicTools(stores: boolean): AgentTool[] {
  const text = (description: string): JsonObject => ({ type: "string", description });
  const tool = (
    name: string,
    description: string,
    properties: JsonObject,
    required: string[],
  ): AgentTool => ({
    definition: { name, description, parameters: { type: "object", properties, required } },
    executor: "builtin",
    annotations: { side_effect_level: "workspace_write" },
    handler: stores ? STORES : null,
    skill: null,
  });
  return [
    tool(
      DEFINE_TOOL,
      "Defines a tool in JavaScript, which can be called from the next turn on. It has no network and no variables.",
      {
        name: text("1 to 64 of a-z0-9_, the first a letter"),
        description: text("What the tool does"),
        parameters: text(
          'JSON: definitions by name, e.g. {"city": {"type": "string", "description": "…"}}; "optional": true where it is',
        ),
        code: text(
          "Body of an async function of args and ctx, which returns the result; workDir is the folder of the session's files. Or a whole module that begins with: export default",
        ),
        ...(stores ? { persistent: text('"true": it is stored as a skill, for other sessions too') } : {}),
      },
      ["name", "description", "code"],
    ),
    tool(REMOVE_TOOL, `Removes a tool that ${DEFINE_TOOL} made.`, { name: text("Name of the tool") }, [
      "name",
    ]),
  ];
}

/** Executes a call of one of the two. The model gets every fault of the call as text. */
export async function runDynamicTool(
  { call, tool }: PlannedCall,
  { context, spec }: { context: RunContext; spec: AgentSpec },
  { tools }: Pick<AgentEffectContext, "tools">,
): Promise<AgentToolResult> {
  const args = call.arguments ?? {};
  const stores = isObject(tool.handler) && tool.handler.stores === true;
  try {
    return tool.definition.name === DEFINE_TOOL
      ? await define(args, { context, spec, stores })
      : await remove(args, { context, spec, stores, tools });
  } catch (error) {
    // Faults of a stored skill: its name is taken, or there are too many.
    if (!(error instanceof HullError) || error.data.status >= 500) throw error;
    return failed(error.message);
  }
}

interface Definition extends DefinedTool {
  parameters: JsonObject;
}

interface Made {
  context: RunContext;
  spec: AgentSpec;
  /** See `dynamicTools`. */
  stores: boolean;
}

const MAY_NOT_STORE = "The key that started this run may not publish skills";

async function define(args: JsonObject, { context, spec, stores }: Made): Promise<AgentToolResult> {
  const persistent = args.persistent === true || args.persistent === "true";
  if (persistent && !stores) return failed(`${MAY_NOT_STORE}; leave out persistent.`);
  const read = readDefinition(args, spec);
  if (typeof read === "string") return failed(read);
  const { isolates } = context.deployment;
  if (isolates === null) return failed("Tools cannot be defined here: the deployment has no LOADER binding.");
  const isolate = {
    isolates,
    places: context.isolatePlaces,
    source: async () => read.code,
    guarded: context.settings.local,
  };
  const fault = await handlerFault(isolate, `scripts/${read.name}.js`, MAX_LOAD_MS);
  if (fault !== null) return failed(`The code cannot be loaded: ${context.settings.redactor.text(fault)}`);
  const defined = persistent ? await stored(context, read) : ofSession(context, read);
  const content = { defined: read.name, ...(persistent ? { skill: skillNameOf(read.name) } : {}) };
  return { ...plainResult("ok", JSON.stringify(content), null), value: content, tools: { defined } };
}

/** The definition, or a text that tells the model its faults. */
function readDefinition(args: JsonObject, spec: AgentSpec): Definition | string {
  const { name, description, parameters = {}, code } = args;
  if (typeof name !== "string" || !NAME.test(name)) {
    return "name must be 1 to 64 of a-z0-9_, the first a letter.";
  }
  const taken = spec.tools.some(({ definition }) => definition.name === name);
  if (taken || RESERVED_TOOLS.includes(name)) return `There is a tool ${name} already; choose another name.`;
  if (typeof description !== "string" || description.trim() === "") return "description must be a string.";
  if (typeof code !== "string" || code.trim() === "") return "code must be the body of a function.";
  if (code.length > MAX_CODE) return `code has ${code.length} characters; at most ${MAX_CODE}.`;
  const declared = typeof parameters === "string" ? parameters : JSON.stringify(parameters);
  const schema = parametersOf(declared);
  if ("fault" in schema) return schema.fault;
  const of = { name, description, parameters: schema.schema, declared: JSON.parse(declared) };
  return { ...of, code: moduleOf(code) };
}

/**
 * Wraps a body in a module. The inner function lets the body redeclare names of the outer one. Line numbers stay those
 * of the body.
 */
function moduleOf(code: string): string {
  if (code.trimStart().startsWith("export default")) return code;
  return `export default async function (args, ctx) { const workDir = args.__workDir; return (async () => { ${code}\n})(); }\n`;
}

function ofSession(context: RunContext, { name, description, parameters, code }: Definition): AgentTool {
  const definition = { name, description, parameters };
  const tool = toolOfSession(definition);
  return {
    definition,
    executor: "isolate",
    ...toolPolicy(context.settings, sessionRecord(name, context.tenant), tool),
    handler: { code },
    skill: null,
    trust: "session",
  };
}

/** Stores the skill for `/v1/skills`, and serves it. @throws HullError if it cannot be stored */
async function stored(context: RunContext, definition: Definition): Promise<AgentTool> {
  const files = Object.entries(definedFiles(definition)).map(([path, text]) => {
    return { path, mode: 0o644 as const, bytes: utf8(text) };
  });
  const slug = skillNameOf(definition.name);
  // Imported on first use, because it imports the YAML parser.
  const { readStoredSkill } = await import("../../skill/stored-skill.ts");
  const checked = await readStoredSkill(files, { ...UPLOAD_RULES, name: slug });
  // The bundle comes first, since a sweep removes one without a version: a failure after the upload would leave half a
  // skill.
  const version = await bundledVersion(context, checked);
  const { record } = await uploadSkill(context, files, slug, { fresh: true });
  // Somebody may have removed the upload alone.
  await removeSkillsBy(context, slug, DEFINE_TOOL);
  const made = await sha256(crypto.randomUUID());
  await createSkill(context, { label: null, unique: false, by: DEFINE_TOOL, version, made });
  const [tool = ofSession(context, definition)] = toolsOfSkill(context.settings, record, false);
  return tool;
}

async function remove(
  { name }: JsonObject,
  { context, spec, stores, tools }: Made & { tools: readonly AgentTool[] },
): Promise<AgentToolResult> {
  const wanted = (tool: AgentTool): boolean => tool.definition.name === name;
  const tool = tools.find(wanted) ?? spec.tools.find(wanted);
  if (typeof name !== "string" || tool === undefined)
    return failed(`There is no tool ${JSON.stringify(name)}.`);
  const slug = tool.trust === "uploaded" ? tool.skill : null;
  const stored = slug === null ? null : await storedAs(context, slug);
  // A tool of the session can outlive the skill that it was stored as.
  const outlived = stored === "gone" && tools.some(wanted);
  if (tool.trust !== "session" && stored !== "defined" && !outlived)
    return failed(`${DEFINE_TOOL} did not make the tool ${name}, so it stays.`);
  if (slug !== null && !stores) return failed(`${MAY_NOT_STORE}, and removes none.`);
  if (slug !== null && stored === "defined") await dropSkill(context.deployment, slug, context.tenant);
  if (slug !== null) await removeSkillsBy(context, slug, DEFINE_TOOL);
  const content = { removed: name };
  return { ...plainResult("ok", JSON.stringify(content), null), value: content, tools: { removed: name } };
}

/** Whether `define_tool` made the skill of this slug. */
async function storedAs(context: RunContext, slug: string): Promise<"defined" | "otherwise" | "gone"> {
  try {
    const { uploaded_by, manifest } = await servedSkill(context, slug);
    const own = uploaded_by === context.tenant && manifest.metadata?.[DEFINED.key] === DEFINED.value;
    return own ? "defined" : "otherwise";
  } catch (error) {
    if (error instanceof SkillNotFound) return "gone";
    throw error;
  }
}

function failed(error: string): AgentToolResult {
  return { ...plainResult("error", JSON.stringify({ error }), "tool_error"), retryable: false };
}
