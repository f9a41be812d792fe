/** Files in and out of a real `hull dev`. */
import { createHash } from "node:crypto";
import { readdir, stat } from "node:fs/promises";
import { request as httpRequest } from "node:http";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type HullDev, json, startHullDev } from "../support/hull-dev.ts";
import { until } from "../support/runner.ts";

const SUMS = `[bash, -c, 'cd "$HULL_INPUT_DIR"; for f in *; do echo "$f $(sha256sum < "$f" | cut -c1-64)"; done; echo "first $HULL_INPUT_FILENAME $HULL_INPUT_MIME"; cat']`;
const TWO = `[bash, -c, 'head -c 3000000 /dev/zero > "$HULL_OUTPUT_DIR/a.csv"; head -c 3000000 /dev/zero > "$HULL_OUTPUT_DIR/b.bin"']`;
const skill = (name: string, run: string, more = ""): Record<string, string> => ({
  [`${name}/SKILL.md`]: `---\nname: ${name}\ndescription: Test.\nrun: ${run}\n${more}---\nTest.\n`,
});

let hull: HullDev;
beforeAll(async () => {
  hull = await startHullDev({
    args: ["--direct"],
    skills: {
      ...skill("sums", SUMS, "input: file\n"),
      ...skill("text", SUMS),
      ...skill("two", TWO, "output: file\ninput: none\n"),
    },
  });
});
afterAll(() => hull?.stop());

interface Uploaded {
  id: string;
  sha256: string;
  filename: string;
  size: number;
}
const sha256 = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex");
const noise = (size: number): Buffer =>
  Buffer.from(Array.from({ length: size }, (_, n) => (n * 2654435761) >>> 24));
const LARGE = Buffer.concat(Array.from({ length: 12 }, (_, n) => Buffer.alloc(1_000_003, `piece ${n} `)));

/** As curl does it: headers as bytes, and a body in chunks where no length is given. Answers status and body. */
function send(
  path: string,
  headers: Record<string, string>,
  pieces: Uint8Array[],
): Promise<[number, string]> {
  const { promise, resolve, reject } = Promise.withResolvers<[number, string]>();
  const request = httpRequest(`${hull.url}${path}`, { method: "POST", headers }, (response) => {
    let text = "";
    response.setEncoding("utf8").on("data", (piece: string) => {
      text += piece;
    });
    response.on("end", () => resolve([response.statusCode ?? 0, text]));
  });
  request.on("error", reject);
  for (const piece of pieces) request.write(piece);
  request.end();
  return promise;
}
const latin1 = (text: string): string => Buffer.from(text).toString("latin1");

/** Bytes of all that R2 holds. */
async function bucketBytes(): Promise<number> {
  const folder = join(hull.stateDir, "worker", "v3", "r2");
  const names = await readdir(folder, { recursive: true }).catch(() => []);
  const sizes = names
    .filter((name) => name.includes("/blobs/"))
    .map((name) =>
      stat(join(folder, name)).then(
        ({ size }) => size,
        () => 0,
      ),
    );
  return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
}

