/** What workspace tools survive, and who has none: real workerd, a real runner, a provider whose turns are given. */
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ADMIN, commonHull } from "../support/common-hull.ts";
import { json, runHull } from "../support/hull-dev.ts";
import { until } from "../support/runner.ts";
import { kill } from "../support/shared.ts";

const PUBLISHED = "---\nname: works\ndescription: Works on files\n---\n```bash\nls\n```\n";
const uploaded = (name: string): string =>
  `---\nname: ${name}\ndescription: Works on files\nallowed-tools: Bash\n---\nNow: !\`echo hi\`.\n`;
const { hull, fake } = await commonHull({ "works/SKILL.md": PUBLISHED }, "keyed");
const marks = mkdtempSync(join(hull.root, "limits-"));

const OPTIONS = {
  provider: "anthropic",
  model: "claude-haiku-4-5-20251001",
  llm_retries: 4,
  llm_backoff_ms: 50,
};
const admin = { authorization: `Bearer ${ADMIN}` };
const bash = (command: string) => ({ tool_calls: [{ name: "Bash", arguments: { command } }] });
const post = (path: string, body: object, headers: Record<string, string> = admin) =>
  hull.post(path, body, headers);
const lines = (name: string): number => {
  try {
    return readFileSync(join(marks, name), "utf8").trim().split("\n").length;
  } catch {
    return 0;
  }
};

/** A command that leaves a mark, and goes on once the test lets it. */
const held = (name: string): string =>
  `echo x >> ${marks}/${name}; until [ -e ${marks}/${name}.go ]; do sleep 0.05; done`;

/** Begins a run whose one command leaves a mark and is held, and waits for the mark. */
async function begun(name: string): Promise<() => Promise<{ status: string; result: object }>> {
  const { id } = await json<{ id: string }>(await post("/sessions", {}));
  fake.script([bash(`${held(name)}; echo ended > done.txt; echo finished`), { text: "Done." }]);
  const body = { prompt: "go", options: { ...OPTIONS, workspace_tools: true } };
  const { run_id } = await json<{ run_id: string }>(
    await post(`/sessions/${id}/runs`, body, { ...admin, prefer: "respond-async" }),
  );
  await until(
    async () => lines(name),
    (count) => count === 1,
  );
  return () =>
    until(
      async () => {
        const response = await hull
          .call(`/sessions/${id}/runs/${run_id}`, undefined, { headers: admin })
          .catch(() => null);
        return response?.ok
          ? json<{ status: string; result: object }>(response)
          : { status: "running", result: {} };
      },
      ({ status }) => status !== "running",
    );
}
const told = (): string => JSON.stringify(fake.requests.at(-1)?.body.messages);

test("R7: if the Worker is killed, the next one follows the command and does not run it again", async () => {
  const settled = await begun("worker");
  expect(await kill(hull, "worker")).toBeGreaterThan(0);
  writeFileSync(`${marks}/worker.go`, "");
  expect((await settled()).status).toBe("done");
  expect(told()).toContain("finished");
  expect(lines("worker")).toBe(1);
});

test("R7: if the runner is killed too, the command's outcome is unknown, and it does not run again", async () => {
  const settled = await begun("both");
  expect(await kill(hull, "worker", "runner")).toBeGreaterThan(1);
  expect((await settled()).status).toBe("done");
  expect(told()).toContain("outcome is unknown");
  expect(lines("both")).toBe(1);
});

test("a workflow's command whose runner is killed too is not repeated by the node's retry_policy", async () => {
  const command = held("workflow");
  const nodes = { v: { kind: "verify", verify: { command }, retry_policy: { max_attempts: 2 } } };
  const body = { task: "go", graph: { nodes } };
  const { id } = await json<{ id: string }>(
    await post("/workflows/execute", body, { ...admin, prefer: "respond-async" }),
  );
  await until(
    async () => lines("workflow"),
    (count) => count === 1,
  );
  expect(await kill(hull, "worker", "runner")).toBeGreaterThan(1);
  const ended = await until(
    async () => {
      const response = await hull
        .call(`/workflows/runs/${id}`, undefined, { headers: admin })
        .catch(() => null);
      return response?.ok ? json<{ status: string; stages?: object[] }>(response) : { status: "running" };
    },
    ({ status }) => status !== "running",
  );
  const error = { code: "outcome_unknown" };
  expect(ended).toMatchObject({ stages: [{ branch: "failed", attempts: [{ error }] }] });
  expect(lines("workflow")).toBe(1);
});

