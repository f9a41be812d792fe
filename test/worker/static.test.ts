import { beforeAll, describe, expect, it } from "vitest";
import { Client } from "./served.ts";

const client = new Client();
const TEXT = "0123456789 öäü\n";
/** More than an isolate keeps of one file. */
const LARGE = Uint8Array.from({ length: 1_500_000 }, (_, i) => i % 251);
const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const manifest = (name: string, serve: string, extra = ""): string =>
  `---\nname: ${name}\ndescription: A file\nserve: ${serve}\n${extra}---\n`;

beforeAll(() =>
  client.publish(
    {
      note: manifest("note", "note.txt"),
      page: manifest("page", "page.html", "route: /page\n"),
      feed: manifest("feed", "feed.xml"),
      logo: manifest("logo", "logo.png"),
      large: manifest("large", "large.bin"),
      short: manifest("short", "note.txt", "max_output_bytes: 17\n"),
      exact: manifest("exact", "note.txt", "max_output_bytes: 18\n"),
    },
    {
      "note.txt": bytes(TEXT),
      "page.html": bytes("<h1>hi</h1>"),
      "feed.xml": bytes("<feed/>"),
      "large.bin": LARGE,
      "logo.png": Uint8Array.of(0x89, 0x50, 0, 0xff),
    },
  ),
);

it("is streamed as events without a secret that only the provider file names, also as the isolate's first answer", async () => {
  const HULL_PROVIDERS_CONFIG = '[providers.own]\nbase_url = "https://own.example"\nauth_env = "OWN_TOKEN"\n';
  const fresh = new Client({ HULL_ENV: "local", HULL_PROVIDERS_CONFIG, OWN_TOKEN: TEXT.slice(0, 10) });
  const events = await fresh.fetch("/skills/note", { headers: { accept: "text/event-stream" } });
  const told = await events.text();
  expect(told).toContain("event: done");
  expect(told).not.toContain("0123456789");
});

