/** `hull dev`: runner, Worker and watch mode on this machine. */

import { flushCompileCache } from "node:module";
import { relative, resolve } from "node:path";
import { styleText } from "node:util";
import { counted } from "../../src/plural.ts";
import { BuildCache } from "../build/cache.ts";
import type { BuiltSkill } from "../build/skill.ts";
import { defineCommand, SWITCH, untilStopped, VALUE } from "../command.ts";
import { parseOrigins } from "../config.ts";
import { seedDemo } from "../dev/demo.ts";
import { portOf } from "../dev/local-addresses.ts";
import { printLine } from "../dev/log-lines.ts";
import { missingKeyLine, unsetVariableLine } from "../dev/missing-keys.ts";
import { stateOf } from "../dev/paths.ts";
import { StartProgress } from "../dev/progress.ts";
import { BuildReport, curlFor, listed, skillLines } from "../dev/report.ts";
import { type LocalServer, startServer } from "../dev/server.ts";
import { loadEnvironment } from "../dotenv.ts";
import { openProject, type Project } from "../project.ts";

export const command = defineCommand({
  name: "dev",
  summary: "Serve the skills on this machine, with watch mode",
  usage: `
Usage: hull dev [dir] [options]            (alias: hull serve)

  -p, --port N     port (default: $HULL_PORT, port of hull.toml, else 3000; 0 = any free one)
  -H, --host H     address (default 127.0.0.1); others need HULL_ADMIN_KEY or --public, and the front
  --skills DIR     folder of skills; repeatable, later ones override earlier ones
  --name NAME      title of the index page (default: from hull.toml)
  --cors ORIGIN    site whose pages may read answers; repeatable or with commas; instead of cors_origins of hull.toml
  --state DIR      where to keep state (default: .hull/state of the project)
  --no-watch       do not rebuild when files change
  --direct         workerd without wrangler's proxy: faster, without wrangler's tools
  --no-front       workerd's own port, on loopback only; Hull does not notice clients that disconnect before the first byte
  --public         run skills for callers without a key; if others reach the address, everything else needs HULL_ADMIN_KEY
  --mocks FILE     answer all model calls from a file of mocks, one as JSON on each line
  --record FILE    record all calls to providers into a new cassette, in place of an older one
  --replay FILE    answer all calls to providers from a cassette: no network, no keys
  --realtime       with --replay: at the speed of the recorded answers
  --demo           fill the console with sessions, runs, an approval, a daemon and a workflow from the mock provider
  --verbose        show everything that the Worker and the runner print

Provider keys and *_BASE_URL come from the environment, .env or .dev.vars. They reach the Worker, never the runner.
`,
  flags: {
    port: { type: "string", short: "p" },
    host: { type: "string", short: "H" },
    skills: { type: "string", multiple: true },
    name: VALUE,
    cors: { type: "string", multiple: true },
    state: VALUE,
    "no-watch": SWITCH,
    direct: SWITCH,
    "no-front": SWITCH,
    public: SWITCH,
    mocks: VALUE,
    record: VALUE,
    replay: VALUE,
    realtime: SWITCH,
    demo: SWITCH,
    verbose: SWITCH,
  },
  words: 1,
  exclude: [
    ["mocks", "record"],
    ["mocks", "replay"],
    ["record", "replay"],
  ],
  need: { realtime: "replay" },
  async run({ values, positionals }) {
    const { mocks, record, replay, realtime } = values;
    const opened = await openProject(positionals[0], values.skills ?? []);
    const { cors, name = opened.config.name } = values;
    const cors_origins = cors === undefined ? opened.config.cors_origins : parseOrigins("--cors", cors);
    const project: Project = { ...opened, config: { ...opened.config, name, cors_origins } };
    const variables = await loadEnvironment(project.dir);
    const host = values.host ?? project.config.host;
    const front = values["no-front"] !== true;
    if (!front)
      process.stderr.write(
        "Without the front, Hull does not notice clients that disconnect before the first byte.\n",
      );
    const report = new BuildReport();
    const progress = new StartProgress((line) => process.stderr.write(`${line}\n`), afterMs);
    const server = await startServer({
      project,
      cache: await BuildCache.open(project.dir),
      host,
      port: portOf(values.port, variables.get("HULL_PORT"), project.config.port),
      stateDir: values.state === undefined ? stateOf(project.dir) : resolve(values.state),
      direct: values.direct === true,
      front,
      public: values.public === true,
      watch: values["no-watch"] !== true,
      models: { mocks, record, replay, realtime },
      onPhase: (phase) => progress.phase(phase),
      onBuild: (result, first) => report.print(result, first),
      onLine: (line, from) => printLine(line, from, values.verbose === true),
    }).finally(() => progress.end());
    if (values.demo === true) await seedDemo(server.url, server.adminKey);
    const above = project.dir === resolve(positionals[0] ?? ".") ? null : project.dir;
    printBanner(server, project.roots, values["no-watch"] !== true, above);
    // Node itself stores what it compiled when a process ends, unless somebody kills it.
    flushCompileCache();
    return untilStopped(server);
  },
});

function afterMs(ms: number, fire: () => void): () => void {
  const timer = setTimeout(fire, ms);
  return () => clearTimeout(timer);
}

/** @param above the project's folder if it is not the one that the user named */
function printBanner(
  { url, skills, missingKeys, unsetVariables }: LocalServer,
  roots: readonly string[],
  watching: boolean,
  above: string | null,
): void {
  // An address that stands for all addresses cannot be called.
  const shown = url.replace(/127\.0\.0\.1|0\.0\.0\.0|\[::\]/, "localhost");
  const rows = skillLines(skills, `GET ${shown}/skills`, process.stdout.columns);
  const example = exampleOf(skills);
  const lines = [
    "",
    `Hull serves ${counted(skills.length, "skill")} on ${styleText("bold", shown)}`,
    "",
    ...rows,
    ...missingKeys.map((missing) => `  ${missingKeyLine(missing, listed(missing.slugs))}`),
    ...unsetVariables.map((unset) => `  ${unsetVariableLine(unset, listed(unset.slugs))}`),
    "",
    ...(example === undefined ? [] : ["Try:", `  ${curlFor(example.manifest, shown)}`, ""]),
    ...(above === null ? [] : [`Settings and .env are those of ${above}, which has a hull.toml.`]),
    watching
      ? `Watching ${roots.map((root) => relative(process.cwd(), root) || ".").join(", ")}. Stop with Ctrl-C.`
      : "Stop with Ctrl-C.",
    "",
  ];
  process.stdout.write(`${lines.join("\n")}\n`);
}

/** A skill that answers without a key and without a file. */
function exampleOf(skills: readonly BuiltSkill[]): BuiltSkill | undefined {
  const easy = skills.filter(({ manifest }) => manifest.mode === "script" && manifest.input !== "file");
  return easy.find(({ card }) => card.slug === "hello") ?? easy[0] ?? skills[0];
}
