/** Reads a file of workflow tests (docs/testing.md): what each case runs, and what it expects. */
import { dirname, join } from "node:path";
import * as z from "zod";
import { messageOf } from "../../src/engine/fault.ts";
import { isObject } from "../../src/skill/json.ts";
import type { Json } from "../../src/skill/manifest.ts";
import type {
  WorkflowArtifact,
  WorkflowGraph,
  WorkflowOptions,
  WorkflowRequest,
} from "../../typed/client/api.d.ts";
import { EXIT } from "../command.ts";
import { type DocumentFile, readDocument, readObject } from "../document-file.ts";
import { FileError, type FileFault } from "../file-error.ts";

const json = z.custom<Json>((value) => value !== undefined);
const object = z.record(z.string(), json);
/** A document that the server checks. */
const document = <T>() => z.custom<T>(isObject, "must be an object");
const text = z.string().min(1);
const count = z.int().min(0);
/** One text that another one must contain, or several. */
const parts = z.union([z.string(), z.array(z.string())]);

const nodeExpectation = z.strictObject({
  visits: count.optional(),
  status: z.string().optional(),
  branch: z.string().optional(),
  attempts: count.optional(),
  error: z.string().nullable().optional(),
  text: parts.optional(),
  output: json.optional(),
});

const artifactExpectation = z.strictObject({
  node: z.string().optional(),
  kind: z.string().optional(),
  title: z.string().optional(),
  text: parts.optional(),
  data: json.optional(),
});

const expectation = z.strictObject({
  status: z.string().default("completed"),
  error: z.string().nullable().optional(),
  nodes: z.record(z.string(), nodeExpectation).default({}),
  order: z.array(z.string()).optional(),
  compensated: z.array(z.string()).optional(),
  result: json.optional(),
  artifacts: z.array(artifactExpectation).default([]),
  model_calls: count.optional(),
  unmet: z
    .strictObject({
      crashes: z.array(object).default([]),
      mocks: z.array(object).default([]),
      approvals: z.array(z.string()).default([]),
      signals: z.array(object).default([]),
    })
    .prefault({}),
});

type Trial = Required<NonNullable<WorkflowOptions["test"]>>;
const trial = z.strictObject({
  virtual_time: z.boolean().optional(),
  mocks: document<Trial["mocks"]>().optional(),
  approvals: document<Trial["approvals"]>().optional(),
  signals: z.array(document<Trial["signals"][number]>()).optional(),
  crashes: z.array(document<Trial["crashes"][number]>()).optional(),
});

/** What a case says, or the file for all of its cases. */
const shared = {
  graph: z.union([text, document<WorkflowGraph>()]).optional(),
  workflow: text.optional(),
  task: text.optional(),
  artifacts: z.array(document<WorkflowArtifact>()).optional(),
  options: document<WorkflowOptions>().optional(),
  test: trial.optional(),
};

const testFile = z.strictObject({
  ...shared,
  cases: z.array(z.strictObject({ name: text, ...shared, expect: expectation.prefault({}) })).min(1),
});

type TestFile = z.infer<typeof testFile>;
type Case = TestFile["cases"][number];
export type Expectation = z.infer<typeof expectation>;
export type NodeExpectation = z.infer<typeof nodeExpectation>;
export type ArtifactExpectation = z.infer<typeof artifactExpectation>;

export interface WorkflowTestCase {
  /** The path as the user gave it. */
  file: string;
  name: string;
  /** The body of `POST /workflows/execute`. */
  request: WorkflowRequest;
  virtual_time: boolean;
  expect: Expectation;
}

/** Throws `CommandError` with the place of each fault. */
export async function readTestFile(file: string): Promise<WorkflowTestCase[]> {
  const document = await readDocument(file);
  const parsed = testFile.safeParse(document.value);
  if (!parsed.success)
    throw refused(
      file,
      parsed.error.issues.flatMap((issue) => faultsOf(document, issue)),
    );
  const { cases, ...all } = parsed.data;
  const twice = cases.findIndex(({ name }, at) =>
    cases.some((other, first) => first < at && other.name === name),
  );
  const refusedAt = (path: string, message: string): FileError =>
    refused(file, [{ path, message, ...document.at(path) }]);
  if (twice !== -1) throw refusedAt(`cases.${twice}.name`, "another case has this name.");
  const made: WorkflowTestCase[] = [];
  for (const [at, one] of cases.entries()) {
    const source = await sourceOf(file, all, one);
    const task = one.task ?? all.task;
    if (task === undefined) throw refusedAt(`cases.${at}`, "the case has no task.");
    if (source.graph === undefined && source.workflow === undefined)
      throw refusedAt(`cases.${at}`, "the case has neither graph nor workflow.");
    const request = { task, ...source, ...settingsOf(all, one) };
    made.push({ file, name: one.name, request, virtual_time: virtualTime(all, one), expect: one.expect });
  }
  return made;
}

type Shared = Omit<TestFile, "cases">;

/** The graph of a case; a text is the path of a file, from the folder of the test file. */
async function sourceOf(
  file: string,
  all: Shared,
  one: Case,
): Promise<Pick<WorkflowRequest, "graph" | "workflow">> {
  const { graph, workflow } = one.graph === undefined && one.workflow === undefined ? all : one;
  if (workflow !== undefined) return { workflow };
  if (graph === undefined) return {};
  return { graph: typeof graph === "string" ? await readObject(join(dirname(file), graph)) : graph };
}

/**
 * The rest of a request. The mock provider answers unless the case names another one, and time passes at once unless the
 * case says otherwise.
 */
function settingsOf(all: Shared, one: Case): Pick<WorkflowRequest, "artifacts" | "options"> {
  const artifacts = one.artifacts ?? all.artifacts;
  const options = { ...all.options, ...one.options };
  const free =
    options.provider === undefined && options.model === undefined && options.model_tier === undefined;
  const { signals, crashes } = { ...all.test, ...one.test };
  const test = {
    virtual_time: virtualTime(all, one),
    mocks: { ...all.test?.mocks, ...one.test?.mocks },
    approvals: { ...all.test?.approvals, ...one.test?.approvals },
    ...(signals === undefined ? {} : { signals }),
    ...(crashes === undefined ? {} : { crashes }),
  };
  return {
    artifacts,
    options: { ...(free ? { provider: "mock" } : {}), ...options, test },
  };
}

const virtualTime = (all: Shared, one: Case): boolean =>
  one.test?.virtual_time ?? all.test?.virtual_time ?? true;

function faultsOf({ at }: DocumentFile, issue: z.core.$ZodIssue): FileFault[] {
  const fault = (keys: PropertyKey[], message: string): FileFault => {
    const path = keys.join(".");
    return { path, message: path === "" ? `the file: ${message}` : message, ...at(path) };
  };
  return issue.code === "unrecognized_keys"
    ? issue.keys.map((key) => fault([...issue.path, key], "there is no such field."))
    : [fault(issue.path, `${messageOf(issue)}.`)];
}

const refused = (file: string, faults: readonly FileFault[]): FileError =>
  new FileError(EXIT.failed, "bad_test", file, faults, "docs/testing.md lists the fields of a test file.");
