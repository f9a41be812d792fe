/**
 * Watch mode: what changes in the folder is served within a second, and what breaks keeps its last good version. And what
 * changes outside of it: imports, the files of settings.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, rename, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { expect, test } from "vitest";
import { hullScript, json, REPO, runHull, shared } from "../support/hull-dev.ts";
import { running, until } from "../support/runner.ts";
import { killWorker, sharedHull } from "../support/shared.ts";

const shout = (word: string): string =>
  `---\nname: Shout\ndescription: Says a word.\nrun: [sh, -c, "echo ${word}"]\n---\nSays it.\n`;

/** A module outside the folder, which a skill.ts imports. */
const word = (text: string): string => `export const WORD = ${JSON.stringify(text)};\n`;

const hull = await sharedHull({
  args: ["--direct"],
  project: { ".env": "OPENAI_API_KEY=sk-first-value-1\n", "lib/word.ts": word("one") },
  skills: {
    "typed/skill.ts":
      'import { defineSkill } from "hullrun";\nimport { WORD } from "../../lib/word.ts";\n' +
      "export default defineSkill({ name: 'typed', description: `Says ${WORD}. Use when asked.`, tools: [] });\n",
    "loud/SKILL.md": "---\nname: loud\ndescription: Says a word.\nrun: [echo, one]\n---\nSays it.\n",
    "shout/SKILL.md": shout("one"),
    "steady/SKILL.md": shout("steady").replace("Shout", "Steady"),
    "broken/SKILL.md": "---\nname: Broken\ndescription: Of an unknown mode.\nmode: lmm\nrun: [cat]\n---\n",
  },
});

const said = async (slug: string): Promise<string> => {
  const response = await hull.call(`/skills/${slug}`, "");
  return `${response.status} ${(await response.text()).trim()}`;
};
const becomes = (slug: string, expected: RegExp): Promise<string> =>
  until(
    () => said(slug),
    (text) => expected.test(text),
  );
const card = async (slug: string): Promise<Record<string, unknown>> =>
  json(await hull.call(`/skills/${slug}/card`));

test("S5: a skill that is broken at the start is reported and does not stop the others", async () => {
  await hull.printed(/broken\/SKILL\.md:4:\d+: error: mode:/);
  expect(hull.output()).toContain("Hull serves 4 skills");
  expect(await said("shout")).toBe("200 one");
  expect(await said("broken")).toMatch(/^404 /);
});

test("the broken one is served once it is repaired", async () => {
  await hull.write("broken/SKILL.md", shout("repaired").replace("Shout", "Broken"));
  expect(await becomes("broken", /^200/)).toBe("200 repaired");
});

test("an edit is live within a second, and changes the card's version", async () => {
  const before = await card("shout");
  await hull.write("shout/SKILL.md", shout("two"));
  expect(await becomes("shout", /two/)).toBe("200 two");
  expect((await card("shout")).version).not.toBe(before.version);
});

test("an edit while the Worker is away is live once it is back", async () => {
  const text = shout("later").replace("Shout", "Broken");
  const written = Promise.withResolvers<void>();
  await killWorker(hull, () => written.resolve(hull.write("broken/SKILL.md", text)));
  await written.promise;
  expect(await becomes("broken", /later/)).toBe("200 later");
});

test("S10: a manifest that breaks keeps answering, is shown as stale, and heals", async () => {
  const at = hull.output().length;
  await hull.write(
    "shout/SKILL.md",
    "---\nname: Shout\ndescription: Says a word.\nmode: LLM\nrun: [cat]\n---\n",
  );
  const shown = await hull.printed(/last good version kept of shout/, at);
  expect(shown).toMatch(/skills\/shout\/SKILL\.md:4:\d+: error: mode:/);
  expect(await said("shout")).toBe("200 two");
  expect(await card("shout")).toMatchObject({ stale: true });
  expect(await card("steady")).not.toHaveProperty("stale");
  await hull.write("shout/SKILL.md", shout("three"));
  expect(await becomes("shout", /three/)).toBe("200 three");
  expect(await card("shout")).not.toHaveProperty("stale");
});

