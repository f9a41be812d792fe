/** A network whose only way out is a proxy: commands and the Worker of `hull dev` go through it, this machine's own parts do not. */
import { once } from "node:events";
import { createServer, request } from "node:http";
import { expect, test } from "vitest";
import { json, runHull, startHullDev } from "../support/hull-dev.ts";

test("commands, and the Worker of hull dev, ask other machines through the proxy that the environment names", async () => {
  const asked: string[] = [];
  let hullPort = "";
  // It knows two names that no other resolver knows: the server that `hull dev` started, and one of its own.
  const proxy = createServer((incoming, outgoing) => {
    const url = new URL(incoming.url ?? "");
    asked.push(`${incoming.method} ${url.href}`);
    if (url.pathname === "/endless") {
      outgoing.on("close", ended.resolve);
      outgoing.writeHead(200, { "content-type": "text/event-stream" }).write("data: first\n\n");
      return;
    }
    if (url.hostname === "events.test") {
      outgoing.writeHead(201, { "content-type": "text/event-stream", etag: '"1"' }).write("data: first\n\n");
      seen.promise.then(() => outgoing.end("data: last\n\n"));
      return;
    }
    const { method, headers } = incoming;
    const onward = request({ host: "127.0.0.1", port: hullPort, path: url.pathname, method, headers });
    onward.on("response", (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.rawHeaders);
      answer.pipe(outgoing);
    });
    incoming.pipe(onward);
  });
  const seen = Promise.withResolvers<void>();
  const ended = Promise.withResolvers<void>();
  proxy.listen(0, "127.0.0.1");
  await once(proxy, "listening");
  const address = proxy.address();
  // As curl takes it, without a scheme.
  const env = { http_proxy: `127.0.0.1:${typeof address === "object" ? address?.port : ""}` };
  const hull = await startHullDev({
    args: ["--direct"],
    env,
    project: { "hull.toml": 'allowed_hosts = ["hull.test"]\n' },
    skills: {
      "news/SKILL.md": "---\nname: news\ndescription: Streams.\nproxy: http://events.test/feed\n---\n",
      "endless/SKILL.md":
        "---\nname: endless\ndescription: Streams.\nproxy: http://events.test/endless\n---\n",
      "gone/SKILL.md": "---\nname: gone\ndescription: Unreachable.\nproxy: https://gone.invalid/\n---\n",
      "hi/SKILL.md": "---\nname: hi\ndescription: Says hi.\nrun: [cat]\n---\nhi\n",
    },
  });
  try {
    hullPort = new URL(hull.url).port;
    const answer = await hull.call("/skills/news", "question");
    expect([answer.status, answer.headers.get("etag")]).toEqual([201, '"1"']);
    let text = "";
    for await (const part of answer.body ?? []) {
      text += new TextDecoder().decode(part);
      seen.resolve();
    }
    expect(text).toBe("data: first\n\ndata: last\n\n");
    expect(asked).toContain("POST http://events.test/feed");
    // The proxy learns when the client leaves.
    const leaving = new AbortController();
    const { signal } = leaving;
    await hull.call("/skills/endless", undefined, { method: "POST", signal });
    leaving.abort();
    await ended.promise;
    // No proxy for https: the host is asked directly, and the answer names it.
    const gone = await hull.call("/skills/gone", "question");
    expect([gone.status, await gone.text()]).toEqual([502, expect.stringContaining("gone.invalid")]);

    const started = asked.length;
    expect((await json(await hull.call("/healthz"))).skills).toBe(4);
    const how = { cwd: hull.root, env, process: true } as const;
    const called = await runHull(["call", "hi", "-i", "Ada", "--url", `http://hull.test:${hullPort}`], how);
    expect(called).toEqual({ code: 0, output: expect.stringContaining("Ada") });
    expect(asked.slice(started)).toContain(`POST http://hull.test:${hullPort}/skills/hi`);
    const near = asked.length;
    const own = await runHull(["keys", "list", "--url", hull.url], how);
    expect([own.code, asked.length]).toEqual([0, near]);
  } finally {
    await hull.stop();
    proxy.closeAllConnections();
    proxy.close();
  }
});
