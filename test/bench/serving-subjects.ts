/** One Hull with a skill for each row of the bench, and a bare Worker that does the same without Hull. */
import { execFileSync } from "node:child_process";
import { delimiter, dirname, join } from "node:path";
import type { LocalServer } from "../../scripts/dev/server.ts";
import { starterSkill } from "../../scripts/templates.ts";
import { type Husk, startHusk } from "./husk.ts";
import {
  bareModelCall,
  type Provider,
  startBare,
  startHull,
  startProvider,
  writeProject,
} from "./subjects.ts";

export const PAGE = `<!doctype html>\n<title>Page</title>\n<p>${"Status: fine. ".repeat(70)}</p>\n`;

export interface ServingSubjects {
  hull: LocalServer;
  bare: { url: string };
  provider: Provider;
  /** `null`: it is not on this machine. */
  husk: Husk | null;
  /** The project. */
  dir: string;
  /** What it took until Hull answered, in ms. */
  startMs: number;
  stop: () => Promise<void>;
}

/** @param command starts HUSK; `null`: it is not on this machine */
export async function startServing(command: string | null): Promise<ServingSubjects> {
  preferRealPython();
  const provider = await startProvider();
  const { dir, remove } = await writeProject(skills(provider.upstream));
  const shared = await writeProject(sharedSkills(provider.upstream));
  // HUSK logs no requests.
  process.env.HULL_LOG = "failures";
  const begun = performance.now();
  const hull = await startHull(dir);
  const startMs = performance.now() - begun;
  delete process.env.HULL_LOG;
  const bare = await startBare(bareWorker(provider));
  const husk = command === null ? null : await startHusk(command, join(shared.dir, "skills"));
  const stop = async (): Promise<void> => {
    await hull.stop();
    await bare.stop();
    await husk?.stop();
    provider.stop();
    await remove();
    await shared.remove();
  };
  return { hull, bare, provider, husk, dir, startMs, stop };
}

/** Puts the interpreter itself before a shim that would start it, for Hull and for floors. */
function preferRealPython(): void {
  const path = execFileSync("python3", ["-c", "import sys; print(sys.executable)"], { encoding: "utf8" });
  process.env.PATH = [dirname(path.trim()), process.env.PATH].join(delimiter);
}

const skill = (slug: string, fields: string, body = "Documentation."): [string, string] => [
  `skills/${slug}/SKILL.md`,
  `---\nname: "${slug}"\ndescription: Measured.\n${fields}\n---\n${body}\n`,
];
const llm = (slug: string, model: string, fields = ""): [string, string] =>
  skill(slug, `mode: llm\nmodel: ${model}\n${fields}`, "Answer briefly.");
const tool = (command: string): string =>
  `tools:\n  - {name: greet, description: Greets, command: ${command}, parameters: [{name: name, description: who}]}`;

/** What HUSK serves too: its model calls always go to the providers themselves. */
function sharedSkills(upstream: string): Record<string, string> {
  const starters = [
    ["bash-starter", "bash"],
    ["python-starter", "python"],
  ] as const;
  return Object.fromEntries([
    skill("page", "serve: page.html"),
    ["skills/page/page.html", PAGE],
    skill("true", "run: [/bin/true]"),
    skill("upper", "run: [dash, upper.sh]"),
    ["skills/upper/upper.sh", "exec tr a-z A-Z\n"],
    ...starters.flatMap(([slug, language]) =>
      starterSkill(slug, language).map(({ path, text }) => [`skills/${slug}/${path}`, text]),
    ),
    skill("one-liner", 'run: [python3, -S, -c, "print(input())"]'),
    skill("forward", `method: GET\ninput: none\nproxy: ${upstream}/weather`),
  ]);
}

function skills(upstream: string): Record<string, string> {
  return Object.fromEntries([
    ...Object.entries(sharedSkills(upstream)),
    llm("plain", "bench"),
    llm("echo", "bench", tool("[/bin/echo]")),
    llm("fifty", "bench-50"),
    llm("fifty-echo", "bench-50", tool("[/bin/echo]")),
    llm("two", "bench-two", tool('[sh, -c, "sleep 2; echo done"]')),
    llm("silent", "bench-silent", "timeout_ms: 3000"),
    llm("tokens", "bench-tokens"),
    skill("stubborn", 'run: [sh, -c, "sleep 8; echo done"]\ntimeout_ms: 500'),
  ]);
}

const bareWorker = ({ provider, upstream }: Provider): string => `
${bareModelCall(provider)}
const page = new TextEncoder().encode(${JSON.stringify(PAGE)});
export default {
  async fetch(request) {
    switch (new URL(request.url).pathname) {
      case "/health": return Response.json({ status: "ok", skills: 17, catalog: "0".repeat(64) });
      case "/file": return new Response(page, { headers: { "content-type": "text/html" } });
      case "/proxy": return fetch("${upstream}/weather");
      default: return callModel(request);
    }
  },
};`;
