/**
 * The vendors' APIs: a message that goes to Anthropic as it came over a bare Worker that passes it on; skills stored and
 * listed; code in a warm container over a bare start of python3.
 */
import { randomBytes, randomUUID } from "node:crypto";
import { readdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { codeCommand } from "../../src/engine/workspace-tools/code-tools.ts";
import { packZip } from "../../src/skill/zip-write.ts";
import { EMPTY_PACK, withEmptyPack } from "../../src/tool/empty-pack.ts";
import { runExecution } from "../../src/tool/runner-client.ts";
import { type Bundle, runOptions, spec, startRunner } from "../support/runner.ts";
import { ask, compare, load } from "./load.ts";
import { ms, type Row, row, times } from "./row.ts";
import { spawnAndWait } from "./script.ts";
import { startBare, startHull, startProvider, writeProject } from "./subjects.ts";

const AT_ONCE = 100;
const PAGE = 20;
const ZIP_BYTES = 1024 * 1024;

/**
 * @param rounds calls a block
 * @param skills that a tenant has when they are listed
 */
export async function vendorRows(rounds: number, skills: number): Promise<Row[]> {
  return [...(await servedRows(rounds, skills)), await codeRow(rounds)];
}

async function servedRows(rounds: number, skills: number): Promise<Row[]> {
  const { dir, remove } = await writeProject({
    "skills/plain/SKILL.md":
      "---\nname: plain\ndescription: Answers\nmode: llm\nmodel: bench\n---\nAnswer.\n",
  });
  const provider = await startProvider();
  let hull = await startHull(dir);
  const bare = await startBare(passingOn(provider.provider));
  try {
    const rows = [
      ...(await messageRows(hull.url, bare.url, rounds)),
      await createRow(hull.url, Math.ceil(rounds / 10)),
      await atOnceRow(hull.url),
    ];
    await hull.stop();
    await multiply(join(dir, "state"), skills);
    hull = await startHull(dir);
    return [...rows, await listRow(hull.url, rounds, skills)];
  } finally {
    await hull.stop();
    await bare.stop();
    provider.stop();
    await remove();
  }
}

/** A Worker that puts the key into a request, and passes it and its answer on. */
const passingOn = (provider: string): string => `
export default { fetch(request) {
  const headers = new Headers(request.headers);
  headers.set("x-api-key", "k");
  return fetch("${provider}/v1/messages", { method: "POST", body: request.body, headers });
} };`;

async function messageRows(hull: string, bare: string, rounds: number): Promise<Row[]> {
  const messages = [{ role: "user", content: "hi" }];
  const body = JSON.stringify({ model: "claude-bench", max_tokens: 4096, messages });
  const headers = { "content-type": "application/json", "anthropic-version": "2023-06-01" };
  const rows: Row[] = [];
  for (const concurrency of [1, 8]) {
    const { floor, ours } = await compare(
      () => ask(`${bare}/v1/messages`, { method: "POST", body, headers }),
      () => ask(`${hull}/v1/messages`, { method: "POST", body, headers }),
      concurrency,
      rounds,
    );
    const what = `POST /v1/messages, no skills, c=${concurrency}: p50`;
    rows.push(row(what, ms(floor.p50), ms(ours.p50), ours.p50 / floor.p50, 1.15, times));
  }
  return rows;
}

async function stored(hull: string, extra: Uint8Array): Promise<void> {
  const text = `---\nname: s-${randomUUID()}\ndescription: Stored\n---\nDo it.\n`;
  const zip = packZip([
    { path: "SKILL.md", mode: 0o644, bytes: new TextEncoder().encode(text) },
    ...(extra.length === 0 ? [] : [{ path: "data.bin", mode: 0o644 as const, bytes: new Uint8Array(extra) }]),
  ]);
  const form = new FormData();
  form.append("files", new File([zip], "s.zip"), "s.zip");
  const answer = await fetch(`${hull}/v1/skills`, { method: "POST", body: form });
  if (!answer.ok) throw new RangeError(`an upload was answered ${answer.status}: ${await answer.text()}`);
  await answer.arrayBuffer();
}

async function createRow(hull: string, rounds: number): Promise<Row> {
  const { p50 } = await load(() => stored(hull, randomBytes(ZIP_BYTES)), 1, rounds);
  return row("POST /v1/skills, a zip of 1 MB, p50", "", ms(p50), p50, 150, ms);
}

async function atOnceRow(hull: string): Promise<Row> {
  const before = await countOf(hull);
  const begun = performance.now();
  await Promise.all(Array.from({ length: AT_ONCE }, () => stored(hull, new Uint8Array(0))));
  const took = performance.now() - begun;
  const missing = before + AT_ONCE - (await countOf(hull));
  return row(`${AT_ONCE} uploads at once, not stored`, "", ms(took), missing, 0, String);
}

async function countOf(hull: string): Promise<number> {
  let count = 0;
  let after = "";
  for (;;) {
    const text = await ask(`${hull}/v1/skills?limit=100${after}`);
    const { data, has_more }: { data: { id: string }[]; has_more: boolean } = JSON.parse(text);
    count += data.length;
    if (!has_more) return count;
    after = `&after=${data.at(-1)?.id}`;
  }
}

/** Copies the stored skills in the database until there are so many: to upload them takes minutes. */
async function multiply(state: string, skills: number): Promise<void> {
  const files = await readdir(state, { recursive: true });
  for (const file of files.filter((name) => name.endsWith(".sqlite"))) {
    const db = new DatabaseSync(join(state, file));
    const found = db.prepare("SELECT 1 FROM sqlite_master WHERE name = 'stored_skills'").get();
    if (found !== undefined) {
      const numbers = `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${skills})`;
      const one = "(SELECT id FROM stored_skills LIMIT 1)";
      db.exec(`INSERT INTO stored_skills SELECT tenant, 'skill_01copy' || i, name, label, default_number, last_number, last_epoch,
        i, i, created_by, updated_by FROM (${numbers} SELECT i FROM n), (SELECT * FROM stored_skills WHERE id = ${one})`);
      db.exec(`INSERT INTO stored_skill_versions SELECT tenant, 'skill_01copy' || i, number, epoch, '01copy' || i, name, description,
        directory, digest, original, diagnostics FROM (${numbers} SELECT i FROM n),
        (SELECT * FROM stored_skill_versions WHERE skill = ${one})`);
    }
    db.close();
  }
}

async function listRow(hull: string, rounds: number, skills: number): Promise<Row> {
  const { p50 } = await load(() => ask(`${hull}/v1/skills?limit=${PAGE}`), 1, rounds);
  return row(`GET /v1/skills, ${PAGE} of ${skills} and more, p50`, "", ms(p50), p50, 20, ms);
}

async function codeRow(rounds: number): Promise<Row> {
  const runner = await startRunner();
  const none: Bundle = { digest: EMPTY_PACK, executables: [], tar: new Uint8Array() };
  const base = runOptions(none);
  const id = randomUUID().replaceAll("-", "");
  const manifest = JSON.stringify({ id, version: 0, files: [] });
  const workspace = { manifest: async () => manifest, contents: () => new ReadableStream<Uint8Array>() };
  const options = { ...base, pack: withEmptyPack(base.pack), workspace };
  const handler = { language: "bash", config: "{}", context: "{}", network: null, packages: true } as const;
  const place = { workspace: { id, version: 0, cwd: true }, handler, input: { mode: "stdin" } } as const;
  const command = codeCommand("code_execution", { code: "print(1)" }, tmpdir());
  const stdin = new TextEncoder().encode(command);
  const code = async (): Promise<void> => {
    const asked = spec({ argv: ["bash"], digest: EMPTY_PACK, ...place });
    for await (const event of runExecution(runner, asked, { stdin }, options)) {
      if (event.kind === "ended" && event.status.exit_code !== 0) throw new RangeError("print(1) failed");
    }
  };
  try {
    const bare = (): Promise<void> => spawnAndWait(["python3", "-c", "print(1)"], tmpdir());
    const { floor, ours } = await compare(bare, code, 1, Math.ceil(rounds / 3));
    return row(
      "code execution, `print(1)`, p50",
      ms(floor.p50),
      ms(ours.p50),
      ours.p50 / floor.p50,
      1.3,
      times,
    );
  } finally {
    await runner.stop();
  }
}