interface FlowRun {
  status: string;
  stages: { node_id: string; branch: string }[];
}
/** The record of a workflow run once it is as wanted; the Worker may be away meanwhile. */
const recorded = (id: string, wanted: (run: FlowRun) => boolean): Promise<FlowRun> =>
  until(async () => {
    const path = `/workflows/runs/${id}`;
    const response = await hull.call(path, undefined, { headers: admin }).catch(() => null);
    return response?.ok ? json<FlowRun>(response) : { status: "away", stages: [] };
  }, wanted);

/** Begins a run whose command is held, kills the Worker, and stops the run as the first request that the next one gets. */
async function stoppedAfterDeath(name: string, command: string, stop: (id: string) => Promise<Response>) {
  const verify = (line: string, more: object = {}) => ({
    kind: "verify",
    verify: { command: line },
    ...more,
  });
  const nodes = {
    book: verify(command, { compensation: "unbook" }),
    unbook: verify(`echo undone >> ${marks}/${name}`),
  };
  const body = { task: "go", graph: { entry: "book", nodes } };
  const headers = { ...admin, prefer: "respond-async" };
  const { id } = await json<{ id: string }>(await post("/workflows/execute", body, headers));
  await until(
    async () => lines(name),
    (count) => count === 1,
  );
  expect(await kill(hull, "worker")).toBeGreaterThan(0);
  const stopped = await until(
    () => stop(id).catch(() => null),
    (response) => response?.ok === true,
  );
  expect(stopped?.ok).toBe(true);
  return id;
}
/** How many processes execute a command that has this word. */
const processesOf = (word: string): number =>
  [...hull.processes().values()].filter((command) => command.includes(word)).length;

test.each([
  ["cancelled", "61.25", (id: string) => post(`/workflows/runs/${id}/cancel`, {})],
  [
    "removed",
    "61.75",
    (id: string) => hull.call(`/sessions/${id}`, undefined, { method: "DELETE", headers: admin }),
  ],
])("a command that a killed Worker left behind ends with its workflow run: %s", async (name, time, stop) => {
  const id = await stoppedAfterDeath(
    name,
    `echo x >> ${marks}/${name}; sleep ${time}; echo late >> ${marks}/${name}`,
    stop,
  );
  if (name === "cancelled") await recorded(id, ({ status }) => status === "cancelled");
  await until(
    async () => processesOf(`sleep ${time}`),
    (count) => count === 0,
  );
  expect(lines(name)).toBe(1);
});

test("R14: an uploaded skill has no workspace tools without the grant, and its text runs no commands", async () => {
  const add = (tenant: string) =>
    runHull(["keys", "add", "--tenant", tenant, "--scopes", "invoke,publish", "--url", hull.url], {
      cwd: hull.root,
      env: { HULL_API_KEY: ADMIN, NO_COLOR: "1" },
    });
  const offered = async (tenant: string, name: string, options: object): Promise<string> => {
    const key = /^hull_\S+$/m.exec((await add(tenant)).output)?.[0] ?? "";
    const headers = { authorization: `Bearer ${key}` };
    const folder = join(hull.root, name);
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, "SKILL.md"), uploaded(name));
    execFileSync("zip", ["-qr", `../${name}.zip`, "."], { cwd: folder });
    const body = readFileSync(join(hull.root, `${name}.zip`));
    const put = await hull.call(`/_hull/skills/${name}`, undefined, { method: "PUT", headers, body });
    expect(put.ok, await put.text()).toBe(true);
    fake.script([{ text: "Done." }]);
    const response = await post("/runs", { prompt: "go", options: { ...OPTIONS, ...options } }, headers);
    expect(response.status).toBe(200);
    const { tools = [], system = "" } = JSON.parse(JSON.stringify(fake.requests.at(-1)?.body));
    return `${tools.map(({ name }: { name: string }) => name).join()} ${JSON.stringify(system)}`;
  };
  const without = await offered("acme", "brought", { skill: "brought", workspace_tools: true });
  expect(without).not.toContain("Bash");
  expect(without).toContain("!`echo hi`");
  const granted = await offered("granted", "trusted", { skill: "trusted" });
  expect(granted).toMatch(/^Bash,Read,Write,Edit,Glob,Grep/);
  // Its text is no more trusted for that.
  expect(granted).toContain("!`echo hi`");
  expect(await offered("acme", "brought", { skills: ["brought", "works"] })).toContain("Bash");
});
