/** Tools of a tools.json whose handlers are processes: from the build over the Worker to the runner and back. */
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { commonHull } from "../support/common-hull.ts";
import { json } from "../support/hull-dev.ts";
import { until } from "../support/runner.ts";
import { kill } from "../support/shared.ts";
import { readEvents } from "../support/sse.ts";

const tool = (name: string, script: string, more: object = {}) => ({
  name,
  script,
  description: name,
  parameters: { text: { type: "string", description: "t" } },
  ...more,
});
const SKILLS = {
  "count/SKILL.md": "---\nname: count\ndescription: Counts\nmode: llm\nprovider: mock\n---\nCount.\n",
  "count/tools.json": JSON.stringify([
    tool("count_py", "scripts/count.py"),
    tool("count_sh", "scripts/count.sh"),
    tool("count_js", "scripts/count.js", { "x-tier": "runner" }),
    tool("slow", "scripts/slow.py"),
    tool("broken_js", "scripts/broken.js"),
    tool("broken_ts", "scripts/broken.ts", { "x-tier": "runner" }),
  ]),
  "count/scripts/count.py":
    'def handler(args):\n    print("counting")\n    open("counted.txt", "a").write("py ")\n    return {"count": len(args["text"].split())}\n',
  "count/scripts/count.sh": "echo '\"three\"'\n",
  "count/scripts/count.js":
    'import { readFileSync } from "node:fs";\nexport default (args, ctx) => { ctx.emit("half"); return { js: true, saw: readFileSync("counted.txt", "utf8") }; };\n',
  "count/scripts/broken.js": "export default () => {\n  const = 1;\n};\n",
  "count/scripts/broken.ts": 'import "./lost.ts";\nexport default (args: string) => args;\n',
  "count/scripts/slow.py":
    'import os, time\ndef handler(args):\n    file = args["text"]\n    open(file, "a").write("run ")\n    while not os.path.exists(file + ".go"): time.sleep(0.05)\n    return "slow end"\n',
};

const { hull } = await commonHull(SKILLS);

interface Run {
  status: string;
  result?: { text: string };
}

test("attack: a handler with a syntax error answers the model with its place, and the build reports it", async () => {
  const call = (name: string) => ({ tool_calls: [{ name, arguments: { text: "a" } }] });
  const mock = [call("broken_js"), call("broken_ts"), { text: "done" }];
  const response = await hull.post(
    "/runs",
    { prompt: "go", options: { skill: "count", mock } },
    { accept: "text/event-stream" },
  );
  const text = JSON.stringify(await readEvents(response));
  expect(text).toMatch(
    /error.{1,8}scripts\/broken\.js, line 2, column 9: The handler cannot be built: Expected ident/,
  );
  expect(text).toMatch(
    /error.{1,8}scripts\/broken\.ts, line 1, column 8: The handler cannot be built: Could not res/,
  );
  expect(text).not.toContain("not available");
  await hull.printed(/count\/scripts\/broken\.js:2:9: error: .*handler_build|broken\.js:2:9: error: /);
});

test("a session's run calls handlers in Python, shell and Node, which share its files", async () => {
  await hull.post("/sessions", { id: "handlers-1" });
  const calls = ["count_py", "count_sh", "count_js"].map((name) => ({ name, arguments: { text: "a b c" } }));
  const mock = [...calls.map((call) => ({ tool_calls: [call] })), { text: "all done" }];
  const options = { skill: "count", mock };
  const response = await hull.post(
    "/sessions/handlers-1/runs",
    { prompt: "go", options },
    { accept: "text/event-stream" },
  );
  const events = await readEvents(response);
  const output = events.filter(({ event }) => event === "tool_output").map(({ data }) => data);
  const written = (stream: string) => output.filter((part) => part.stream === stream).map(({ text }) => text);
  // What may be the beginning of a secret comes in a part of its own.
  expect(written("stderr").join("")).toBe("counting\n");
  expect(written("emit")).toEqual(["half"]);
  const results = events.filter(({ event }) => event === "tool_result").map(({ data }) => data.ok);
  expect(results).toEqual([true, true, true]);
  const transcript = await (await hull.call("/sessions/handlers-1/transcript?view=full")).text();
  for (const said of ['{"count":3}', "three", '{"js":true,"saw":"py "}']) expect(transcript).toContain(said);
  expect(await (await hull.call("/sessions/handlers-1/files/counted.txt")).text()).toBe("py ");
});

test("a Worker that dies while a handler runs: the next run attempt has its result, and it ran once", async () => {
  await hull.post("/sessions", { id: "handlers-2" });
  const file = join(hull.root, "slow-marks");
  const mock = [{ tool_calls: [{ name: "slow", arguments: { text: file } }] }, { text: "all done" }];
  const begun = await hull.post("/sessions/handlers-2/runs?wait=none", {
    prompt: "go",
    options: { skill: "count", mock },
  });
  const { run_id } = await json<{ run_id: string }>(begun);
  const marks = () => readFile(file, "utf8").catch(() => "");
  await until(marks, (text) => text !== "");
  expect(await kill(hull, "worker")).toBeGreaterThan(0);
  await writeFile(`${file}.go`, "");
  const run = await until(
    async () =>
      json<Run>(await hull.call(`/sessions/handlers-2/runs/${run_id}`)).catch(
        (): Run => ({ status: "running" }),
      ),
    ({ status }) => status !== "running",
  );
  expect([run.status, run.result?.text]).toEqual(["done", "all done"]);
  expect(JSON.stringify(run)).toContain("slow end");
  expect(await marks()).toBe("run ");
});