test("a workflow that breaks stays in its last good version, and the skill is marked as stale", async () => {
  const entry = async (): Promise<unknown> => {
    const response = await hull.call("/workflows/steady/flow");
    return response.ok ? json(response) : response.text().then(() => null);
  };
  await hull.write("steady/workflows/flow.yaml", "nodes: {a: {prompt: hi}}\n");
  const good = await until(entry, (found) => found !== null);
  const at = hull.output().length;
  await hull.write("steady/workflows/flow.yaml", "nodes: [\n");
  const shown = await hull.printed(/last good version kept of steady/, at);
  expect(shown).toMatch(/steady\/workflows\/flow\.yaml:\d+:\d+: error: /);
  expect(await entry()).toEqual(good);
  expect(await card("steady")).toMatchObject({ stale: true });
  await hull.write("steady/workflows/flow.yaml", "nodes: {b: {prompt: hi}}\n");
  await until(
    () => card("steady"),
    ({ stale }) => stale === undefined,
  );
  expect(await entry()).not.toEqual(good);
});

test("an editor's way of saving (a rename over the file) is seen too", async () => {
  const target = join(hull.root, "skills", "shout", "SKILL.md");
  await writeFile(`${target}.tmp`, shout("four"));
  await rename(`${target}.tmp`, target);
  expect(await becomes("shout", /four/)).toBe("200 four");
});

test("S12: a folder added after the start, and an edit inside it", async () => {
  await hull.write(
    "late/SKILL.md",
    "---\nname: Late\ndescription: Came later.\nrun: [./bin/late.sh]\n---\nLate.\n",
  );
  await hull.write("late/bin/late.sh", "#!/bin/sh\necho first\n");
  expect(await becomes("late", /first/)).toBe("200 first");
  await hull.write("late/bin/late.sh", "#!/bin/sh\necho second\n");
  expect(await becomes("late", /second/)).toBe("200 second");
});

test("S11: ignored files rebuild nothing, and another skill keeps its version", async () => {
  const at = hull.output().length;
  const before = await card("late");
  await hull.write("late/__pycache__/x.pyc", "x");
  await hull.write("late/.env", "A=1");
  await hull.write("shout/SKILL.md", shout("five"));
  await hull.printed(/Reloaded/, at);
  expect(await becomes("shout", /five/)).toBe("200 five");
  expect((await card("late")).version).toBe(before.version);
});

/** A skill that says its word once the gate is there. */
const gated = (word: string, gate: string): string =>
  shout(word).replace("echo", `until [ -e ${gate} ]; do sleep 0.05; done; echo`);

test("a reload lets a call that has begun finish on its own version", async () => {
  const gate = join(hull.root, "slow-gate");
  const shown = async (): Promise<unknown> => (await hull.call("/skills/slow/card")).status;
  await hull.write("slow/SKILL.md", gated("slow", gate).replace("Shout", "Slow"));
  await until(shown, (status) => status === 200);
  const call = said("slow");
  await running(`until [ -e ${gate} ]`);
  const { version } = await card("slow");
  await hull.write("slow/SKILL.md", shout("fast").replace("Shout", "Slow"));
  await until(
    async () => (await card("slow")).version,
    (now) => now !== version,
  );
  expect(await said("slow")).toBe("200 fast");
  await writeFile(gate, "");
  expect(await call).toBe("200 slow");
});

test("S13: reloads at the concurrency cap let no run more begin", async () => {
  const capped = (n: number): string =>
    `---\nname: Capped\ndescription: Version ${n}.\nconcurrency: 2\n` +
    `run: [sh, -c, "date +%s%N; sleep 0.47; date +%s%N; echo ${n}"]\n---\n`;
  await hull.write("capped/SKILL.md", capped(0));
  await becomes("capped", /^200/);
  const calls: Promise<string>[] = [];
  for (let n = 1; n <= 4; n++) {
    calls.push(...Array.from({ length: 3 }, () => said("capped")));
    const at = hull.output().length;
    await hull.write("capped/SKILL.md", capped(n));
    await hull.printed(/Reloaded/, at);
  }
  const answers = (await Promise.all(calls)).map((answer) => answer.split(/\s/).map(Number));
  expect(answers.map(([status]) => status)).toEqual(calls.map(() => 200));
  // The most that run at once do so when one of them begins.
  const atOnce = answers.map(
    ([, begun = 0]) => answers.filter(([, b = 0, e = 0]) => b <= begun && begun < e).length,
  );
  expect(Math.max(...atOnce)).toBe(2);
  expect(new Set(answers.map(([, , , version]) => version)).size).toBeGreaterThan(1);
});

