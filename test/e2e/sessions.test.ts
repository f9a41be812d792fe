/** Sessions through everything that can die under them: a real Worker, a real runner, processes with side effects. */
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { commonHull } from "../support/common-hull.ts";
import { json } from "../support/hull-dev.ts";
import { until } from "../support/runner.ts";
import { kill } from "../support/shared.ts";
import { readEvents } from "../support/sse.ts";

const TOOL = "parameters: [{name: file, description: f}]";
const SKILLS = {
  "agent/SKILL.md": `---\nname: agent\ndescription: Works\nmode: llm\nprovider: mock\ntools:\n  - name: work\n    description: Works\n    command: [./work.sh]\n    ${TOOL}\n  - name: note\n    description: Notes\n    command: [./note.sh]\n    ${TOOL}\n---\nWork.\n`,
  // Its hook notes the same about a call that touches the file.
  "watched/SKILL.md": `---
name: watched
description: Works under watch
mode: llm
provider: mock
workspace_tools: true
hooks:
  PreToolUse:
    - matcher: Bash
      command: f=$(sed -n 's/.*touch \\([^" ]*\\).*/\\1/p'); echo run >> $f; until [ -e $f.go ]; do sleep 0.05; done; echo end >> $f
---
Work.
`,
  // Adds a line to a file of the session, says what it holds then, and removes another one.
  "agent/note.sh": '#!/bin/bash\ncd "$HULL_WORKSPACE" && echo noted >> "$1" && cat "$1" && rm -f sub/old\n',
  // Notes in a file that it runs, and, once the test lets it continue, that it has ended.
  "agent/work.sh":
    '#!/bin/bash\necho run >> "$1"; until [ -e "$1.go" ]; do sleep 0.05; done; echo end >> "$1"; echo tool end\n',
};

const { hull } = await commonHull(SKILLS);
const marks = await mkdtemp(join(hull.root, "sessions-"));

interface Run {
  status: string;
  run_id: string;
  result?: { text: string; tools_used: string[]; transcript: { messages: { content: unknown }[] } };
  error?: { code: string };
}

const marksIn = async (file: string): Promise<string> => readFile(file, "utf8").catch(() => "");

/** A new session whose run has begun its tool. */
let count = 0;
async function working(skill = "agent"): Promise<{ path: string; file: string; run: string }> {
  count += 1;
  const file = join(marks, String(count));
  const id = `dies-${count}`;
  const path = `/sessions/${id}`;
  await hull.post("/sessions", { id });
  const call =
    skill === "agent"
      ? { name: "work", arguments: { file } }
      : { name: "Bash", arguments: { command: `touch ${file} && cat ${file}` } };
  const mock = [{ tool_calls: [call] }, { text: "all done" }];
  const begun = await hull.post(`${path}/runs?wait=none`, {
    prompt: "go",
    options: { skill, mock },
  });
  const { run_id } = await json<{ run_id: string }>(begun);
  await until(
    () => marksIn(file),
    (text) => text !== "",
  );
  return { path, file, run: `${path}/runs/${run_id}` };
}

const ended = (path: string): Promise<Run> =>
  until(
    async () => json<Run>(await hull.call(path)).catch((): Run => ({ status: "running", run_id: "" })),
    ({ status }) => status !== "running",
  );
const next = async (path: string): Promise<Run> =>
  json(await hull.post(`${path}/runs`, { prompt: "and now?", options: { mock: [{ text: "rest" }] } }));

describe("in the middle of a tool", () => {
  test("the Worker dies: the process is followed, its result is the model's, and nothing runs twice", async () => {
    const { path, file, run } = await working();
    expect(await kill(hull, "worker")).toBeGreaterThan(0);
    await writeFile(`${file}.go`, "");
    const { status, result } = await ended(run);
    expect([status, result?.text, result?.tools_used]).toEqual(["done", "all done", ["work"]]);
    expect(await marksIn(file)).toBe("run\nend\n");
    expect(JSON.stringify(result?.transcript.messages)).toContain("tool end");
    expect((await next(path)).status).toBe("done");
    const events = await readEvents(await fromEvents(path, "done", 2));
    expect(events.map(({ id }) => id)).toEqual(events.map((_, n) => `${path.slice(10)}:${n + 1}`));
    expect(events.filter(({ event }) => event === "done")).toHaveLength(2);
  });

  test("the runner dies: the model learns that the outcome is unknown, and the session continues", async () => {
    const { path, file, run } = await working();
    expect(await kill(hull, "runner")).toBeGreaterThan(0);
    const { status, result } = await ended(run);
    expect([status, result?.text]).toEqual(["done", "all done"]);
    expect(JSON.stringify(result?.transcript.messages)).toMatch(/may or may not have taken effect/);
    expect((await marksIn(file)).match(/run/g)).toHaveLength(1);
    expect((await next(path)).status).toBe("done");
  });

  test("the run is cancelled: its process ends, and the next run works", async () => {
    const { path, file, run } = await working();
    const cancelled = await json<Run>(await hull.post(`${run}/cancel`, {}));
    expect([cancelled.status, cancelled.error?.code]).toEqual(["cancelled", "run_cancelled"]);
    await until(
      () => [...hull.processes().values()].filter((line) => line.includes("work.sh")).length,
      (processes) => processes === 0,
    );
    expect(await marksIn(file)).toBe("run\n");
    expect((await next(path)).status).toBe("done");
  });
});

