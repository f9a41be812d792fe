/** Tickets, bundles, ids. */
import { spawn } from "node:child_process";
import { createHash, randomUUID } from "node:crypto";
import { once } from "node:events";
import { lstat, mkdir, mkdtemp, readdir, readFile, readlink, rm, stat, writeFile } from "node:fs/promises";
import { request } from "node:http";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { Bundles } from "../../container/bundles.ts";
import { removeTree } from "../../container/tree.ts";
import { packTar, type TarFile } from "../../src/skill/tar.ts";
import { encodeMultipart } from "../../src/tool/multipart.ts";
import { type ExecutionSpec, signTicket, type TicketSubject } from "../../src/tool/protocol.ts";
import { type Runner, runExecution } from "../../src/tool/runner-client.ts";
import { callScript } from "../support/handler-call.ts";
import {
  bundle,
  collect,
  run,
  running,
  runOptions,
  spec,
  startRunner,
  type TestRunner,
  until,
} from "../support/runner.ts";

let runner: TestRunner;
beforeAll(async () => {
  runner = await startRunner({ flags: ["--bundle-bytes", "5000"] });
});
afterAll(() => runner.stop());

interface Answer {
  status: number;
  code: string | undefined;
}

async function post(value: ExecutionSpec, ticket: string, specText = JSON.stringify(value)): Promise<Answer> {
  const { contentType, body } = encodeMultipart(specText, {}, Promise.resolve());
  const headers = { "content-type": contentType, authorization: `Bearer ${ticket}` };
  return answerOf(await runner.fetch("/v1/executions", { method: "POST", headers, body }));
}

async function answerOf(response: Response): Promise<Answer> {
  const text = await response.text();
  const json = response.headers.get("content-type") === "application/json";
  return { status: response.status, code: json ? JSON.parse(text).code : undefined };
}

async function put(digest: string, body: Uint8Array<ArrayBuffer>): Promise<Answer> {
  const ticket = await signTicket(runner.key, `bundle:${digest}`, "", Date.now());
  const headers = { authorization: `Bearer ${ticket}` };
  return answerOf(await runner.fetch(`/v1/bundles/${digest}`, { method: "PUT", headers, body }));
}

describe("tickets", () => {
  const value = spec({ digest: "0".repeat(64), argv: ["true"] });
  const text = JSON.stringify(value);
  const subject: TicketSubject = `execution:${value.id}`;
  const cases: [string, () => Promise<string>][] = [
    ["no signature", async () => "abc"],
    [
      "another secret's signature",
      async () => `${(await signTicket(runner.key, subject, text, Date.now())).slice(0, -4)}AAAA`,
    ],
    ["an expired one", () => signTicket(runner.key, subject, text, Date.now() - 61_000)],
    ["one for another spec", () => signTicket(runner.key, subject, `${text} `, Date.now())],
    ["one for another id", () => signTicket(runner.key, "execution:other", text, Date.now())],
  ];
  test.each(cases)("%s is 401", async (_, ticket) => {
    expect(await post(value, await ticket())).toEqual({ status: 401, code: "unauthenticated" });
  });
  test("attack: without a genuine one the answer does not wait for a body", async () => {
    const headers = { "content-type": "multipart/form-data; boundary=b", authorization: "Bearer x.y" };
    const asked = request(`${runner.url}/v1/executions`, { method: "POST", headers });
    onTestFinished(() => void asked.destroy());
    asked.on("error", () => {});
    asked.write('--b\r\ncontent-disposition: form-data; name="spec"\r\n\r\n{');
    const [response] = await once(asked, "response");
    expect(response.statusCode).toBe(401);
  });
  test("the right one gets as far as the missing bundle", async () => {
    const good = await signTicket(runner.key, subject, text, Date.now());
    expect(await post(value, good)).toEqual({ status: 424, code: "bundle_missing" });
  });
  test.each([
    "GET /v1/executions/x",
    "DELETE /v1/executions/x",
    "DELETE /v1/requests/x",
    `PUT /v1/bundles/${"0".repeat(64)}`,
  ])("%s needs one", async (line) => {
    const [method, path = ""] = line.split(" ");
    const response = await fetch(runner.url + path, { method: method ?? "" });
    expect(await answerOf(response)).toEqual({ status: 401, code: "unauthenticated" });
  });
  test("a spec that is not valid names the field and no value", async () => {
    const bad = JSON.stringify({ ...value, env: { "BAD-NAME": "canary" }, timeout_ms: 0 });
    const { contentType, body } = encodeMultipart(bad, {}, Promise.resolve());
    const ticket = await signTicket(runner.key, subject, bad, Date.now());
    const headers = { "content-type": contentType, authorization: `Bearer ${ticket}` };
    const response = await runner.fetch("/v1/executions", { method: "POST", headers, body });
    const answered = await response.text();
    expect(response.status).toBe(400);
    expect(answered).toContain("timeout_ms");
    expect(answered).not.toContain("canary");
  });
});