test("S119: a rollback serves the digests of before; a call under way ends on its own", async () => {
  const version = async (): Promise<string> => String((await card("shout")).version);
  await hull.write("shout/SKILL.md", shout("before"));
  await becomes("shout", /before/);
  const before = await version();
  const gate = join(hull.root, "gate");
  await hull.write("shout/SKILL.md", gated("after", gate));
  await until(version, (now) => now !== before);
  const begun = said("shout");
  await running(`until [ -e ${gate} ]`);
  const rolled = await runHull(["publish", "--rollback", "--url", hull.url], {
    cwd: hull.root,
    process: true,
  });
  expect(rolled.code).toBe(0);
  const answer = await hull.call("/skills/shout", "");
  expect([await answer.text(), answer.headers.get("x-hull-skill")]).toEqual([
    "before\n",
    `shout@${before.slice(0, 12)}`,
  ]);
  await writeFile(gate, "");
  expect(await begun).toBe("200 after");
});

/** Stands in front of the server: `pass` sends the request on; the result says whether the answer arrives. */
type Toll = (route: string, pass: () => Promise<void>) => Promise<"answered" | "lost">;

/** An address through which the requests of `hull publish` reach the server. */
async function inFront(toll: Toll): Promise<{ url: string; close(): void }> {
  const front = createServer(async (request, response) => {
    const pieces: Buffer[] = [];
    for await (const piece of request) pieces.push(Buffer.from(piece));
    const { method = "", url = "", headers } = request;
    let [status, text] = [500, ""];
    const outcome = await toll(`${method} ${url.replace(/[0-9a-f]{64}/, "…")}`, async () => {
      const answer = await fetch(hull.url + url, {
        method,
        headers: { "content-type": headers["content-type"] ?? "" },
        ...(method === "GET" ? {} : { body: Buffer.concat(pieces) }),
      });
      [status, text] = [answer.status, await answer.text()];
    });
    if (outcome === "lost") response.destroy();
    else response.writeHead(status, { "x-request-id": "front" }).end(text);
  }).listen(0, "127.0.0.1");
  await once(front, "listening");
  const { port } = front.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, close: () => void front.close() };
}

const catalogNow = async (): Promise<string> =>
  String((await json<{ catalog: string }>(await hull.call("/healthz"))).catalog);

/** A project of its own, with one skill. */
async function projectOf(name: string, text: string): Promise<string> {
  const cwd = join(hull.root, name);
  await mkdir(join(cwd, "skills", name), { recursive: true });
  await writeFile(join(cwd, "skills", name, "SKILL.md"), text);
  return cwd;
}

test("hull publish asks again if the answer is lost, and so does a rollback, which takes place once", async () => {
  let asked = 0;
  const front = await inFront(async (route, pass) => {
    await pass();
    return route === "POST /_hull/catalog" && asked++ % 2 === 0 ? "lost" : "answered";
  });
  const cwd = await projectOf("other", shout("other"));
  const publish = (...args: string[]) => runHull(["publish", ...args, "--url", front.url], { cwd });
  const before = await catalogNow();
  expect(await publish()).toMatchObject({ code: 0, output: expect.stringContaining("Published") });
  expect([(await catalogNow()) === before, asked]).toEqual([false, 2]);
  const rolled = await publish("--rollback");
  expect([rolled.code, await catalogNow(), asked]).toEqual([0, before, 4]);
  front.close();
});

test("hull publish replaces nothing that somebody published after it began", async () => {
  const [mine, theirs] = [await projectOf("mine", shout("mine")), await projectOf("theirs", shout("theirs"))];
  const before = await catalogNow();
  let between: string | null = null;
  const front = await inFront(async (route, pass) => {
    if (route === "GET /_hull/bundles") {
      await runHull(["publish", "--url", hull.url], { cwd: theirs, process: true });
      between = await catalogNow();
    }
    await pass();
    return "answered";
  });
  const publish = (url: string) => runHull(["publish", "--url", url], { cwd: mine, process: true });
  const lost = await publish(front.url);
  front.close();
  expect([lost.code, await catalogNow()]).toEqual([1, between]);
  expect(lost.output).toMatch(/catalog [0-9a-f]{12} was published at .* changed nothing.*\[catalog_moved\]/s);
  expect((await publish(hull.url)).code).toBe(0);
  expect(await json(await hull.call("/_hull/catalog"))).toMatchObject({ previous: between });
  await hull.post("/_hull/catalog", { id: before });
});

