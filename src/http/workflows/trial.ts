/** Reads `options.test` of a workflow run: what replaces models, commands, people, the clock, and where the process dies. */

import * as z from "zod/mini";
import type { GivenTest } from "../../api/bodies/workflows.ts";
import type { CrashPoint } from "../../engine/workflow/answers.ts";
import { CRASH_PLACES } from "../../engine/workflow/crash-places.ts";
import type { Graph, NodeKind } from "../../engine/workflow/graph.ts";
import type { CommandMock, WorkflowTest } from "../../engine/workflow/records.ts";
import { memberInvalid } from "../../errors/member-invalid.ts";
import { InputInvalid } from "../../errors/request.ts";
import { readMocks } from "../../model/mock/read.ts";
import { isObject } from "../../skill/json.ts";
import type { Json } from "../../skill/manifest.ts";

const maybe = z.exactOptional;

const MAX_OUTPUT = 256 * 1024;

const commandShape = () =>
  z.strictObject({
    exit_code: maybe(z.nullable(z.int().check(z.gte(0), z.lte(255)))),
    output: maybe(z.string().check(z.maxLength(MAX_OUTPUT))),
  });

/** The places where an attempt of a node can crash. Nodes of all other kinds begin and end in one write. */
const CRASH_POINTS: { [kind in NodeKind]?: readonly CrashPoint["at"][] } = {
  stage: CRASH_PLACES,
  verify: CRASH_PLACES,
  subagent: CRASH_PLACES,
  map: CRASH_PLACES,
  wait: ["begun", "settled"],
};
const ASKS: ReadonlySet<NodeKind> = new Set(["stage", "verify", "subagent", "map"]);

/** @throws InputInvalid with the path of each part that does not fit the graph */
export function readTest(test: GivenTest, graph: Graph): WorkflowTest {
  const { virtual_time = false, mocks = {}, approvals = {}, signals = [], crashes } = test;
  for (const id of Object.keys(approvals)) nodeOf(graph, id, `approvals.${id}`);
  const models: [string, Json[][]][] = [];
  const commands: [string, CommandMock[]][] = [];
  for (const [id, list] of Object.entries(mocks)) {
    const path = `mocks.${id}`;
    const node = nodeOf(graph, id, path);
    if (!ASKS.has(node.kind))
      throw refused(path, `names a node of kind ${node.kind}, which asks no model and runs no command`);
    const lists = byAttempt(list, path);
    if (node.kind === "verify" && node.verify?.command !== undefined)
      commands.push([id, lists.map(commandIn)]);
    else models.push([id, lists.map(modelIn)]);
  }
  return {
    virtual_time,
    mocks: Object.fromEntries(models),
    commands: Object.fromEntries(commands),
    approvals,
    signals: signals.map(({ name, key = null, payload = null }) => ({ name, key, payload })),
    ...(crashes === undefined
      ? {}
      : { crashes: crashes.map((point, at) => crashIn(point, graph, `crashes.${at}`)) }),
  };
}

/** The answers for one attempt, and their path in the request. */
interface Answers {
  answers: Json[];
  path: string;
}

function byAttempt(list: Json[], path: string): Answers[] {
  const lists = list.filter(Array.isArray);
  return lists.length > 0 && lists.length === list.length
    ? lists.map((answers, at) => ({ answers, path: `${path}.${at}` }))
    : [{ answers: list, path }];
}

function modelIn({ answers, path }: Answers): Json[] {
  const read = readMocks(answers, `options.test.${path}`);
  if ("mocks" in read) return answers;
  throw new InputInvalid({ reason: read.faults[0]?.message ?? "", errors: read.faults });
}

function commandIn({ answers, path }: Answers): CommandMock {
  const [answer, ...more] = answers;
  const parsed = commandShape().safeParse(answer);
  if (!parsed.success || more.length > 0 || !isObject(answer))
    throw refused(path, "must be one {exit_code?, output?}: a command ends once in each attempt");
  const { exit_code = 0, output = "" } = parsed.data;
  return { exit_code, output };
}

function crashIn(
  { node: id, visit = 1, attempt = 1, item, at }: Partial<CrashPoint> & Pick<CrashPoint, "node" | "at">,
  graph: Graph,
  path: string,
): CrashPoint {
  const { kind } = nodeOf(graph, id, `${path}.node`);
  const places = CRASH_POINTS[kind] ?? ["settled"];
  if (!places.includes(at))
    throw refused(`${path}.at`, `must be ${places.join(" or ")}, since ${id} is a node of kind ${kind}`);
  if (item !== undefined && kind !== "map")
    throw refused(`${path}.item`, `is for nodes of kind map, and ${id} is of kind ${kind}`);
  return { node: id, visit, attempt, at, ...(item === undefined ? {} : { item }) };
}

function nodeOf({ nodes }: Graph, id: string, path: string) {
  const node = Object.hasOwn(nodes, id) ? nodes[id] : undefined;
  if (node === undefined) throw refused(path, "names no node");
  return node;
}

function refused(place: string, message: string): Error {
  return memberInvalid(`options.test.${place}`, message);
}
