/** docs/testing.md as it stands, against the real `hull dev`: mocks, recordings, replays. */
import { execFile, spawn } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { blocks } from "../support/documents.ts";
import { startFakeProvider } from "../support/fake-provider.ts";
import type { FakeTurn } from "../support/fake-turn.ts";
import { type HullDev, REPO, runHull, startHullDev } from "../support/hull-dev.ts";
import { until } from "../support/runner.ts";

const DOCUMENT = await readFile(join(REPO, "docs/testing.md"), "utf8");
const block = (language: string): string =>
  blocks(DOCUMENT).find((each) => each.language === language)?.text ?? expect.fail(`no ${language} block`);
const BRIEF = block("markdown");
const CANARY = "sk-ant-canary-0123456789abcdef";
const OTHER = "sk-openai-canary-0123456789";

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "hull-testing-"));
});
afterAll(() => rm(folder, { recursive: true }));

const said = async (hull: HullDev, path: string, prompt: string, headers: Record<string, string> = {}) => {
  const response = await hull.call(path, prompt, { headers });
  const text = await response.text();
  return response.ok ? text : String(JSON.parse(text).code);
};

describe("mocks over HTTP", () => {
  let hull: HullDev;
  beforeAll(async () => {
    hull = await startHullDev({
      project: { "hull.toml": block("toml") },
      skills: { "brief/SKILL.md": BRIEF },
      args: ["--direct"],
    });
  });
  afterAll(() => hull?.stop());

  test("what the document says that curl prints", async () => {
    const script = blocks(DOCUMENT).find(({ text }) => text.includes("curl"))?.text ?? "";
    const lines = Array.from(script.matchAll(/^(curl .*)\n(?:# (.*)\n)?/gm));
    expect(lines).toHaveLength(5);
    for (const [, command = "", comment = ""] of lines) {
      const local = command.replace("localhost:3000", hull.url.replace("http://", ""));
      const { stdout } = await promisify(execFile)("bash", ["-c", local.replace("curl", "curl -s")]);
      expect(stdout, command).toContain(comment.replace(/…$/, ""));
    }
    expect(await said(hull, "/skills/brief", "x")).toBe("provider_not_configured");
  });

  test("a run that outlives its connection keeps its scope", async () => {
    const scope = { "x-hull-mock-scope": "durable" };
    const queued = await hull.call("/llm/mocks", '{"text":"kept"}', { headers: scope });
    expect(queued.status).toBe(201);
    const headers = { ...scope, "idempotency-key": "mocks-1" };
    expect(await said(hull, "/skills/brief", "later", headers)).toBe("kept");
    expect(await said(hull, "/skills/brief", "later", { "idempotency-key": "mocks-2" })).toBe(
      "provider_not_configured",
    );
  });
});

test("mocks from a file answer everything, each start from the beginning", async () => {
  await writeFile(join(folder, "mocks.jsonl"), block("jsonl"));
  const args = ["--direct", "--mocks", join(folder, "mocks.jsonl")];
  const first = await startHullDev({ skills: { "brief/SKILL.md": BRIEF }, args });
  const use = async (hull: HullDev) => [
    await said(hull, "/skills/brief", "the sky"),
    await said(hull, "/skills/brief", "once"),
    await said(hull, "/skills/brief", "once"),
    await said(hull, "/skills/brief", "a secret"),
    (await hull.call("/llm/mocks", "{}")).status,
  ];
  const expected = ["It rains.", "Once only.", "mock_unmatched", "provider_auth_failed", 404];
  expect(await use(first)).toEqual(expected);
  await first.end("SIGTERM");
  const second = await startHullDev({ from: first, args });
  try {
    expect(await use(second)).toEqual(expected);
  } finally {
    await second.stop();
  }
});

test.each([
  [["dev", ".", "--mocks", "nothing.jsonl"], 3, /There is no file nothing\.jsonl/],
  [["dev", ".", "--mocks", "bad.jsonl"], 2, /line 2\.error\.category must be one of timeout/],
  [["dev", ".", "--record", "a", "--replay", "b"], 2, /--record and --replay exclude each other/],
  [["dev", ".", "--mocks", "a", "--record", "b"], 2, /--mocks and --record exclude each other/],
  [["dev", ".", "--mocks", "a", "--replay", "b"], 2, /--mocks and --replay exclude each other/],
  [["dev", ".", "--replay", "nothing.jsonl"], 3, /There is no cassette/],
  [["replay", "bad.jsonl"], 2, /cannot be replayed:\n {2}line 1/],
  [["replay"], 2, /Name a cassette/],
])("hull %j reports the fault", async (args, code, message) => {
  await writeFile(join(folder, "bad.jsonl"), '{"text":"a"}\n{"error":{"category":"x"}}\n');
  await mkdir(join(folder, "skills"), { recursive: true });
  const result = await runHull(args, { cwd: folder });
  expect(result.output).toMatch(message);
  expect(result.code).toBe(code);
});

describe("record and replay", () => {
  const TURN: FakeTurn = { text: ["Grüße ", "aus ", "Köln 😀"], reasoning: "hm" };
  const skills = {
    "brief/SKILL.md": BRIEF,
    "gpt/SKILL.md": BRIEF.replace("name: brief", "name: gpt")
      .replace("provider: anthropic", "provider: openai")
      .replace("model: claude-haiku-4-5", "model: gpt-4o"),
    "own/SKILL.md": BRIEF.replace("name: brief", "name: own")
      .replace("provider: anthropic", "provider: own")
      .replace("model: claude-haiku-4-5", "model: m"),
  };
  /** The text, or the events without what differs in every run. */
  const ask = async (hull: HullDev, skill: string, prompt: string, stream: boolean): Promise<string> => {
    const response = await hull.call(`/skills/${skill}${stream ? "?stream=1" : ""}`, prompt);
    const text = await response.text();
    if (!response.ok) {
      const { code, detail } = JSON.parse(text);
      return `${response.status} ${code} ${detail}`;
    }
    if (!stream) return text;
    return text
      .replace(/"(?:execution_id|request_id|duration_ms|\w+_ms)":[^,}]+/g, "")
      .replace(/^id: .*$/gm, "");
  };
  const everything = async (hull: HullDev): Promise<string[]> => [
    await ask(hull, "brief", "hi", false),
    await ask(hull, "brief", "hi", true),
    await ask(hull, "gpt", "hi", false),
    await ask(hull, "gpt", "hi", true),
    await ask(hull, "own", "hi", false),
    await ask(hull, "gpt", "fail", false),
    await single(hull),
  ];
  const single = async (hull: HullDev): Promise<string> => {
    const body = JSON.stringify({ prompt: "once", options: { model: "claude-haiku-4-5" } });
    const response = await hull.call("/llm/call", body, { headers: { "content-type": "application/json" } });
    const { text, thinking, usage } = JSON.parse(await response.text());
    return JSON.stringify({ text, thinking, usage });
  };

  /** Calls, tokens and nano-USD that the ledger has so far. */
  const spent = async (hull: HullDev): Promise<number[]> => {
    const { data }: { data: Record<string, number>[] } = JSON.parse(
      await (await hull.call("/usage?group_by=model")).text(),
    );
    const sum = (name: string) => data.reduce((all, row) => all + (row[name] ?? 0), 0);
    return [sum("calls"), sum("input_tokens"), sum("output_tokens"), Math.round(sum("cost_usd") * 1e9)];
  };

  test("a replay returns the recorded answers, without network and keys, and nothing else", async () => {
    const fake = await startFakeProvider();
    fake.script(({ text }) => (text === "fail" ? { status: 400 } : TURN));
    const cassette = join(folder, "calls.jsonl");
    const toml = (base: string) => `[llm.providers.own]\nbase_url = "${base}"\nauth_env = "OWN_KEY"\n`;
    const recording = await startHullDev({
      skills,
      project: { "hull.toml": toml(`${fake.url}/v1`) },
      args: ["--direct", "--record", cassette],
      env: {
        ANTHROPIC_API_KEY: CANARY,
        ANTHROPIC_BASE_URL: fake.url,
        OPENAI_API_KEY: OTHER,
        OPENAI_BASE_URL: `${fake.url}/v1`,
        OWN_KEY: CANARY,
      },
    });
    const live = await everything(recording);
    expect(live.slice(0, 1)).toEqual(["Grüße aus Köln 😀"]);
    expect(live.at(-2)).toMatch(/^502 provider_rejected_request/);
    expect(live.at(-1)).toMatch(/^\{"text":"Grüße aus Köln 😀","thinking":"hm"/);
    const counted = await spent(recording);
    expect(counted.every((value) => value > 0)).toBe(true);
    const before = recording.output().length;
    await recording.end("SIGTERM");
    expect(recording.output().slice(before)).toContain("Recorded 7 calls");
    expect(fake.requests.map(({ headers }) => headers["x-api-key"] ?? headers.authorization)).toEqual([
      CANARY,
      CANARY,
      `Bearer ${OTHER}`,
      `Bearer ${OTHER}`,
      `Bearer ${CANARY}`,
      `Bearer ${OTHER}`,
      CANARY,
    ]);
    await fake.close();
    const text = await readFile(cassette, "utf8");
    for (const secret of [CANARY, OTHER]) expect(text).not.toContain(secret);

    const replaying = await startHullDev({
      from: recording,
      project: { "hull.toml": toml("http://127.0.0.1:1/v1") },
      args: ["--direct", "--replay", cassette],
    });
    try {
      expect(await everything(replaying)).toEqual(live);
      // The same state counts the same calls once more.
      expect(await spent(replaying)).toEqual(counted.map((value) => 2 * value));
      const changed = await ask(replaying, "brief", "hello", false);
      expect(changed).toMatch(/^502 replay_missing .*hash [0-9a-f]{64}.*hull dev --record/);
      expect(changed).toMatch(/differs in message 1/);
      expect(await replaying.printed(/has no recording of this call/)).toMatch(/hash [0-9a-f]{64}/);
    } finally {
      await replaying.stop();
    }

    const mocks = await runHull(["replay", cassette, "--as-mocks"], { cwd: folder });
    expect(mocks.output.trim().split("\n")).toHaveLength(7);
    expect(JSON.parse(mocks.output.split("\n")[0] ?? "")).toMatchObject({ text: "Grüße aus Köln 😀" });

    const child = spawn(process.execPath, [join(REPO, "bin/hull.mjs"), "replay", cassette], {
      cwd: folder,
    });
    try {
      let output = "";
      child.stdout.setEncoding("utf8").on("data", (piece: string) => {
        output += piece;
      });
      const printed = await until(
        async () => output,
        (all) => /\/openai\n/.test(all),
      );
      const url = /on (http:\S+)/.exec(printed)?.[1] ?? "";
      const options = { apiKey: "any", maxRetries: 0 };
      const anthropic = new Anthropic({ ...options, baseURL: `${url}/anthropic` });
      const openai = new OpenAI({ ...options, baseURL: `${url}/openai/v1` });
      const sent = JSON.parse(text.split("\n")[1] ?? "").request.body;
      const message = await anthropic.messages.create({ ...sent, stream: false });
      expect(message.content.at(-1)).toMatchObject({ type: "text", text: "Grüße aus Köln 😀" });
      const messages = [{ role: "user" as const, content: "never said" }];
      const missing = openai.chat.completions.create({ model: "gpt-4o", messages });
      await expect(missing).rejects.toThrow(
        /404 .*has no recording of this call: openai POST \/chat\/completions/,
      );
    } finally {
      child.kill("SIGTERM");
    }
    expect(await new Promise((resolve) => child.once("close", resolve))).toBe(0);
  });
});
