/** What a session with much in it, and a body in single bytes, take of the memory of a real workerd while it reads them. */
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { request } from "node:http";
import { expect, test } from "vitest";
import { commonHull } from "../support/common-hull.ts";
import { killWorker } from "../support/shared.ts";

const SAID_MB = 32;
/** Made whole, the document of 65 MB took more than 500 MB; released memory is collected late. */
const MORE_MB = 256;

const { hull } = await commonHull();

const post = async (path: string, body: object): Promise<void> => {
  const response = await hull.post(path, body);
  await response.arrayBuffer();
  expect(response.ok).toBe(true);
};
async function residentMb(): Promise<number> {
  const sizes = [...hull.processes()].map(async ([pid, command]) => {
    if (!command.includes("workerd")) return 0;
    const status = await readFile(`/proc/${pid}/status`, "utf8").catch(() => "");
    return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1024;
  });
  return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
}
/** The size of an answer that is read piece by piece, its two ends, and the most memory meanwhile. */
async function read(path: string) {
  const { body } = await hull.call(path);
  const decoder = new TextDecoder();
  let [bytes, start, end, peak] = [0, "", "", 0];
  for await (const piece of body ?? []) {
    const text = decoder.decode(piece, { stream: true });
    if (bytes === 0) start = text.slice(0, 30);
    end = (end + text).slice(-200);
    const before = bytes;
    bytes += piece.length;
    if (Math.floor(bytes / 4_000_000) > Math.floor(before / 4_000_000))
      peak = Math.max(peak, await residentMb());
  }
  return { bytes, start, end, peak };
}

test.skipIf(process.platform !== "linux")(
  `${SAID_MB} MB are read in memory that does not grow with them`,
  async () => {
    // Memory that the tests before took and gave back would hide what is taken here.
    await killWorker(hull);
    await post("/sessions", { id: "large" });
    // The object stores what it received in rows of 256 KiB.
    const content = "0123456789abcdef".repeat(65_536);
    for (let n = 0; n < SAID_MB; n += 1) {
      await post("/sessions/large/inject", { message: { role: "user", content } });
      await post("/sessions/large/trim", { keep_last: 0 });
    }
    const before = await residentMb();
    const raw = await read("/sessions/large/transcript?view=raw");
    expect(raw).toMatchObject({
      start: expect.stringMatching(/^\{"_type":"transcript"/),
      end: expect.stringMatching(/\]\}$/),
    });
    expect(raw.bytes).toBeGreaterThan(2 * SAID_MB * 1024 * 1024);
    const lines = await read("/sessions/large/transcript");
    expect(lines.bytes).toBe(SAID_MB * ("user: ".length + content.length + 1) - 1);
    expect(Math.max(raw.peak, lines.peak) - before).toBeLessThan(MORE_MB);
  },
);

test("a body that comes in single bytes takes little more memory than its bytes", async () => {
  await killWorker(hull);
  const text = JSON.stringify({ metadata: { text: "a".repeat(100_000) } });
  const before = await residentMb();
  const sent = request(`${hull.url}/sessions`, {
    method: "POST",
    headers: { "content-type": "application/json", "transfer-encoding": "chunked" },
  });
  for (const byte of text) if (!sent.write(byte)) await once(sent, "drain");
  const answered = once(sent, "response");
  sent.end();
  const [answer] = await answered;
  answer.resume();
  // A chunk from a socket has a buffer of 4 KiB.
  expect((await residentMb()) - before).toBeLessThan(MORE_MB);
});
