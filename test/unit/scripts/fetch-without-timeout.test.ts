/** How commands send requests, and what they report of a server that breaks its answers off. */
import { readFileSync } from "node:fs";
import { text } from "node:stream/consumers";
import { expect, test } from "vitest";
import { fetchWithoutTimeout } from "../../../scripts/fetch-without-timeout.ts";
import { hullHere } from "../../support/hull-here.ts";
import { until } from "../../support/runner.ts";
import { serve } from "./answering-server.ts";

test("a request and its answer arrive unchanged", async () => {
  const url = await serve(async (request, response) => {
    const { method, headers } = request;
    const sent = {
      method,
      type: headers["content-type"],
      key: headers.authorization,
      body: await text(request),
    };
    response.setHeader("set-cookie", ["a=1", "b=2"]).writeHead(method === "DELETE" ? 204 : 201);
    response.end(method === "DELETE" ? undefined : JSON.stringify(sent));
  });
  const headers = { authorization: "Bearer key", "content-type": "text/plain" };
  const answer = await fetchWithoutTimeout(new URL(url), { method: "POST", headers, body: "ä" });
  expect([answer.status, answer.headers.getSetCookie()]).toEqual([201, ["a=1", "b=2"]]);
  expect(await answer.json()).toEqual({ method: "POST", type: "text/plain", key: "Bearer key", body: "ä" });
  const form = new FormData();
  form.set("file", new Blob(["content"]), "a.txt");
  const filed = await (await fetchWithoutTimeout(new URL(url), { method: "POST", body: form })).json();
  expect(filed).toMatchObject({
    type: expect.stringMatching(/^multipart\/form-data; boundary=/),
    body: expect.stringContaining("content"),
  });
  const gone = await fetchWithoutTimeout(new URL(url), { method: "DELETE" });
  expect([gone.status, gone.body]).toEqual([204, null]);
});

test("a connection that the server closes between two requests fails neither of them", async () => {
  const asked: (string | undefined)[] = [];
  const url = await serve(({ method, socket }, response) => {
    asked.push(method);
    // The first request of each connection is answered; the second finds the connection closed.
    if (known.has(socket)) return socket.destroy();
    known.add(socket);
    return response.end("ok");
  });
  const known = new Set<unknown>();
  for (const method of ["GET", "PUT", "POST", "POST"]) {
    const answer = await fetchWithoutTimeout(new URL(url), { method });
    expect([method, await answer.text()]).toEqual([method, "ok"]);
  }
  // Nobody knows whether a POST took effect, so it is not sent twice.
  expect(asked).toEqual(["GET", "PUT", "PUT", "POST", "POST"]);
});

test.runIf(process.platform === "linux")("the system asks whether the server is still there", async () => {
  /** Its timer, as proc_net_tcp.txt of the kernel says: 1 retransmits, 2 sends keepalive probes. */
  const timerOf = (port = 0): string => {
    const end = `:${port.toString(16).toUpperCase().padStart(4, "0")}`;
    const rows = readFileSync("/proc/net/tcp", "utf8")
      .split("\n")
      .map((line) => line.trim().split(/\s+/));
    return rows.find(([, from]) => from?.endsWith(end))?.[5]?.slice(0, 2) ?? "none";
  };
  const url = await serve(async ({ socket }, response) => {
    response.end(
      await until(
        () => timerOf(socket.remotePort),
        (timer) => timer !== "01",
      ),
    );
  });
  for (const method of ["GET", "POST"]) {
    const answer = await fetchWithoutTimeout(new URL(url), { method });
    expect([method, await answer.text()]).toEqual([method, "02"]);
  }
});

test("an answer that breaks off means a server out of reach, not a fault of the command", async () => {
  const card = { method: "POST", input: "text", output: "text" };
  const half = 'event: delta\ndata: {"text":"half"}\n\n';
  const url = await serve(({ url = "", headers, socket }, response) => {
    if (url.endsWith("/card")) return response.end(JSON.stringify({ ...card, route: url.slice(0, -5) }));
    const streams = headers.accept?.includes("text/event-stream") === true;
    response.writeHead(200, streams ? { "content-type": "text/event-stream" } : { "content-length": 100 });
    const done = url.endsWith("/whole") ? 'event: done\ndata: {"ok":true}\n\n' : "";
    return response.write(streams ? half + done : "half", () => socket.destroy());
  });
  const err = "hull: The server broke off its answer.\n";
  for (const [args, out] of [
    [["call", "x", "-i", "y"], ""],
    [["call", "x", "-i", "y", "--stream"], "half"],
    [["run", "x"], "half"],
    [["sessions", "ls"], ""],
  ] as const)
    expect([args, await hullHere([...args, "--url", url])]).toEqual([args, { code: 4, out, err }]);
  const whole = await hullHere(["call", "whole", "-i", "y", "--stream", "--url", url]);
  expect(whole).toEqual({ code: 0, out: "half", err: "" });
});

test("a redirect is not followed, so that no key goes elsewhere; the message names where it leads", async () => {
  const url = await serve((_, response) => {
    response.removeHeader("x-request-id");
    response.writeHead(301, { location: "https://hull.example/" }).end();
  });
  const ended = await hullHere(["sessions", "ls", "--url", url]);
  expect(ended).toMatchObject({ code: 4, err: expect.stringContaining("leads to https://hull.example/;") });
});

test("if a server is no Hull, a command reads only the first line of its answer", async () => {
  const url = await serve((_, response) => {
    response.removeHeader("x-request-id");
    response.write("data: tick\n\n");
  });
  const ended = await hullHere(["sessions", "ls", "--url", url]);
  expect(ended).toMatchObject({ code: 4, err: expect.stringMatching(/it is not a Hull: data: tick\n/) });
});

test("a rollback may have taken place only if a Hull got it and did not refuse it", async () => {
  const url = await serve(({ method }, response) => {
    if (method === "GET") return response.end('{"id":null,"previous":null}');
    response.writeHead(429);
    return response.end(JSON.stringify({ code: "rate_limited", detail: "The rate is used up." }));
  });
  for (const [at, code, said] of [
    [url, 1, "The rate is used up."],
    ["http://127.0.0.1:2", 4, "Start it with"],
  ] as const) {
    const rolled = await hullHere(["publish", "--rollback", "--url", at]);
    expect(rolled).toMatchObject({ code, err: expect.stringContaining(said) });
    expect(rolled.err).not.toContain("may have taken place");
  }
});
