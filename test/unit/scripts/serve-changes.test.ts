/** What watch mode does if its Worker does not answer a publish, or fails: a stand-in of the Worker answers as the test says. */
import type { ServerResponse } from "node:http";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { expect, onTestFinished, test } from "vitest";
import { BuildCache } from "../../../scripts/build/cache.ts";
import { Builder, SkillWatch } from "../../../scripts/dev/builder.ts";
import { serveChanges } from "../../../scripts/dev/serve-changes.ts";
import { openProject } from "../../../scripts/project.ts";
import { RegistryClient } from "../../../scripts/publish/registry-client.ts";
import { until } from "../../support/runner.ts";
import { serve } from "./answering-server.ts";
import { folder, put, skillText } from "./folder.ts";

/** Does not answer; the pointer may move all the same. */
const silent = (): void => {};

/** Gives up after `answerMs` while the stand-in is silent; else it waits, however slow the machine is. */
class Publisher extends RegistryClient {
  readonly #patient: RegistryClient;
  readonly #silent: () => boolean;

  constructor(url: string, answerMs: number, silent: () => boolean) {
    super(url, undefined, answerMs);
    this.#patient = new RegistryClient(url, undefined, 120_000);
    this.#silent = silent;
  }

  override served() {
    return this.#patient.served();
  }

  override publish(...asked: Parameters<RegistryClient["publish"]>) {
    return this.#silent() ? super.publish(...asked) : this.#patient.publish(...asked);
  }
}

/** A project of one skill that is published to a stand-in of the Worker, and watched. */
async function watched(againMs: number, answerMs: number) {
  const dir = folder({ "skills/a/SKILL.md": skillText("first") });
  let answers: ((response: ServerResponse) => void) | null = null;
  let attempts = 0;
  let id = "";
  const bases: string[] = [];
  const url = await serve(async (request, response) => {
    const { method, url = "" } = request;
    if (method === "GET" && url === "/_hull/catalog") attempts++;
    if (method === "POST") {
      const asked: { id: string; base?: string } = JSON.parse(await text(request));
      bases.push(asked.base ?? "any");
      id = asked.id;
    } else request.resume();
    if (answers !== null && method !== "GET") return answers(response);
    response.end(JSON.stringify({ id, previous: null, data: [], next_cursor: null }));
  });
  const project = await openProject(dir);
  const builder = new Builder(project, new BuildCache());
  const stateDir = join(dir, ".hull/state");
  const watch = new SkillWatch(project.roots, stateDir, []);
  onTestFinished(() => watch.stop());
  const publisher = new Publisher(url, answerMs, () => answers !== null);
  const first = await builder.build();
  await publisher.publish(first);
  builder.noteServed();
  let served = first;
  const faults: string[] = [];
  serveChanges({
    watch,
    builder,
    publisher,
    stateDir,
    againMs,
    onServed: (result) => {
      served = result;
    },
    onFault: (line) => faults.push(line),
  });
  await watch.begun;
  return {
    url,
    stateDir,
    firstId: first.catalog?.id,
    faults,
    bases,
    attempts: () => attempts,
    id: () => id,
    served: () => served,
    answer: (how: typeof answers) => {
      answers = how;
    },
    edit: (name: string) => put(dir, "skills/a/SKILL.md", skillText(name)),
  };
}

test.each<[string, number, (response: ServerResponse) => void, RegExp]>([
  ["is not answered", 300, silent, /: http:\S+ did not answer a request within 0\.3 s\. /],
  [
    "is answered in part",
    300,
    (response) => response.write("{"),
    /did not answer a request within 0\.3 s\. /,
  ],
  [
    "fails",
    120_000,
    (response) =>
      response.writeHead(500).end('{"code":"internal","detail":"Something went wrong inside Hull."}'),
    /: Something went wrong inside Hull\. \[internal\] /,
  ],
])(
  "a publish that %s is repeated without a change, and the reason is printed once",
  async (_, answerMs, how, reason) => {
    const hull = await watched(50, answerMs);
    hull.answer(how);
    hull.edit("second");
    await until(hull.attempts, (count) => count >= 3);
    expect(hull.faults).toEqual([expect.stringMatching(reason)]);
    expect(hull.faults[0]).toMatch(/^Publishing the last change failed: /);
    expect(hull.faults[0]).toContain("Hull publishes again in 0.05 s and at the next change.");
    expect(hull.faults[0]).toContain(`the disk of ${hull.stateDir} is not full, and restart hull dev.`);
    // Another change prints the reason again, so that its author learns that it is not served.
    hull.edit("third");
    await until(
      () => hull.faults.length,
      (count) => count === 2,
    );
    hull.answer(null);
    const { catalog, skills } = await until(hull.served, ({ catalog }) => catalog?.id !== hull.firstId);
    expect([skills[0]?.card.name, catalog?.id]).toEqual(["third", hull.id()]);
    // A publish that has been abandoned cannot replace a later one.
    expect(hull.bases).toEqual(["any", hull.firstId]);
  },
);

test("a change that is taken back is published too if the answer to it was lost", async () => {
  const hull = await watched(600_000, 2000);
  hull.answer((response) => hull.bases.length > 1 || response.end("{}"));
  hull.edit("second");
  await until(
    () => hull.faults.length,
    (count) => count === 1,
  );
  expect(hull.faults[0]).toContain(`${hull.url} did not answer a request within 2 s.`);
  const lost = hull.id();
  hull.answer(null);
  hull.edit("first");
  await until(hull.id, (id) => id === hull.firstId);
  // A busy machine may report one change of the file as two.
  expect([...new Set(hull.bases)]).toEqual(["any", hull.firstId, lost]);
});