test("a runner of an earlier version, which knows no own stderr, runs the command and mixes its outputs", async () => {
  const files = await bundle({ "noop.sh": "#!/bin/sh\n" });
  const earlier: Runner = {
    ...runner,
    async fetch(path, request) {
      const body = new Uint8Array(await new Response(request.body ?? null).arrayBuffer());
      if (!/"own_stderr"|"skill_path"/.test(new TextDecoder().decode(body)))
        return runner.fetch(path, { ...request, body });
      const refusal = { code: "bad_request", detail: "The spec is not valid at: handler." };
      return Response.json(refusal, { status: 400 });
    },
  };
  const stdin = Buffer.from("echo out; echo err >&2");
  for (const [to, stdout, stderr] of [
    [runner, "out\n", "err\n"],
    [earlier, "out\nerr\n", ""],
  ] as const) {
    const handler = {
      language: "bash",
      config: "{}",
      context: "{}",
      network: null,
      own_stderr: true,
      skill_path: "a",
    } as const;
    const command = spec({ digest: files.digest, argv: ["bash"], input: { mode: "stdin" }, handler });
    const ran = await collect(runExecution(to, command, { stdin }, runOptions(files)));
    expect([ran.stdout.toString(), ran.stderr.toString()]).toEqual([stdout, stderr]);
    expect(ran.status).toMatchObject({ cause: "exit", exit_code: 0 });
  }
});

