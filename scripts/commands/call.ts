/** `hull call`: runs one skill, locally without a server or against one. */

import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { removeTree } from "../../container/tree.ts";
import { slugify } from "../../src/skill/slug.ts";
import type { Card } from "../../typed/client/api.d.ts";
import { answerOf, checkAddress, jsonOf, keyOf, requestTo, SERVER_FLAGS } from "../admin-client.ts";
import type { BuildResult } from "../build/build.ts";
import { BuildCache } from "../build/cache.ts";
import { printDiagnostics } from "../build/print.ts";
import { printAnswer, printStream } from "../call/answer.ts";
import { OutFolder } from "../call/out-folder.ts";
import { type CallInput, callRequest } from "../call/request.ts";
import { CommandError, defineCommand, EXIT, SWITCH, usageError } from "../command.ts";
import { startServer } from "../dev/server.ts";
import { openProject } from "../project.ts";

export const command = defineCommand({
  name: "call",
  summary: "Run one skill, here or on a server",
  usage: `
Usage: hull call <name> [options]

  -i, --input TEXT  the input; - reads stdin, @FILE reads a file
  -f, --file FILE   send a file; repeatable
  -d, --dir DIR     the project or folder of skills (default: .)
  -o, --out DIR     where to write the files of the answer (default: .)
  --force           overwrite files; without it, a file whose name is taken gets a number: chart-2.png
  --url URL         call a running Hull instead of starting one for this call
  --key KEY         API key for --url (default: $HULL_API_KEY, then $HULL_ADMIN_KEY)
  --stream          show the answer as it arrives, and tool calls on stderr
  --json            print a failure as a problem document

Without --url, Hull starts runner and Worker for this one call, whatever $HULL_URL says, and keeps nothing but the cache of the
build.
`,
  flags: {
    input: { type: "string", short: "i" },
    file: { type: "string", short: "f", multiple: true },
    dir: { type: "string", short: "d" },
    out: { type: "string", short: "o" },
    force: SWITCH,
    ...SERVER_FLAGS,
    stream: SWITCH,
    json: SWITCH,
  },
  words: 1,
  need: { key: "url" },
  async run({ values, positionals }) {
    const name = positionals[0];
    if (name === undefined || name === "") {
      throw usageError("name_missing", "Which skill?", "hull call <name>; hull list shows the names.");
    }
    const call: Call = {
      slug: slugify(name) || name,
      input: { text: values.input, files: values.file ?? [] },
      stream: values.stream === true,
      json: values.json === true,
      out: new OutFolder(values.out ?? ".", values.force === true),
    };
    if (values.out !== undefined) await call.out.check();
    const key = keyOf(values.key);
    if (values.url !== undefined) {
      checkAddress(values.url, "hull call <name> --url http://localhost:3000");
      return callAt(values.url, key, call);
    }
    const stateDir = await mkdtemp(join(tmpdir(), "hull-call-"));
    // Neither Ctrl-C nor a closed terminal may leave processes or their state behind.
    const interrupted = Promise.withResolvers<number>();
    const interrupt = (): void => interrupted.resolve(EXIT.interrupted);
    for (const signal of SIGNALS) process.once(signal, interrupt);
    try {
      const project = await openProject(values.dir);
      let broken = false;
      const server = await startServer({
        project,
        cache: await BuildCache.open(project.dir),
        host: "127.0.0.1",
        port: 0,
        stateDir,
        direct: true,
        front: false,
        public: false,
        watch: false,
        onBuild: (result) => {
          broken = printFaults(result, call.slug);
        },
        onLine: () => {},
      });
      try {
        if (broken) {
          const hint = "Correct the errors above and call it again.";
          throw new CommandError(EXIT.failed, "skill_broken", `The skill ${call.slug} has errors.`, hint);
        }
        const answered = callAt(server.url, server.adminKey ?? key, call);
        // Stopping the server breaks the call off.
        interrupted.promise.then(() => answered.catch(() => {}));
        return await Promise.race([interrupted.promise, answered]);
      } finally {
        await server.stop();
      }
    } finally {
      for (const signal of SIGNALS) process.off(signal, interrupt);
      // The runner's skills are read-only. Without root, they must become writable before they can be removed.
      await removeTree(stateDir);
    }
  },
});

const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

interface Call {
  slug: string;
  input: CallInput;
  stream: boolean;
  json: boolean;
  out: OutFolder;
}

/**
 * Prints the errors of one skill, for a tool that is missing from it too, and all findings if there is no skill.
 * @param slug of the skill, or the name of its folder, which is all that Hull knows about some broken skills
 * @returns whether errors keep the skill from being called
 */
function printFaults({ skills, diagnostics }: BuildResult, slug: string): boolean {
  const own = diagnostics.filter(
    ({ diagnostic }) => diagnostic.level === "error" && slugify(diagnostic.skill) === slug,
  );
  printDiagnostics(skills.length === 0 ? diagnostics : own);
  return own.length > 0 && !skills.some((skill) => skill.manifest.slug === slug);
}

async function callAt(url: string, key: string | undefined, call: Call): Promise<number> {
  const authorization: Record<string, string> =
    key === undefined || key === "" ? {} : { authorization: `Bearer ${key}` };
  const headers = { ...authorization };
  const fetch = (path: string): Promise<Response> => answerOf(new URL(path, url), { headers: authorization });
  const options = { json: call.json, files: { out: call.out, fetch } };
  const { path } = requestTo("GET /skills/{slug}/card", { path: { slug: call.slug } });
  const card = await answerOf(new URL(path, url), { headers });
  if (!card.ok) return printAnswer(card, options);
  const address: Card = jsonOf(await card.text(), `GET ${new URL(path, url)}`, ["route", "method"]);
  const { target, init } = await callRequest(url, address, call.input);
  // An answer that is a file cannot stream, so it comes as a whole.
  if (call.stream) headers.accept = "text/event-stream, */*;q=0.1";
  // Only this form names all files that an agent run made.
  const listsFiles = !call.stream && address.workspaceTools === true && address.output === "text";
  if (listsFiles) headers.accept = "application/json";
  const answer = await answerOf(target, { ...init, headers: { ...headers, ...init.headers } });
  const streams = answer.headers.get("content-type")?.startsWith("text/event-stream");
  return streams ? printStream(answer, options) : printAnswer(answer, { ...options, listsFiles });
}