test("two uploads are input of a run by their ids, survive a restart, and go with DELETE", async () => {
  const small = noise(5000);
  const disposition = { "content-disposition": latin1('attachment; filename="résumé 1.csv"') };
  const [first, a] = await send("/files", { ...disposition, "content-type": "text/csv" }, [small]);
  const [second, b] = await send("/files?filename=large.bin", {}, [LARGE]);
  expect([first, second]).toEqual([201, 201]);
  const files: Uploaded[] = [JSON.parse(a), JSON.parse(b)];
  expect(files).toMatchObject([
    { filename: "résumé 1.csv", mime: "text/csv", size: 5000, sha256: sha256(small) },
    { filename: "large.bin", mime: "application/octet-stream", size: LARGE.length, sha256: sha256(LARGE) },
  ]);
  const ids = files.map(({ id }) => id);
  const sums = files.map(({ filename, sha256: sum }) => `${filename} ${sum}`).toSorted();
  const headers = { "content-type": "application/json" };
  const run = (slug: string, body: object): Promise<Response> =>
    hull.call(`/skills/${slug}`, JSON.stringify(body), { headers });
  const lines = async (response: Response): Promise<string[]> => (await response.text()).trim().split("\n");
  const only = await run("sums", { files: ids });
  expect([only.status, (await lines(only)).toSorted()]).toEqual([
    200,
    ["first résumé 1.csv text/csv", ...sums],
  ]);
  const beside = await lines(await run("text", { input: "the text", files: ids }));
  expect(beside.toSorted()).toEqual(["first résumé 1.csv text/csv", ...sums, "the text"].toSorted());

  await hull.end("SIGTERM");
  hull = await startHullDev({ args: ["--direct"], from: hull });
  const later = await fetch(`${hull.url}/files/${ids[1]}`, { headers: { range: "bytes=11999990-" } });
  expect([later.status, await later.text()]).toEqual([206, LARGE.subarray(11_999_990).toString()]);
  for (const id of ids) {
    expect((await hull.call(`/files/${id}`, undefined, { method: "DELETE" })).status).toBe(204);
    expect(await json(await hull.call(`/files/${id}`))).toMatchObject({ code: "file_not_found" });
  }
  await until(bucketBytes, (bytes) => bytes === 0);
});

test("S37: large files of a run are fetched by their URLs, and can be input again", async () => {
  const made = await json<{ files: { filename: string; size: number; url: string }[] }>(
    await hull.call("/skills/two", ""),
  );
  expect(made.files).toMatchObject([
    { filename: "a.csv", mime: "text/csv; charset=utf-8", size: 3_000_000 },
    { filename: "b.bin", size: 3_000_000 },
  ]);
  const ids = made.files.map(({ url }) => url.replace("/files/", ""));
  const response = await hull.post("/skills/sums", { files: ids });
  const sum = sha256(Buffer.alloc(3_000_000));
  expect(await response.text()).toBe(`a.csv ${sum}\nb.bin ${sum}\nfirst a.csv text/csv\n`);
  for (const id of ids) await hull.call(`/files/${id}`, undefined, { method: "DELETE" });
});

describe("bodies that are too large for memory", () => {
  test("a form passes through R2, and leaves nothing there", async () => {
    const form = new FormData();
    form.append("a", new Blob([LARGE]), "a.bin");
    form.append("b", new Blob([LARGE.subarray(1)]), "b.bin");
    form.append("c", new Blob(["small"]), "c.txt");
    const text = await (await hull.call("/skills/sums", form)).text();
    expect(text.split("\n").slice(0, 3)).toEqual([
      `a.bin ${sha256(LARGE)}`,
      `b.bin ${sha256(LARGE.subarray(1))}`,
      `c.txt ${sha256(Buffer.from("small"))}`,
    ]);
    await until(bucketBytes, (bytes) => bytes === 0);
  });

  test.each([
    ["/files", { "content-length": String(5 * LARGE.length) }],
    ["/files", {}],
    ["/skills/sums", { "content-length": String(5 * LARGE.length), "content-type": "image/png" }],
  ])("a body over the limit is 413, and its sender gets the answer: %s %j", async (path, headers) => {
    const [status, text] = await send(path, headers, Array(5).fill(LARGE));
    expect([status, JSON.parse(text)]).toMatchObject([413, { code: "body_too_large", limit: 52_428_800 }]);
    await until(bucketBytes, (bytes) => bytes === 0);
  });

  test("an upload that breaks off leaves nothing", async () => {
    const request = httpRequest(`${hull.url}/files`, { method: "POST" });
    request.on("error", () => {});
    request.write(LARGE);
    await until(bucketBytes, (bytes) => bytes > 0);
    request.destroy();
    await until(bucketBytes, (bytes) => bytes === 0);
  });
});