describe("bundles", () => {
  test("a missing one is sent once; the connection stays usable", async () => {
    const files = await bundle({ "x.sh": "#!/bin/sh\ncat; pwd; ls -l\n" });
    let packs = 0;
    const options = runOptions(files, {
      pack: async () => {
        packs += 1;
        return files.tar;
      },
    });
    // Streamed input: sent only when the runner has accepted it, so the missing bundle does not cost it.
    const stdin = new Blob(["streamed "]).stream();
    const first = spec({ digest: files.digest, argv: ["./x.sh"], input: { mode: "stdin" } });
    const { stdout } = await collect(runExecution(runner, first, { stdin }, options));
    expect(stdout.toString()).toMatch(/^streamed /);
    expect(stdout.toString()).toContain("-r-xr-xr-x");
    await collect(runExecution(runner, spec({ digest: files.digest, argv: ["./x.sh"] }), {}, options));
    expect(packs).toBe(1);
  });

  test("changes of a process in a skill's folder are invisible to the next one, also after a restart", async () => {
    const script = '#!/bin/sh\ncat data; ls; sh -c "$1"\n';
    const files = await bundle({ "x.sh": script, data: "as sent\n", "lib/word.py": "WORD = 1\n" });
    let packs = 0;
    const pack = async () => {
      packs += 1;
      return files.tar;
    };
    let own = await startRunner();
    const ran = async (command: string): Promise<string> => {
      const value = spec({ digest: files.digest, argv: ["./x.sh", command] });
      const { stdout } = await collect(runExecution(own, value, {}, runOptions(files, { pack })));
      return stdout.toString();
    };
    const good = "as sent\ndata\nlib\nx.sh\n";
    expect(await ran("true")).toBe(good);
    // The files that Python writes next to modules change nothing.
    const python = "python3 -c 'import sys; sys.path[0] = \"lib\"; import word; print(word.WORD)'";
    expect(await ran(python)).toBe(`${good}1\n`);
    expect([await ran("true"), packs]).toEqual([good, 1]);
    // An execution under way keeps its folder, in which the same paths lead to the fresh one.
    const gate = join(own.stateDir, "gate");
    const waits = ran(`touch ${gate}-begun; until [ -e ${gate} ]; do sleep 0.1; done; cat "$PWD/data"`);
    await until(
      () => readdir(own.stateDir),
      (names) => names.includes("gate-begun"),
    );
    const changes = [
      "chmod u+w data; echo other > data; touch -d @1 data",
      "chmod u+w .; echo more > more",
      "chmod u+w .; mv x.sh y.sh",
      "chmod -R u+w .; rm -r ../$(basename $PWD)",
    ];
    for (const [index, command] of changes.entries()) {
      await ran(command);
      expect([command, await ran("true"), packs]).toEqual([command, good, index + 2]);
    }
    await ran(`touch ${gate}`);
    expect(await waits).toBe(`${good}as sent\n`);
    await ran("chmod u+w data; echo other > data");
    const before = packs;
    await own.kill("SIGKILL");
    own = await startRunner({ from: own });
    expect([await ran("true"), packs]).toEqual([good, before + 1]);
    await until(
      () => readdir(join(own.stateDir, "bundles")),
      (names) => names.length === 2,
    );
    await own.stop();
  });

  test("an early refusal of a long body does not break the client", async () => {
    const value = spec({ digest: "1".repeat(64), argv: ["cat"], input: { mode: "stdin" } });
    const text = JSON.stringify(value);
    const ticket = await signTicket(runner.key, `execution:${value.id}`, text, Date.now());
    const stdin = new Uint8Array(20_000_000);
    for (let round = 0; round < 3; round += 1) {
      const { contentType, body } = encodeMultipart(text, { stdin }, Promise.resolve());
      const headers = { "content-type": contentType, authorization: `Bearer ${ticket}` };
      const response = await runner.fetch("/v1/executions", { method: "POST", headers, body });
      expect(await answerOf(response)).toEqual({ status: 424, code: "bundle_missing" });
    }
    expect((await fetch(`${runner.url}/healthz`)).status).toBe(200);
  });

  test("the same bundle several times at once is unpacked once", async () => {
    const files = await bundle({ "y.sh": "#!/bin/sh\necho y\n" });
    const answers = await Promise.all(Array.from({ length: 5 }, () => put(files.digest, files.tar)));
    expect(answers.map(({ status }) => status)).toEqual([204, 204, 204, 204, 204]);
    const unpacked = runner
      .log()
      .split("\n")
      .filter((line) => line.includes("bundle_unpacked") && line.includes(files.digest));
    expect(unpacked.length).toBeLessThanOrEqual(1);
  });

  test("a bundle that the disk refuses at the end arrives at the next attempt", async () => {
    const { digest, tar } = await bundle({ "z.sh": "#!/bin/sh\necho z\n" });
    const inTheWay = join(runner.stateDir, "bundles", `${digest}.size`);
    await mkdir(inTheWay);
    expect((await put(digest, tar)).status).toBe(500);
    await rm(inTheWay, { recursive: true });
    expect((await put(digest, tar)).status).toBe(204);
  });

  test("a bundle whose size was lost when the machine stopped is removed", async () => {
    const root = join(runner.stateDir, "earlier");
    await mkdir(join(root, "0".repeat(64)), { recursive: true });
    await writeFile(join(root, `${"0".repeat(64)}.size`), "");
    await new Bundles(root, 1000, null).prepare();
    expect(await readdir(root)).toEqual([]);
  });

  test("the least recently used go when there are too many bytes", async () => {
    const make = (letter: string) => bundle({ "data.txt": letter.repeat(2400) });
    const bundles = [await make("a"), await make("b"), await make("c")] as const;
    const [first, ...others] = bundles;
    expect((await put(first.digest, first.tar)).status).toBe(204);
    // What is refused for want of another skill does not hold it.
    const list = [first.digest, "9".repeat(64)].map((digest, n) => ({ name: `s${n}`, digest }));
    const value = spec({ digest: first.digest, argv: ["true"], skills: { key: "a".repeat(16), list } });
    const ticket = await signTicket(runner.key, `execution:${value.id}`, JSON.stringify(value), Date.now());
    expect(await post(value, ticket)).toEqual({ status: 424, code: "bundle_missing" });
    for (const { digest, tar } of others) expect((await put(digest, tar)).status).toBe(204);
    const kept = async () => {
      const names = await readdir(join(runner.stateDir, "bundles"));
      return bundles.map(({ digest }) => names.includes(digest)).join();
    };
    await until(kept, (flags) => flags === "false,true,true");
  });

  test.each([
    ["a link", { type: "2", link: "/etc/passwd" }],
    ["a hard link", { type: "1", link: "x" }],
    ["a device", { type: "3" }],
    ["a path that leaves", { path: "../evil" }],
    ["a path that leaves further in", { path: "a/../../evil" }],
    ["an absolute path", { path: "/tmp/evil" }],
    ["a wrong checksum", { checksum: 1 }],
    ["a size beyond the end", { size: 100_000 }],
    ["no end", { cut: true }],
    ["the same file twice", { twice: true }],
  ])("a tar with %s is refused and leaves nothing", async (_, hostile) => {
    const tar = hostileTar(hostile);
    const digest = createHash("sha256").update(tar).digest("hex");
    expect(await put(digest, tar)).toEqual({ status: 422, code: "bundle_invalid" });
    const left = await readdir(join(runner.stateDir, "bundles"));
    expect(left.filter((name) => name.startsWith(".") || name.startsWith(digest))).toEqual([]);
    await expect(stat(join(runner.stateDir, "bundles", "evil"))).rejects.toThrow();
  });

  test.each([
    ["the runner's own uid", []],
    ...(process.getuid?.() === 0
      ? [["a uid of their own", ["--child-uid", "65123"]] satisfies [string, string[]]]
      : []),
  ])("with %s: a program that is a link finds the modules beside its file", async (_, flags) => {
    const own = await startRunner({ flags });
    try {
      const entry = (path: string, text: string, link?: string): TarFile => ({
        path,
        mode: 0o644,
        bytes: new TextEncoder().encode(text),
        ...(link === undefined ? {} : { link }),
      });
      const tar = packTar([
        entry("lib/near.py", "print('near')\n"),
        entry("lib/x.py", "import near\n"),
        entry("skills/a/scripts/x.py", "import near\n", "lib/x.py"),
      ]);
      const digest = createHash("sha256").update(tar).digest("hex");
      const from = { digest, tar, executables: [] };
      const skills = { key: "a".repeat(16), list: [{ name: "a", digest }] };
      const path = join(own.stateDir, "skills", skills.key, "a/skills/a/scripts/x.py");
      const bash = { language: "bash", config: "{}", context: "{}", network: null } as const;
      const said = async (command: string) => {
        const value = { argv: ["bash"], handler: bash, skills };
        return (await run(own, from, value, { stdin: Buffer.from(command) })).stdout.toString();
      };
      expect(await said(`python3 -B ${path} 2>&1`)).toBe("near\n");
      expect(await callScript(own, from, "skills/a/scripts/x.py")).toMatchObject({ value: "near" });
      const unpacked = join(own.stateDir, "bundles", digest, "skills/a/scripts/x.py");
      expect(await readlink(unpacked)).toBe("../../../lib/x.py");
    } finally {
      await own.stop();
    }
  });

  test.each([
    ["a file of the system", "/etc/passwd"],
    ["a path that leaves", "../../../etc/passwd"],
    ["itself", "evil"],
    ["a folder", "."],
  ])("a file that claims to be a link to %s is a file", async (_, link) => {
    const tar = hostileTar({ link });
    const digest = createHash("sha256").update(tar).digest("hex");
    expect((await put(digest, tar)).status).toBe(204);
    expect((await lstat(join(runner.stateDir, "bundles", digest, "evil"))).isFile()).toBe(true);
  });

  test("a tar under another digest is refused", async () => {
    const { tar } = await bundle({ a: "a" });
    expect(await put("2".repeat(64), tar)).toEqual({ status: 422, code: "bundle_invalid" });
  });
});

