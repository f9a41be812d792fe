/** A script's run as server-sent events, and what becomes of it when the client leaves. */
import { writeFileSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { CANARIES, commonHull, UNSET } from "../support/common-hull.ts";
import { json } from "../support/hull-dev.ts";
import { gone, running, until } from "../support/runner.ts";
import { dataOf, readEvents, textOf } from "../support/sse.ts";

/** For scripts: writes so that nothing else is written before the runner has read it. */
const WRITE = `import array, fcntl, os, termios, time
def write(fd, data):
  os.write(fd, data)
  left = array.array("i", [1])
  while left[0]:
    time.sleep(0.01)
    fcntl.ioctl(fd, termios.FIONREAD, left)
`;

const py = (name: string, script: string, more = ""): Record<string, string> => ({
  [`${name}/SKILL.md`]: `---\nname: ${name}\ndescription: Test.\nrun: [python3, -S, -u, run.py]\n${more}---\nTest.\n`,
  [`${name}/run.py`]: script,
});

const { hull } = await commonHull({
  ...py(
    "split",
    `${WRITE}for b in (b'a\\r\\nb\\n', b'\\xd1', b'\\x8f|\\xf0\\x9f', b'\\x98\\x80', b'\\n\\n'): write(1, b)\n`,
  ),
  ...py("binary", "import os\nos.write(1, bytes([0xff, 0xfe, 0, 0x41]))\n"),
  ...py(
    "alternate",
    // Continues when the client has seen what it wrote.
    "import os, sys, time\nseen = sys.stdin.read()\nfor i in range(6):\n  os.write(1 + i % 2, b'%d ' % i)\n  while not os.path.exists('%s/seen-%d' % (seen, i)): time.sleep(0.02)\n",
  ),
  ...py("secret", `${WRITE}for b in (b'key=sk-openai', b'-e2e-key ', b'sk-openai-'): write(2, b)\n`),
  ...py(
    "proxy-secret",
    `${WRITE}for b in (b'key=canary-up', b'stream-77 ', b'canary-'):\n  write(2, b)\n  write(1, b)\nos._exit(7)\n`,
  ),
  "upstream/SKILL.md":
    "---\nname: upstream\ndescription: Test.\nproxy: https://up.example/\nheaders: {x-key: 'Bearer ${UPSTREAM_KEY}'}\n---\nTest.\n",
  // Says so at once: the time limit counts the start of an interpreter, too.
  "late/SKILL.md":
    "---\nname: late\ndescription: Test.\nrun: [sh, -c, 'echo begun; sleep 93.1']\ntimeout_ms: 3000\n---\nTest.\n",
  ...py("json", "print('{\"a\": 1}')\n", "output: json\n"),
  ...py("bad-json", "print('nope')\n", "output: json\n"),
  ...py("endless", "import os\nwhile True: os.write(1, b'x' * 65536)\n", "max_output_bytes: 1000000\n"),
  ...py("file", "import os\nopen(os.environ['HULL_OUTPUT_FILE'], 'w').write('f')\n", "output: file\n"),
  "missing/SKILL.md": "---\nname: missing\ndescription: Test.\nrun: [no-such-command-8]\n---\nTest.\n",
  "silent/SKILL.md":
    "---\nname: silent\ndescription: Test.\nrun: [sh, -c, 'echo begun; sh -c \"sleep 99; echo silent-mark\"']\n---\nTest.\n",
  "chatty/SKILL.md":
    "---\nname: chatty\ndescription: Test.\nrun: [sh, -c, 'echo begun; while :; do echo chatty-mark; sleep 0.2; done']\n---\nTest.\n",
  "unkeyed/SKILL.md": `---\nname: unkeyed\ndescription: Test.\nmode: llm\nprovider: ${UNSET.provider}\n---\nTest.\n`,
});

const stream = (slug: string, body = "x"): Promise<Response> => hull.call(`/skills/${slug}?stream=1`, body);

test("S77: text is rebuilt exactly from the deltas, and no character is split", async () => {
  const events = await readEvents(await stream("split"));
  expect(textOf(events, "delta")).toBe("a\r\nb\nя|😀\n\n");
  expect(dataOf(events, "delta").every((data) => !String(data.text).includes("\ufffd"))).toBe(true);
  expect(events.map((e) => e.event)).toEqual([
    "start",
    ...dataOf(events, "delta").map(() => "delta"),
    "done",
  ]);
  expect(dataOf(events, "delta").length).toBeGreaterThan(2);
  expect(events.at(-1)?.data).toMatchObject({ ok: true, exit_code: 0, duration_ms: expect.any(Number) });
});

test("bytes that are no UTF-8 travel as Base64", async () => {
  const bytes = dataOf(await readEvents(await stream("binary")), "delta").map(({ b64, text }) =>
    typeof b64 === "string" ? Buffer.from(b64, "base64") : Buffer.from(String(text)),
  );
  expect([...Buffer.concat(bytes)]).toEqual([0xff, 0xfe, 0, 0x41]);
});

test("S78: stdout and stderr arrive in the order in which they were written, and immediately", async () => {
  const events = await readEvents(await stream("alternate", hull.root), ({ data }) => {
    if (typeof data.text === "string") writeFileSync(join(hull.root, `seen-${data.text.trim()}`), "");
  });
  expect(events.slice(1, -1).map((e) => [e.event, e.data.text])).toEqual([
    ["delta", "0 "],
    ["stderr", "1 "],
    ["delta", "2 "],
    ["stderr", "3 "],
    ["delta", "4 "],
    ["stderr", "5 "],
  ]);
});

test("S82: a secret that is split over two writes is redacted; a mere beginning of one is not", async () => {
  const events = await readEvents(await stream("secret"));
  expect(textOf(events, "stderr")).toBe("key=[redacted] sk-openai-");
});

test("S82: the secrets that a proxy skill sends upstream are redacted in the events, errors and log lines of other skills", async () => {
  const events = await readEvents(await stream("proxy-secret"));
  for (const name of ["stderr", "delta"] as const)
    expect(textOf(events, name)).toBe("key=[redacted] canary-");
  const failed = await (await hull.call("/skills/proxy-secret", "x")).text();
  expect(JSON.parse(failed)).toMatchObject({ code: "script_failed", stderr: "key=[redacted] canary-" });
  const durable = { "idempotency-key": "redacted", accept: "text/event-stream" };
  const kept = await hull.call("/skills/proxy-secret", "x", { headers: durable });
  expect(textOf(await readEvents(kept), "stderr")).toBe("key=[redacted] canary-");
  expect(hull.output()).not.toContain(CANARIES.UPSTREAM_KEY);
});

test.each([
  ["late", { code: "script_timeout", status: 504, timeout_ms: 3000 }, "begun\n"],
  ["endless", { code: "output_too_large", status: 500, limit: 1_000_000 }, null],
  ["bad-json", { code: "output_invalid_json", status: 500 }, "nope\n"],
])("S75: %s ends with an error and then done", async (slug, members, text) => {
  const response = await stream(slug);
  const events = await readEvents(response);
  expect(response.status).toBe(200);
  expect(events.slice(-2).map((e) => e.event)).toEqual(["error", "done"]);
  const requestId = response.headers.get("x-request-id");
  expect(events.at(-2)?.data).toMatchObject({
    ...members,
    request_id: requestId,
    type: `urn:hull:problem:${members.code}`,
  });
  expect(events.at(-1)?.data).toMatchObject({ ok: false });
  if (text !== null) expect(textOf(events, "delta")).toBe(text);
});

test("S75: a missing command is an error event after start", async () => {
  const response = await stream("missing");
  expect(response.status).toBe(200);
  expect(await readEvents(response)).toMatchObject([
    { event: "start" },
    { event: "error", data: { code: "command_not_found", command: "no-such-command-8" } },
    { event: "done", data: { ok: false } },
  ]);
});

test("S76: a failure known before the first byte uses its real status", async () => {
  const response = await stream("unkeyed");
  expect([response.status, await json(response)]).toMatchObject([
    503,
    { code: "provider_not_configured", variable: UNSET.variable },
  ]);
});

describe("who asks for events", () => {
  test.each([
    ["text/event-stream", "json", 200, "text/event-stream; charset=utf-8"],
    ["text/event-stream, application/json", "json", 200, "text/event-stream; charset=utf-8"],
    ["text/event-stream", "file", 406, "application/problem+json"],
    ["text/event-stream, */*", "file", 200, "application/octet-stream"],
  ])("Accept: %s on output: %s", async (accept, slug, status, type) => {
    const response = await hull.call(`/skills/${slug}`, "x", { headers: { accept } });
    await response.text();
    expect([response.status, response.headers.get("content-type")]).toEqual([status, type]);
  });

  test("the json skill's text arrives as deltas", async () => {
    expect(JSON.parse(textOf(await readEvents(await stream("json")), "delta"))).toEqual({ a: 1 });
  });
});

describe("S31: when a client leaves, the whole process group ends", () => {
  test.each([
    // A connection that is merely closed is noticed by workerd at its next write, one that is reset at once.
    ["closed", "chatty", (socket: Socket) => socket.destroy()],
    ["reset", "silent", (socket: Socket) => socket.resetAndDestroy()],
  ])("connection %s, %s script", async (_how, slug, leave) => {
    const socket = connect(Number(new URL(hull.url).port), "127.0.0.1");
    socket.write(`POST /skills/${slug}?stream=1 HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\n\r\nx`);
    let text = "";
    socket.setEncoding("utf8").on("data", (chunk: string) => {
      text += chunk;
    });
    await until(
      () => text,
      (seen) => seen.includes("begun"),
    );
    await running(`${slug}-mark`);
    leave(socket);
    await gone(`${slug}-mark`);
  });
});
