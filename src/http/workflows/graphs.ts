/** Workflow graphs: check, edit, store by name. */
import { graphBody, validateBody } from "../../api/bodies/workflows.ts";
import { type Fault, faultsBelow } from "../../engine/fault.ts";
import { EDIT_OPERATIONS } from "../../engine/workflow/edit.ts";
import { type Graph, readGraph } from "../../engine/workflow/graph.ts";
import { graphDigest } from "../../engine/workflow/skill-file.ts";
import { CallNotFound } from "../../errors/llm.ts";
import { BadRequest, CatalogMissing, InputInvalid } from "../../errors/request.ts";
import { newId } from "../../llm/transcript.ts";
import { checkGraph, checkValid } from "../../run/workflow/check-graph.ts";
import * as directory from "../../session/workflow/directory.ts";
import { asJson } from "../../skill/json.ts";
import type { Json } from "../../skill/manifest.ts";
import { readJson } from "../body.ts";
import type { RequestContext } from "../context.ts";
import { jsonNow, pageLimit } from "../page.ts";
import type { Handler } from "../routes.ts";
import { findSlug, servedTo } from "../served.ts";

/** The form of a stored workflow's name. */
const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/;
/** Names that other routes use. */
const RESERVED: ReadonlySet<string> = new Set(["runs", "validate", "execute", ...EDIT_OPERATIONS.keys()]);

/** The graph of a request. @throws InputInvalid with a path below `graph` for each fault of its shape */
export function graphOf(given: Json): Graph {
  const read = readGraph(given, () => `wfg_${newId().replaceAll("-", "")}`);
  if ("faults" in read) throw refusedAt("graph", read.faults);
  return read.graph;
}

export function refusedAt(at: string, faults: readonly Fault[]): Error {
  const errors = faultsBelow(at, faults);
  const first = errors[0] ?? { path: at, message: "is invalid" };
  return new InputInvalid({ reason: `${first.path}: ${first.message}`, errors });
}

/** `POST /workflows/validate`. */
export async function validateWorkflow(context: RequestContext): Promise<Response> {
  const { graph, ceiling } = await readJson(context.request, validateBody);
  const limit = ceiling == null ? undefined : asJson(ceiling);
  return jsonNow(await checkGraph(context, graphOf(graph), limit));
}

/** `PUT /workflows/{name}`: the next version, unless the last one is the same. */
export const putWorkflow: Handler = async (context, { name = "" }) => {
  if (!NAME.test(name) || RESERVED.has(name)) {
    const detail = `A workflow is called by 1 to 128 characters A-Za-z0-9._-, and not ${[...RESERVED].join(", ")}.`;
    throw new BadRequest({ detail });
  }
  const body = await readJson(context.request, graphBody);
  const graph = { ...graphOf(body.graph), name };
  await checkValid(context, graph);
  const digest = graphDigest(graph);
  const { created, ...stored } = await directory.storeWorkflow(context, {
    name,
    digest,
    graph,
  });
  return jsonNow(stored, created ? 201 : 200);
};

/** `GET /workflows`: the last versions of the stored ones and those of the served skills, by name. */
export const listWorkflows: Handler = async (context) => {
  const { query } = context;
  const after = query.get("cursor") ?? "";
  const limit = pageLimit(query);
  const stored = await directory.listWorkflows(context, limit, after);
  const catalog = await servedTo(context).catch(CatalogMissing.orNull);
  const ofSkills = (catalog?.cards ?? []).flatMap(({ slug, workflows = [] }) =>
    workflows.map(({ name, digest }) => ({
      name: `${slug}/${name}`,
      version: null,
      digest,
      created_at: null,
    })),
  );
  const all = [...stored.data, ...ofSkills.filter(({ name }) => name > after)];
  const sorted = all.toSorted((a, b) => (a.name < b.name ? -1 : 1));
  const data = sorted.slice(0, limit);
  const more = sorted.length > limit || stored.next_cursor !== null;
  return jsonNow({ data, next_cursor: more ? (data.at(-1)?.name ?? null) : null });
};

/** `GET /workflows/{name}`, of one version as `name@version`; `GET /workflows/{skill}/{name}`. */
export const getWorkflow: Handler = async (context, { skill, name = "" }) =>
  jsonNow(await namedWorkflow(context, skill === undefined ? name : `${skill}/${name}`));

/** `DELETE /workflows/{name}`: removes all versions. Runs that began with them continue. */
export const deleteWorkflow: Handler = async (context, { name = "" }) => {
  if (!(await directory.removeWorkflow(context, name)))
    throw new CallNotFound({ what: "workflow", id: name });
  return new Response(null, { status: 204 });
};

/** @param name `name`, `name@version`, or `skill/name` of a served skill @throws CallNotFound SkillNotFound */
export async function namedWorkflow(
  context: RequestContext,
  name: string,
): Promise<directory.StoredWorkflow> {
  const slash = name.indexOf("/");
  if (slash === -1) return storedWorkflow(context, name);
  const { card } = await findSlug(context, name.slice(0, slash));
  const { workflows = [] } = await context.deployment.registry.skill(card.version);
  const found = workflows.find((one) => one.name === name.slice(slash + 1));
  if (found === undefined) throw new CallNotFound({ what: "workflow", id: name });
  return { name, version: null, digest: found.digest, created_at: null, graph: graphOf(found.graph) };
}

async function storedWorkflow(context: RequestContext, name: string): Promise<directory.StoredWorkflow> {
  const [, plain = name, version] = /^(.*?)(?:@(\d{1,9}))?$/.exec(name) ?? [];
  const stored = await directory.workflowNamed(
    context,
    plain,
    version === undefined ? null : Number(version),
  );
  if (stored === null) throw new CallNotFound({ what: "workflow", id: name });
  return stored;
}