describe("ids", () => {
  test("the same id and spec attaches, live and after the end; another spec is a conflict", async () => {
    const files = await bundle({ "z.sh": "#!/bin/sh\n" });
    const value = spec({ digest: files.digest, argv: ["sh", "-c", "echo $$; sleep 0.5; echo end"] });
    const again = () => collect(runExecution(runner, value, {}, runOptions(files)));
    await run(runner, files, { argv: ["true"] });
    const [first, second] = await Promise.all([again(), again()]);
    const third = await again();
    expect(second.stdout).toEqual(first.stdout);
    expect(third.stdout).toEqual(first.stdout);
    expect(third.status).toEqual(first.status);
    await expect(run(runner, files, { id: value.id, argv: ["true"] })).rejects.toMatchObject({
      code: "execution_conflict",
    });
  });

  test("a cancel ends what runs, leaves what has ended, and finds no unknown one", async () => {
    const files = await bundle({ "z.sh": "#!/bin/sh\n" });
    const value = spec({ digest: files.digest, argv: ["sleep", "69.5"], detach: true });
    const cancel = async (id: string): Promise<Answer> => {
      const authorization = `Bearer ${await signTicket(runner.key, `execution:${id}`, "", Date.now())}`;
      return answerOf(
        await runner.fetch(`/v1/executions/${id}`, { method: "DELETE", headers: { authorization } }),
      );
    };
    const ended = collect(runExecution(runner, value, {}, runOptions(files)));
    await running("sleep 69.5");
    expect((await cancel(value.id)).status).toBe(204);
    expect((await ended).status.cause).toBe("cancelled");
    expect((await cancel(value.id)).status).toBe(204);
    expect(await cancel("unknown")).toEqual({ status: 404, code: "execution_not_found" });
  });
});

