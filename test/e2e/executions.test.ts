/** Idempotent and asynchronous calls through everything that can die under them. */
import { mkdtemp, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { commonHull } from "../support/common-hull.ts";
import { json } from "../support/hull-dev.ts";
import { until } from "../support/runner.ts";
import { kill } from "../support/shared.ts";
import { dataOf, readEvents, type SseEvent, textOf } from "../support/sse.ts";

/** Until the test lets it continue. */
const HELD = 'until [ -e "$file.go" ]; do sleep 0.05; done';
/** Notes in the file that its input names that it runs. */
const script = (name: string, waits: string): Record<string, string> => ({
  [`${name}/SKILL.md`]: `---\nname: ${name}\ndescription: Works\nrun: [./work.sh]\n---\nWorks.\n`,
  [`${name}/work.sh`]: `#!/bin/bash\nread -r file; echo run >> "$file"; echo begin; ${waits}; echo end\n`,
});
const SKILLS = {
  ...script("work", HELD),
  "copy/SKILL.md":
    "---\nname: copy\ndescription: Copies\nrun: [./copy.sh]\ninput: file\noutput: text\n---\nCopies.\n",
  "copy/copy.sh": '#!/bin/bash\ncat "$HULL_INPUT_FILE"\n',
  "agent/SKILL.md":
    "---\nname: agent\ndescription: Works by a tool\nmode: llm\nprovider: mock\ntools:\n  - name: work\n    description: Works\n    command: [./tool.sh]\n    parameters: [{name: file, description: f}]\n---\nWork.\n",
  "agent/tool.sh": `#!/bin/bash\nfile=$1; echo run >> "$file"; ${HELD}; echo tool end\n`,
};

const { hull } = await commonHull(SKILLS);
const marks = await mkdtemp(join(hull.root, "executions-"));

/** A file for one run to leave its mark in, and the key of its call. */
let count = 0;
function fresh(): { file: string; key: string } {
  count += 1;
  return { file: join(marks, String(count)), key: `executions-${count}` };
}

const call = (skill: string, key: string, file: string, headers: Record<string, string> = {}) =>
  hull.call(`/skills/${skill}`, file, { headers: { "idempotency-key": key, ...headers } });

/** How many processes began to work on a file. */
const runs = async (file: string): Promise<number> =>
  (await readFile(file, "utf8").catch(() => "")).split("run\n").length - 1;
const running = (file: string): Promise<number> =>
  until(
    () => runs(file),
    (n) => n > 0,
  );
/** Lets the run of a file end. */
const letGo = (file: string): Promise<void> => writeFile(`${file}.go`, "");

const ready = (): Promise<number> =>
  until(
    async () => (await hull.call("/readyz").catch(() => null))?.status ?? 0,
    (status) => status === 200,
  );

async function problem(response: Response): Promise<[number, unknown]> {
  const { code } = await json(response);
  return [response.status, code];
}

describe("S83", () => {
  test("two calls at once with one key are one run with one answer, replayed later", async () => {
    const { file, key } = fresh();
    const both = Promise.all([call("work", key, file), call("work", key, file)]);
    await running(file);
    await letGo(file);
    const answers = await both;
    expect(await Promise.all(answers.map((answer) => answer.text()))).toEqual([
      "begin\nend\n",
      "begin\nend\n",
    ]);
    const later = await call("work", key, file);
    expect([await later.text(), later.headers.get("x-hull-replayed")]).toEqual(["begin\nend\n", "1"]);
    expect(await problem(await call("work", key, `${file}.other`))).toEqual([422, "idempotency_key_reused"]);
    expect(await runs(file)).toBe(1);
  });

  test("respond-async: 202 with the address of the execution; cancelling ends the process", async () => {
    const { file } = fresh();
    const prefer = { headers: { prefer: "respond-async" } };
    const accepted = await hull.call("/skills/work", file, prefer);
    const { id } = await json<{ id: string }>(accepted);
    expect([accepted.status, accepted.headers.get("location")]).toEqual([202, `/executions/${id}`]);
    await letGo(file);
    const done = await until(
      async () => json(await hull.call(`/executions/${id}`)),
      ({ status }) => status !== "running",
    );
    expect(done).toMatchObject({ status: "done", result: { status: 200, text: "begin\nend\n" } });

    const second = fresh();
    const { id: other } = await json<{ id: string }>(await hull.call("/skills/work", second.file, prefer));
    await running(second.file);
    const cancelled = await hull.call(`/executions/${other}`, undefined, { method: "DELETE" });
    expect(await json(cancelled)).toMatchObject({
      status: "cancelled",
      error: { code: "execution_cancelled" },
    });
    const result = await hull.call(`/executions/${other}/result`);
    expect(await problem(result)).toEqual([409, "execution_cancelled"]);
    await until(
      () => [...hull.processes().values()].filter((line) => line.includes("work.sh")).length,
      (left) => left === 0,
    );
  });
});

test("inputs and answers that are too large for an isolate are kept too", async () => {
  const { key } = fresh();
  const bytes = (first: number): Uint8Array<ArrayBuffer> =>
    new Uint8Array(9_000_000).fill(1).fill(first, 0, 1);
  const copy = (first: number): Promise<Response> =>
    hull.call("/skills/copy", bytes(first), {
      headers: { "idempotency-key": key, "content-type": "application/octet-stream" },
    });
  const answers = [await copy(2), await copy(2)];
  expect(answers.map((answer) => answer.headers.get("x-hull-replayed"))).toEqual([null, "1"]);
  for (const answer of answers) expect(Buffer.from(bytes(2)).equals(await answer.bytes())).toBe(true);
  expect(await problem(await copy(3))).toEqual([422, "idempotency_key_reused"]);
});

describe("S84: run once, answered once", () => {
  test("the client's connection breaks", async () => {
    const { file, key } = fresh();
    const abort = new AbortController();
    const first = hull.call("/skills/work", file, {
      headers: { "idempotency-key": key },
      signal: abort.signal,
    });
    await running(file);
    abort.abort();
    await expect(first).rejects.toThrow();
    await letGo(file);
    expect(await (await call("work", key, file)).text()).toBe("begin\nend\n");
    expect(await runs(file)).toBe(1);
  });

  test.each(["work", "agent"])("%s: the Worker dies in mid-run", async (skill) => {
    const { file, key } = fresh();
    const first = call(skill, key, file).then(
      (answer) => answer.status,
      () => 0,
    );
    await running(file);
    expect(await kill(hull, "worker")).toBeGreaterThan(0);
    expect(await first).not.toBe(200);
    await letGo(file);
    await ready();
    const second = await call(skill, key, file);
    expect(second.status).toBe(200);
    expect(await second.text()).toContain(skill === "work" ? "begin\nend\n" : "tool end");
    expect(await (await call(skill, key, file)).text()).toContain("end");
    expect(await runs(file)).toBe(1);
  });
});

/** A run of the agent that no request waits for, its tool under way. */
async function begun(): Promise<{ file: string; id: string; run_id: string }> {
  const { file } = fresh();
  const mock = [{ tool_calls: [{ name: "work", arguments: { file } }] }, { text: "done" }];
  const options = { skill: "agent", tool_retries: 0, mock };
  const accepted = await hull.post("/runs", { prompt: file, options }, { prefer: "respond-async" });
  const { id, run_id } = await json<{ id: string; run_id: string }>(accepted);
  expect([accepted.status, accepted.headers.get("location")]).toEqual([202, `/executions/${id}`]);
  await running(file);
  return { file, id, run_id };
}
const result = async (id: string) => json(await hull.call(`/executions/${id}/result`));

describe("S84: the Worker dies and no request follows", () => {
  let served: { file: string; id: string };
  let run: { file: string; id: string; run_id: string };
  beforeAll(async () => {
    const { file } = fresh();
    const accepted = await hull.call("/skills/agent", file, { headers: { prefer: "respond-async" } });
    const { id } = await json<{ id: string }>(accepted);
    await running(file);
    served = { file, id };
    run = await begun();
    expect(await kill(hull, "worker")).toBeGreaterThan(0);
    await letGo(served.file);
    await letGo(run.file);
  });

  test("a call is resumed and ends by itself", async () => {
    const { file, id } = served;
    await hull.printed(new RegExp(`^agent ${id} done `, "m"));
    expect(await json(await hull.call(`/executions/${id}`))).toMatchObject({ status: "done" });
    expect(await runs(file)).toBe(1);
  });

  test("a run without a session is resumed and ends by itself, its tool run once", async () => {
    const { file, id, run_id } = run;
    await hull.printed(new RegExp(`^runs ${id} done `, "m"));
    const document = await result(id);
    expect(document).toMatchObject({ run_id, session_id: null, status: "done", successful_tools: ["work"] });
    expect(JSON.stringify(document.transcript)).toContain("tool end");
    const events = await readEvents(await hull.call(`/executions/${id}/events`));
    expect(events.map((event) => event.id)).toEqual(events.map((_, n) => `${id}:${n + 1}`));
    expect(dataOf(events, "start")).toMatchObject([{ operation: "runs", run_id, session_id: null }]);
    expect(dataOf(events, "done")).toMatchObject([{ ok: true, status: "done" }]);
    expect(await runs(file)).toBe(1);
  });
});

describe("a run without a session", () => {
  test("Worker and runner die: the model learns that the outcome is unknown, and nothing runs twice", async () => {
    const { file, id } = await begun();
    expect(await kill(hull, "worker", "runner")).toBeGreaterThan(0);
    await ready();
    const document = await result(id);
    expect(JSON.stringify(document.transcript)).toContain("may or may not have taken effect");
    expect(document.status).toBe("done");
    expect(await runs(file)).toBe(1);
  });
});

describe("S85: said plainly that it was lost", () => {
  test("the runner dies under a script: execution_lost, now and later", async () => {
    const { file, key } = fresh();
    const first = call("work", key, file);
    await running(file);
    expect(await kill(hull, "runner")).toBeGreaterThan(0);
    expect(await problem(await first)).toEqual([502, "execution_lost"]);
    await ready();
    const later = await call("work", key, file);
    expect(later.headers.get("x-hull-replayed")).toBe("1");
    expect(await problem(later)).toEqual([502, "execution_lost"]);
    expect(await runs(file)).toBe(1);
  });

  test("the runner dies under a tool: the model learns of it, and the run ends with its answer", async () => {
    const { file, key } = fresh();
    const first = call("agent", key, file);
    await running(file);
    expect(await kill(hull, "runner")).toBeGreaterThan(0);
    const answer = await first;
    expect(answer.status).toBe(200);
    expect(await answer.text()).toContain("may or may not have taken effect");
    await ready();
    expect(await runs(file)).toBe(1);
  });
});

describe("S79: events across a broken connection", () => {
  const isDelta = (text: string): boolean => text.includes("event: delta\n") && text.endsWith("\n\n");
  const isHeartbeat = (text: string): boolean => /^: hb$/m.test(text);
  /** Reads until this event, then disconnects; without one, reads to the end. */
  async function readUntil(response: Response, hasCome: (text: string) => boolean): Promise<string> {
    const decoder = new TextDecoder();
    let text = "";
    for await (const chunk of response.body ?? []) {
      text += decoder.decode(chunk, { stream: true });
      if (hasCome(text)) break;
    }
    return text;
  }

  test("missed events come once, in order, after a silence with heartbeats", async () => {
    const { file, key } = fresh();
    const first = await call("work", key, file, { accept: "text/event-stream" });
    const id = first.headers.get("x-hull-execution-id") ?? "";
    const seen = await readUntil(first, isDelta);
    const last = [...seen.matchAll(/^id: (.*)$/gm)].at(-1)?.[1] ?? "";
    const rest = await hull.call(`/executions/${id}/events`, undefined, {
      headers: { "last-event-id": last },
    });
    const text = await readUntil(rest, (so) => {
      if (isHeartbeat(so)) void letGo(file);
      return false;
    });
    expect(text).toSatisfy(isHeartbeat);
    const events = await readEvents(new Response(text));
    const number = (event: string): number => Number(event.split(":")[1]);
    expect(events.map((event) => number(event.id))).toEqual(events.map((_, i) => number(last) + 1 + i));
    expect([textOf(events, "delta"), events.at(-1)?.event]).toEqual(["end\n", "done"]);
  });

  test("the Worker dies: the stream breaks, and continues where it was", async () => {
    const { file, key } = fresh();
    const first = await call("work", key, file, { accept: "text/event-stream" });
    const id = first.headers.get("x-hull-execution-id") ?? "";
    const seen = await readUntil(first, isDelta);
    const last = [...seen.matchAll(/^id: (.*)$/gm)].at(-1)?.[1] ?? "";
    expect(await kill(hull, "worker")).toBeGreaterThan(0);
    await letGo(file);
    await ready();
    const again = await call("work", key, file, { accept: "text/event-stream", "last-event-id": last });
    const events: SseEvent[] = await readEvents(again);
    expect(again.headers.get("x-hull-execution-id")).toBe(id);
    expect(textOf(events, "delta")).toBe("end\n");
    expect(dataOf(events, "done")).toMatchObject([{ ok: true }]);
    expect(dataOf(events, "start")).toEqual([]);
    expect(await runs(file)).toBe(1);
  });
});