test("a hull publish that is killed at any step leaves a whole catalog, and the next one finishes", async () => {
  const before = await catalogNow();
  const steps = ["GET /_hull/catalog", "GET /_hull/bundles", "PUT /_hull/bundles/…", "POST /_hull/catalog"];
  const skills = await json<{ slug: string }[]>(await hull.call("/skills"));
  for (const [n, moment] of steps.flatMap((step) => [`before ${step}`, `after ${step}`]).entries()) {
    const cwd = await projectOf(
      `killed-${n}`,
      shout(`killed ${n}`).replace("name: Shout", `name: killed-${n}`),
    );
    const killed = Promise.withResolvers<void>();
    const reached = Promise.withResolvers<void>();
    const front = await inFront(async (route, pass) => {
      if (moment === `after ${route}`) await pass();
      if (moment.endsWith(route)) {
        reached.resolve();
        await killed.promise;
        return "lost";
      }
      await pass();
      return "answered";
    });
    const child = spawn(process.execPath, [hullScript(REPO), "publish", "--url", front.url], {
      cwd,
      env: { PATH: process.env.PATH, HOME: join(hull.root, "home"), ...shared(REPO) },
      stdio: "ignore",
    });
    const ended = once(child, "exit");
    await reached.promise;
    child.kill("SIGKILL");
    await ended;
    killed.resolve();
    front.close();
    const moved = moment === "after POST /_hull/catalog";
    expect([moment, (await catalogNow()) === before]).toEqual([moment, !moved]);
    if (!moved) {
      expect([moment, await json(await hull.call("/skills"))]).toEqual([moment, skills]);
      expect([moment, await said("steady")]).toEqual([moment, "200 steady"]);
    }
    const again = await runHull(["publish", "--url", hull.url], { cwd });
    expect([moment, again.code, await said(`killed-${n}`)]).toEqual([moment, 0, `200 killed ${n}`]);
    expect(await json(await hull.call("/_hull/catalog"))).toMatchObject({ previous: before });
    await hull.post("/_hull/catalog", { id: before });
  }
});

test("publish --keep-going leaves a broken skill at its published version, as stale, and a new one out", async () => {
  const { catalog: before } = await json<{ catalog: string }>(await hull.call("/healthz"));
  const cwd = join(hull.root, "kept");
  const write = async (path: string, text: string): Promise<void> => {
    await mkdir(join(cwd, "skills", path, ".."), { recursive: true });
    await writeFile(join(cwd, "skills", path), text);
  };
  const publish = (...args: string[]) => runHull(["publish", ...args, "--url", hull.url], { cwd });
  const answered = async (slug: string): Promise<unknown[]> => {
    const answer = await hull.call(`/skills/${slug}`, "");
    return [answer.status, answer.headers.get("x-hull-stale"), await answer.text()];
  };
  await write("one/SKILL.md", shout("first").replace("name: Shout", "name: Given name"));
  await write("two/SKILL.md", shout("second").replace("name: Shout", "name: two"));
  expect((await publish()).code).toBe(0);
  const { version } = await card("given-name");
  await write("one/SKILL.md", "---\nname: Given name\ndescription: d\nrun: [./gone.sh]\n---\nIt\n");
  await write("two/SKILL.md", "broken");
  await write("new/SKILL.md", "broken");
  expect((await publish()).code).toBe(1);
  const kept = await publish("--keep-going");
  expect([kept.code, kept.output.match(/^\S+ stays as it was published/gm)]).toEqual([
    0,
    ["given-name stays as it was published", "two stays as it was published"],
  ]);
  expect(await card("given-name")).toMatchObject({ stale: true, version });
  expect([await answered("given-name"), await answered("two")]).toEqual([
    [200, "1", "first\n"],
    [200, "1", "second\n"],
  ]);
  // A second time it is the same catalog.
  expect((await publish("--keep-going")).output).toContain("(0 objects sent)");
  await write("two/SKILL.md", shout("third").replace("name: Shout", "name: two"));
  await publish("--keep-going");
  expect(await answered("two")).toEqual([200, null, "third\n"]);
  await hull.post("/_hull/catalog", { id: before });
});