test("without a secret file the secret is delivered once", async () => {
  const stateDir = await mkdtemp(join(tmpdir(), "hull-runner-"));
  const main = fileURLToPath(new URL("../../container/main.ts", import.meta.url));
  const child = spawn(process.execPath, [main, "--state", stateDir, "--exit-with-parent"], {
    stdio: ["pipe", "pipe", "ignore"],
  });
  const port = await new Promise<number>((resolve) =>
    createInterface(child.stdout).once("line", (line) => resolve(JSON.parse(line).port)),
  );
  const url = `http://127.0.0.1:${port}`;
  const deliver = async (body: string) => (await fetch(`${url}/v1/secret`, { method: "PUT", body })).status;
  expect((await fetch(`${url}/readyz`)).status).toBe(401);
  const secret = randomUUID();
  expect([
    await deliver("short"),
    await deliver(secret),
    await deliver(secret),
    await deliver(randomUUID()),
  ]).toEqual([400, 204, 204, 409]);
  expect((await fetch(`${url}/readyz`)).status).toBe(200);
  const exited = new Promise((resolve) => child.once("exit", resolve));
  child.stdin.end();
  expect(await exited).toBe(0);
  await removeTree(stateDir);
});

test("with a secret file the secret's route does not exist; an unknown route is 404; metrics are text", async () => {
  const secret = await fetch(`${runner.url}/v1/secret`, { method: "PUT", body: "x".repeat(40) });
  expect(await answerOf(secret)).toEqual({ status: 404, code: "not_found" });
  expect((await fetch(`${runner.url}/nope`)).status).toBe(404);
  expect(await (await fetch(`${runner.url}/metrics`)).text()).toMatch(/^hull_runner_running 0$/m);
  expect(await readFile(join(runner.stateDir, "secret"), "utf8")).toBe(runner.secret);
  expect(runner.log()).not.toContain(runner.secret);
});

test("a client that breaks off inside its body does not leave a process that took the part for the whole", async () => {
  const files = await bundle({ "in.sh": "#!/bin/sh\ncat > /dev/null && echo complete > $TMPDIR/../done\n" });
  await run(runner, files, { argv: ["true"] });
  const value = spec({ digest: files.digest, argv: ["./in.sh"], input: { mode: "stdin" } });
  const text = JSON.stringify(value);
  const ticket = await signTicket(runner.key, `execution:${value.id}`, text, Date.now());
  const body = `--b\r\nContent-Disposition: form-data; name="spec"\r\n\r\n${text}\r\n--b\r\nContent-Disposition: form-data; name="stdin"; filename="stdin"\r\n\r\npartial`;
  const socket = connect(Number(new URL(runner.url).port), "127.0.0.1");
  socket.write(
    `POST /v1/executions HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${ticket}\r\nContent-Type: multipart/form-data; boundary=b\r\nContent-Length: 100000\r\n\r\n${body}`,
  );
  await new Promise((resolve) => socket.once("data", resolve));
  await new Promise((resolve) => setTimeout(resolve, 100));
  socket.destroy();
  const replay = await collect(runExecution(runner, value, {}, runOptions(files)));
  expect(replay.status.cause).toBe("cancelled");
  expect(await readdir(join(runner.stateDir, "scratch"))).not.toContain("done");
});

/** A tar of one entry that is not as it should be. */
function hostileTar(entry: {
  path?: string;
  type?: string;
  link?: string;
  size?: number;
  checksum?: number;
  cut?: boolean;
  twice?: boolean;
}): Uint8Array<ArrayBuffer> {
  const header = Buffer.alloc(512);
  header.write(entry.path ?? "evil", 0);
  header.write("0000755\0", 100);
  header.write("0000000\0", 108);
  header.write("0000000\0", 116);
  header.write(`${(entry.size ?? 0).toString(8).padStart(11, "0")}\0`, 124);
  header.write("00000000000\0", 136);
  header.write(" ".repeat(8), 148);
  header.write(entry.type ?? "0", 156);
  header.write(entry.link ?? "", 157);
  header.write("ustar\x0000", 257);
  const sum = header.reduce((total, byte) => total + byte, entry.checksum ?? 0);
  header.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148);
  const end = Buffer.alloc(entry.cut === true ? 0 : 1024);
  return new Uint8Array(Buffer.concat(entry.twice === true ? [header, header, end] : [header, end]));
}
