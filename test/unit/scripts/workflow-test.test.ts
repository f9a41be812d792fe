/** `hull workflow test` before it asks a server: which files it finds, and what it refuses in them. */
import { describe, expect, test } from "vitest";
import { hullHere } from "../../support/hull-here.ts";
import { serve } from "./answering-server.ts";
import { folder, skillText } from "./folder.ts";

const NOBODY = "http://127.0.0.1:1";
const tested = (cwd: string, ...paths: string[]) =>
  hullHere(["workflow", "test", ...paths, "--url", NOBODY], cwd);

describe("hull workflow test", () => {
  const good = "task: t\ngraph: {act: {}}\ncases: [{name: a}]\n";
  const bad = "cases: []";

  test.each<[what: string, files: Record<string, string>, paths: string[], code: number]>([
    ["a file", { "any.yaml": good }, ["any.yaml"], 4],
    ["a folder's own files", { "t/a.test.yml": good, "t/deep/b.test.yaml": bad }, ["t"], 4],
    ["the folders workflows below", { "t/a/workflows/b.test.json": bad }, ["t"], 1],
    ["none but tests", { "t/workflows/a.yaml": bad, "t/workflows/atest.yaml": bad }, ["t"], 3],
    [
      "none in hidden folders",
      { "t/.x/workflows/a.test.yaml": bad, "t/node_modules/x/workflows/a.test.yaml": bad },
      ["t"],
      3,
    ],
    [
      "the project's skills",
      { "skills/a/SKILL.md": skillText("A"), "skills/a/workflows/b.test.yaml": bad },
      [],
      1,
    ],
    ["nothing that is not there", {}, ["gone"], 3],
  ])("finds %s", async (_, files, paths, code) => {
    expect(await tested(folder(files), ...paths)).toMatchObject({ code });
  });

  test.each<[text: string, code: number, output: string]>([
    [
      "cases: [{name: a, task: t, graph: {}, expect: {colour: 1}}]",
      1,
      "a.test.yaml:1:48: error: cases.0.expect.colour: there is no such field",
    ],
    ["cases: []", 1, ":1:1: error: cases: "],
    ["cases: [{name: a, graph: {}}]", 1, ":1:9: error: cases.0: the case has no task"],
    ["cases: [{name: a, task: t}]", 1, ":1:9: error: cases.0: the case has neither graph nor workflow"],
    [
      "task: t\ngraph: {}\ncases: [{name: a}, {name: a}]",
      1,
      ":3:21: error: cases.1.name: another case has this name",
    ],
    ["task: t\ngraph: gone.yaml\ncases: [{name: a}]", 3, "gone.yaml cannot be read"],
    ["cases: [", 1, "a.test.yaml:1:9: error: the file is not valid YAML"],
  ])("refuses %j with its place", async (text, code, output) => {
    const { err, ...ended } = await tested(folder({ "a.test.yaml": text }), "a.test.yaml");
    expect({ ...ended, err }).toEqual({ code, out: "", err: expect.stringContaining(output) });
  });

  /** A Hull with one run, which has this record until somebody ends it. */
  const hullWith = (record: object): Promise<string> =>
    serve(({ method, url }, response) => {
      const ended = method === "POST" && url?.endsWith("/kill");
      response.statusCode = ended ? 409 : method === "DELETE" ? 204 : 200;
      response.end(
        JSON.stringify(
          ended
            ? { code: "workflow_ended", detail: "The run has ended." }
            : {
                id: "wf_1",
                explanation: "It runs.",
                finished_at: null,
                graph: { nodes: { act: {} } },
                stages: [],
                compensations: [],
                error: null,
                usage: { call_count: 0 },
                ...record,
              },
        ),
      );
    });

  test.each<[what: string, record: object, expected: string, code: number, says: string]>([
    [
      "a run that ends as its time is over",
      { status: "running" },
      "{}",
      1,
      "expected completed, got running",
    ],
    [
      "a name that no node has",
      { status: "completed", finished_at: "2026-01-01T00:00:00Z" },
      "{nodes: {act: {visits: 0}, atc: {visits: 0}}}",
      1,
      "nodes.atc: expected a node, got the graph has none of this name\n1 case",
    ],
  ])("reports %s", async (_, record, expected, code, says) => {
    const cwd = folder({
      "a.test.yaml": `task: t\ngraph: {act: {}}\ncases: [{name: a, expect: ${expected}}]\n`,
    });
    const url = await hullWith(record);
    const found = await hullHere(["workflow", "test", "a.test.yaml", "--timeout", "0", "--url", url], cwd);
    expect(found).toEqual({ code, out: expect.stringContaining(says), err: "" });
  });
});
