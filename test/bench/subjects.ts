/** What is measured: a loopback provider, a Hull in workerd without wrangler's proxy, and a bare Worker beside it. */
import { spawn } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { convertV4MiniflareOptions, Miniflare } from "miniflare";
import { type LocalServer, startServer } from "../../scripts/dev/server.ts";
import { openProject } from "../../scripts/project.ts";

import { withAdminKey } from "./ledger.ts";

/** The script of the script skill, the tool and the bare spawn alike. */
export const GREET = '#!/usr/bin/env bash\nread -r name\necho "Hello, ${name:-$1}!"\n';

const SKILLS: Record<string, string> = {
  "greet/SKILL.md": "---\nname: greet\ndescription: Greets\nrun: [bash, greet.sh]\n---\n",
  "greet/greet.sh": GREET,
  "plain/SKILL.md": "---\nname: plain\ndescription: Answers\nmode: llm\nmodel: bench\n---\nAnswer briefly.\n",
  "tool/SKILL.md":
    "---\nname: tool\ndescription: Uses a tool\nmode: llm\nmodel: bench\ntools:\n  - name: greet\n    description: Greets\n" +
    "    command: [bash, greet.sh]\n    parameters: [{name: name, description: who}]\n---\nUse the tool.\n",
  "mocked/SKILL.md": "---\nname: mocked\ndescription: M\nmode: llm\nprovider: mock\n---\nAnswer.\n",
  "tool/greet.sh": '#!/usr/bin/env bash\necho "Hello, $1!"\n',
};

/** The same model call as the skill `plain` makes, with nothing around it. */
const bareWorker = (provider: string): string => `
const body = (text) => JSON.stringify({ model: "bench", max_tokens: 4096, system: "Answer briefly.",
  messages: [{ role: "user", content: [{ type: "text", text }] }] });
export default {
  async fetch(request) {
    const answer = await fetch("${provider}/v1/messages", { method: "POST", body: body(await request.text()),
      headers: { "content-type": "application/json", "x-api-key": "k", "anthropic-version": "2023-06-01" } });
    const value = await answer.json();
    return new Response(value.content.map((b) => b.text ?? "").join(""));
  },
};`;

export interface Subjects {
  provider: string;
  hull: string;
  /** A Hull that writes log lines of failures only. */
  quiet: string;
  /** One that wants keys. */
  keyed: string;
  bare: string;
  stop: () => Promise<void>;
}

export async function startSubjects(): Promise<Subjects> {
  const dir = await mkdtemp(join(tmpdir(), "hull-bench-"));
  for (const [path, text] of Object.entries(SKILLS)) {
    const file = join(dir, "skills", path);
    await mkdir(join(file, ".."), { recursive: true });
    await writeFile(file, text);
  }
  const provider = spawn(process.execPath, [join(import.meta.dirname, "provider.ts")], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  const lines = createInterface({ input: provider.stdout });
  const url = await new Promise<string>((resolve) => lines.once("line", resolve));
  process.env.ANTHROPIC_BASE_URL = url;
  process.env.ANTHROPIC_API_KEY = "bench-key-0123456789";
  const project = await openProject(dir);
  const start = (state: string): Promise<LocalServer> =>
    startServer({
      project,
      host: "127.0.0.1",
      port: 0,
      stateDir: join(dir, state),
      direct: true,
      front: false,
      watch: false,
      onBuild: () => {},
      onLine: () => {},
    });
  const hull = await start("state");
  process.env.HULL_LOG = "failures";
  const quiet = await start("quiet");
  const keyed = await withAdminKey(() => start("keyed"));
  const bare = new Miniflare(
    convertV4MiniflareOptions({
      name: "bare",
      modules: [{ type: "ESModule", path: "bare.mjs", contents: bareWorker(url) }],
      compatibilityDate: "2026-10-20",
      unsafeDirectSockets: [{ host: "127.0.0.1", port: 0 }],
    }),
  );
  await bare.ready;
  const stop = async (): Promise<void> => {
    await hull.stop();
    await quiet.stop();
    await keyed.stop();
    await bare.dispose();
    provider.stdin.end();
    await rm(dir, { recursive: true, force: true });
  };
  return {
    provider: url,
    hull: hull.url,
    quiet: quiet.url,
    keyed: keyed.url,
    bare: (await bare.unsafeGetDirectURL()).origin,
    stop,
  };
}