describe("in the middle of a hook before a call", () => {
  test("the Worker dies: the command is followed, and then the call is made, each once", async () => {
    const { file, run } = await working("watched");
    expect(await kill(hull, "worker")).toBeGreaterThan(0);
    await writeFile(`${file}.go`, "");
    const { status, result } = await ended(run);
    expect([status, result?.text]).toEqual(["done", "all done"]);
    expect(await marksIn(file)).toBe("run\nend\n");
    expect(JSON.stringify(result?.transcript.messages)).toContain('"run\\nend"');
  });

  test("the runner dies: nobody knows what it would have said, so the call is refused", async () => {
    const { file, run } = await working("watched");
    expect(await kill(hull, "runner")).toBeGreaterThan(0);
    const { status, result } = await ended(run);
    expect([status, result?.text]).toEqual(["done", "all done"]);
    expect(await marksIn(file)).toBe("run\n");
    expect(JSON.stringify(result?.transcript.messages)).toMatch(
      /permission_denied.*A hook of the skill did not end/,
    );
  });
});

describe("files", () => {
  const note = async (path: string, file: string): Promise<string> => {
    const mock = [{ tool_calls: [{ name: "note", arguments: { file } }] }, { text: "noted" }];
    const body = { prompt: "go", options: { skill: "agent", mock } };
    const { text, transcript } = await json<NonNullable<Run["result"]>>(
      await hull.post(`${path}/runs`, body),
    );
    expect(text).toBe("noted");
    return JSON.stringify(transcript.messages);
  };
  const file = async (path: string, method = "GET", body?: string): Promise<[number, string]> => {
    const answer = await fetch(`${hull.url}${path}`, { method, ...(body === undefined ? {} : { body }) });
    return [answer.status, await answer.text()];
  };

  test("are the same over HTTP and for tools, also for a runner that had none of them", async () => {
    const path = "/sessions/dies-files";
    await hull.post("/sessions", { id: "dies-files" });
    expect((await file(`${path}/files/sub/old`, "PUT", "old"))[0]).toBe(201);
    expect(await note(path, "log")).toContain("noted");
    expect(await file(`${path}/files/log`)).toEqual([200, "noted\n"]);
    expect((await file(`${path}/files/sub/old`))[0]).toBe(404);
    expect((await file(`${path}/files/log`, "PUT", "from outside\n"))[0]).toBe(200);
    expect(await kill(hull, "runner")).toBeGreaterThan(0);
    await rm(join(hull.stateDir, "runner", "workspaces"), { recursive: true, maxRetries: 10 });
    await until(
      async () => (await hull.call("/readyz")).status,
      (status) => status === 200,
    );
    expect(await note(path, "log")).toContain("from outside\\nnoted");
    expect(await file(`${path}/files/log`)).toEqual([200, "from outside\nnoted\n"]);
    const { data } = await json<{ data: { path: string }[] }>(await hull.call(`${path}/files`));
    expect(data.map((row) => row.path)).toEqual(["log"]);
  });
});

/** A session's events from the first on, until so many of a name have come. */
async function fromEvents(path: string, name: string, times: number): Promise<Response> {
  const response = await hull.call(`${path}/events?after=0`);
  const decoder = new TextDecoder();
  let text = "";
  for await (const piece of response.body ?? []) {
    text += decoder.decode(piece, { stream: true });
    if (text.endsWith("\n\n") && text.split(`event: ${name}\n`).length > times) break;
  }
  return new Response(text);
}