test("a folder that goes takes its skill with it", async () => {
  await hull.remove("late");
  expect(await becomes("late", /^404/)).toContain("skill_not_found");
  expect(await said("steady")).toBe("200 steady");
});

const described = async (): Promise<string> => String((await card("typed")).description);

test("a file that skill.ts imports from outside its folder is watched, also while it is broken", async () => {
  expect(await described()).toContain("one");
  const file = join(hull.root, "lib", "word.ts");
  await writeFile(file, word("two"));
  await until(described, (text) => text.includes("two"));
  const at = hull.output().length;
  await writeFile(file, "export const WORD = ;\n");
  await hull.printed(/last good version kept of typed/, at);
  await writeFile(file, word("three"));
  await until(described, (text) => text.includes("three"));
});

test("changed files of settings are announced, each with one line", async () => {
  const at = hull.output().length;
  await writeFile(join(hull.root, ".env"), "OPENAI_API_KEY=sk-second-value-2\n");
  await hull.printed(/\.env changed\. Restart hull dev to apply it\./, at);
  await writeFile(join(hull.root, "hull.toml"), 'name = "Other"\n');
  await hull.printed(/hull\.toml changed\. Restart hull dev to apply it\./, at);
  await writeFile(join(hull.root, ".env"), "OPENAI_API_KEY=sk-first-value-1\n");
  await hull.printed(/\.env is again as it was at the start\./, at);
  expect(hull.output().slice(at)).not.toContain("second-value");
  expect(
    hull
      .output()
      .slice(at)
      .match(/hull\.toml/g),
  ).toHaveLength(1);
});

test("a stale skill is marked as stale on every surface", async () => {
  const mcp = async (method: string, list: string): Promise<unknown[]> => {
    const response = await hull.post(
      "/mcp",
      { jsonrpc: "2.0", id: 1, method, params: {} },
      { accept: "application/json, text/event-stream" },
    );
    const { result } = await json<{ result: Record<string, { name: string; _meta?: object }[]> }>(response);
    return (result[list] ?? []).flatMap(({ name, _meta }) => (_meta === undefined ? [] : [[name, _meta]]));
  };
  const said = async () => {
    const cards = await json<{ slug: string; stale?: true }[]>(await hull.call("/skills"));
    const card = await hull.call("/skills/loud/card");
    const openapi = await json<{ paths: Record<string, { post: { description: string } }> }>(
      await hull.call("/openapi.json"),
    );
    const run = await hull.call("/skills/loud", "");
    await run.text();
    return {
      list: cards.filter(({ stale }) => stale).map(({ slug }) => slug),
      etag: card.headers.get("etag"),
      card: (await json(card)).stale,
      page: />loud<\/bdi>(?:(?!<\/tr>).)*>stale</s.test(await (await hull.call("/")).text()),
      openapi: openapi.paths["/skills/loud"]?.post.description.includes("Stale:"),
      run: run.headers.get("x-hull-stale"),
      tools: await mcp("tools/list", "tools"),
      prompts: await mcp("prompts/list", "prompts"),
      resources: await mcp("resources/list", "resources"),
    };
  };
  const before = await said();
  expect(before).toMatchObject({ list: [], card: undefined, page: false, openapi: false, run: null });
  expect(before).toMatchObject({ tools: [], prompts: [], resources: [] });
  const at = hull.output().length;
  await hull.write("loud/SKILL.md", "---\nname: loud\ndescription: Says a word.\nrun: 3\n---\n");
  await hull.printed(/last good version kept of loud/, at);
  const after = await said();
  const marked = ["loud", { stale: true }];
  expect(after).toMatchObject({ list: ["loud"], card: true, page: true, openapi: true, run: "1" });
  expect(after).toMatchObject({ tools: [marked], prompts: [marked], resources: [marked] });
  expect(after.etag).not.toBe(before.etag);
  const card = await json<{ diagnostics: object[] }>(await hull.call("/skills/loud/card"));
  expect(card.diagnostics).toMatchObject([{ level: "error", file: "SKILL.md", line: 4, column: 6 }]);
  const page = await (await hull.call("/console/skills/loud")).text();
  expect(page).toContain("its last good version is served. <code>SKILL.md:4:6</code>");
});