describe("S42: a static file", () => {
  it("is served whole with a strong validator", async () => {
    const response = await client.fetch("/skills/note");
    expect(response.status).toBe(200);
    expect(await response.text()).toBe(TEXT);
    expect(Object.fromEntries(response.headers)).toMatchObject({
      "content-type": "text/plain; charset=utf-8",
      "accept-ranges": "bytes",
      "cache-control": "public, max-age=0, must-revalidate",
      "content-length": "18",
      etag: expect.stringMatching(/^"[0-9a-f]{64}"$/),
    });
  });

  it("S58: HEAD has the headers and no body, POST is accepted", async () => {
    for (const accept of ["*/*", "text/event-stream"]) {
      const head = await client.fetch("/skills/note", { method: "HEAD", headers: { accept } });
      expect([head.status, await head.text(), head.headers.get("content-length")]).toEqual([200, "", "18"]);
    }
    expect(await (await client.fetch("/skills/note", { method: "POST", body: "x" })).text()).toBe(TEXT);
    const put = await client.fetch("/skills/note", { method: "PUT" });
    expect([put.status, put.headers.get("allow")]).toEqual([405, "GET, HEAD, POST, OPTIONS"]);
  });

  it("is refused if it is larger than the skill's own limit; that of the deployment is for programs", async () => {
    const low = new Client({ HULL_ENV: "local", HULL_CONFIG: '{"max_output_bytes":17}' });
    expect(await (await low.fetch("/skills/exact")).text()).toBe(TEXT);
    for (const path of ["/skills/short", "/skills/short?stream=1"]) {
      const answer = await client.fetch(path);
      expect([path, await answer.text()]).toEqual([path, expect.stringContaining("output_too_large")]);
    }
    expect((await client.fetch("/skills/short", { headers: { range: "bytes=0-1" } })).status).toBe(500);
  });

  it("is not sent again to who has it", async () => {
    const etag = (await client.fetch("/skills/note")).headers.get("etag") ?? "";
    for (const sent of [etag, `W/${etag}`, `"other", ${etag}`, "*"]) {
      const response = await client.fetch("/skills/note", { headers: { "if-none-match": sent } });
      expect([sent, response.status, await response.text()]).toEqual([sent, 304, ""]);
    }
    expect((await client.fetch("/skills/note", { headers: { "if-none-match": '"other"' } })).status).toBe(
      200,
    );
  });

  it.each([
    ["bytes=0-3", 206, "0123", "bytes 0-3/18"],
    ["BYTES=0-3", 206, "0123", "bytes 0-3/18"],
    ["bytes=15-", 206, "\u00fc\n".slice(0, 2), "bytes 15-17/18"],
    ["bytes=-1", 206, "\n", "bytes 17-17/18"],
    ["bytes=5-100", 206, TEXT.slice(5), "bytes 5-17/18"],
    ["bytes=-100", 206, TEXT, "bytes 0-17/18"],
    ["bytes=0-1,3-4", 200, TEXT, null],
    ["bytes=4-2", 200, TEXT, null],
    ["lines=1-2", 200, TEXT, null],
    ["bytes=-", 200, TEXT, null],
    ["bytes=18-", 416, null, "bytes */18"],
    ["bytes=-0", 416, null, "bytes */18"],
  ])("Range %s → %i", async (range, status, text, contentRange) => {
    const response = await client.fetch("/skills/note", { headers: { range } });
    expect(response.status).toBe(status);
    expect(response.headers.get("content-range")).toBe(contentRange);
    if (text !== null) expect(await response.text()).toBe(text);
    else expect(await response.json()).toMatchObject({ code: "range_not_satisfiable" });
  });

  it("too large to be kept in memory is the same, whole and in part", async () => {
    for (const [range, from, to] of [
      ["", 0, LARGE.length],
      ["bytes=70000-70009", 70_000, 70_010],
    ] as const) {
      const answer = await client.fetch("/skills/large", range === "" ? {} : { headers: { range } });
      expect(answer.headers.get("content-length")).toBe(String(to - from));
      expect(new Uint8Array(await answer.arrayBuffer())).toEqual(LARGE.slice(from, to));
    }
  });

  it("If-Range of another version gives the whole", async () => {
    const etag = (await client.fetch("/skills/note")).headers.get("etag") ?? "";
    const status = async (sent: string) =>
      (await client.fetch("/skills/note", { headers: { range: "bytes=0-1", "if-range": sent } })).status;
    expect([await status(etag), await status('"other"')]).toEqual([206, 200]);
  });

  it("attack: XML, in which a browser executes scripts too, is in a sandbox", async () => {
    const { headers } = await client.fetch("/skills/feed");
    expect(headers.get("content-type")).toBe("application/xml");
    expect(headers.get("content-security-policy")).toBe("sandbox allow-scripts");
  });

  it("S43: HTML is inline in a sandbox, whoever's page asks; the card is only at /card", async () => {
    const response = await client.fetch("/page", { headers: { origin: "https://evil.example" } });
    expect(response.headers.get("content-type")).toBe("text/html; charset=utf-8");
    expect(response.headers.get("content-security-policy")).toBe("sandbox allow-scripts");
    expect(response.headers.get("content-disposition")).toMatch(/^inline/);
    const card = await client.fetch("/skills/page/card");
    expect(await card.json()).toMatchObject({
      slug: "page",
      mode: "static-file",
      method: "GET",
      route: "/page",
    });
  });

  it("S44: text as events, other files not", async () => {
    const events = await (await client.fetch("/skills/note?stream=1")).text();
    expect(events).toMatch(/^id: ex_\w+:1\nevent: start\n/);
    expect(events).toContain(JSON.stringify(TEXT));
    expect(events).toMatch(/event: done\ndata: \{"ok":true/);
    const image = await client.fetch("/skills/logo?stream=1");
    expect(image.status).toBe(406);
    const either = await client.fetch("/skills/logo", {
      headers: { accept: "text/event-stream, image/png" },
    });
    expect([either.status, either.headers.get("content-type")]).toEqual([200, "image/png"]);
  });
});
