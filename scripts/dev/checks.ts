/** The checks of `hull doctor`. Each checks one thing and never throws. */

import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { parse } from "smol-toml";
import { keyVariablesOf } from "../../src/model/registry/layer.ts";
import { counted } from "../../src/plural.ts";
import { PROVIDER_KEY_VARIABLES } from "../../src/secrets.ts";
import { AdminClient, runningServer } from "../admin-client.ts";
import { buildRoots } from "../build/build.ts";
import { CommandError } from "../command.ts";
import { loadEnvironment } from "../dotenv.ts";
import { buildOptionsOf, openProject, type Project } from "../project.ts";
import { reasonOf } from "../system-error.ts";
import { checkPrograms } from "../validate/programs.ts";
import { freePort, portOf } from "./local-addresses.ts";
import { namedRunnerFault } from "./named-runner.ts";
import { REPO_DIR } from "./paths.ts";
import { startRunner } from "./runner.ts";

export interface Finding {
  check: string;
  level: "ok" | "warning" | "error";
  message: string;
  remedy?: string;
}

/** The bindings that the Worker requires; wrangler.toml declares them. */
const BINDINGS = ["SKILLS", "DB", "FILES", "SESSIONS", "LEDGER", "FILE_INDEX", "MOCKS", "RUNNER", "SHIELD"];

const run = promisify(execFile);

/** Checks that do not depend on a project. */
export function machineChecks(): Promise<Finding[]> {
  return Promise.all([
    nodeCheck(),
    programCheck("python3"),
    programCheck("bash"),
    workerdCheck(),
    bindingsCheck(),
  ]);
}

/** Checks of the project of `dir`. */
export async function projectChecks(dir: string | undefined, port: string | undefined): Promise<Finding[]> {
  const project = await openProject(dir).catch((error: unknown) => error);
  if (project instanceof CommandError) {
    const { message, hint } = project;
    return [{ check: "project", level: "error", message, ...(hint === undefined ? {} : { remedy: hint }) }];
  }
  if (!isProject(project)) throw project;
  // The same choice as that of hull dev.
  const chosen = portOf(port, (await loadEnvironment(project.dir)).get("HULL_PORT"), project.config.port);
  return [
    await portCheck(project.config.host, chosen),
    await keysCheck(project),
    await runnerCheck(project),
    await skillsCheck(project),
    ...(await loginsCheck(project)),
  ];
}

function isProject(value: unknown): value is Project {
  return typeof value === "object" && value !== null && "roots" in value;
}

async function nodeCheck(): Promise<Finding> {
  const major = Number(process.versions.node.split(".")[0]);
  if (major >= 24) return { check: "node", level: "ok", message: `Node ${process.versions.node}` };
  return {
    check: "node",
    level: "error",
    message: `Node ${process.versions.node} runs this command, Hull needs 24.`,
    remedy: "npm ci installs Hull's own Node; start commands through npm or npx.",
  };
}

async function programCheck(program: string): Promise<Finding> {
  try {
    const { stdout, stderr } = await run(program, ["--version"], { timeout: 10_000 });
    return { check: program, level: "ok", message: (stdout || stderr).split("\n")[0] ?? program };
  } catch {
    return {
      check: program,
      level: "warning",
      message: `${program} does not run; skills that use it will fail.`,
      remedy: `Install it, e.g. apt-get install ${program} or brew install ${program}.`,
    };
  }
}

async function workerdCheck(): Promise<Finding> {
  try {
    const require = createRequire(createRequire(import.meta.url).resolve("miniflare/package.json"));
    const binary = join(dirname(require.resolve("workerd/package.json")), "bin", "workerd");
    const { stdout } = await run(binary, ["--version"], { timeout: 10_000 });
    return { check: "workerd", level: "ok", message: stdout.trim() };
  } catch (error) {
    return {
      check: "workerd",
      level: "error",
      message: `workerd does not run: ${reasonOf(error)}`,
      remedy: "Run npm ci; on Linux it needs glibc 2.35 or newer.",
    };
  }
}

async function bindingsCheck(): Promise<Finding> {
  const text = await readFile(join(REPO_DIR, "wrangler.toml"), "utf8").catch(() => "");
  const declared = JSON.stringify(parse(text));
  const missing = BINDINGS.filter((name) => !declared.includes(`"${name}"`));
  if (missing.length === 0 && !declared.includes('"LOADER"')) {
    return {
      check: "bindings",
      level: "warning",
      message: "wrangler.toml lacks LOADER: JavaScript handlers run in the runner, and hooks do not run.",
      remedy: 'Add [[worker_loaders]] with binding = "LOADER".',
    };
  }
  if (missing.length === 0)
    return { check: "bindings", level: "ok", message: `${BINDINGS.length + 1} bindings declared` };
  return {
    check: "bindings",
    level: "error",
    message: `wrangler.toml lacks ${missing.join(", ")}.`,
    remedy: "Restore them from Hull's own wrangler.toml.",
  };
}

async function portCheck(host: string, port: number): Promise<Finding> {
  try {
    await freePort(host, port);
    return { check: "port", level: "ok", message: `${host}:${port} is free` };
  } catch (error) {
    return {
      check: "port",
      level: "warning",
      message: reasonOf(error),
      remedy: `Stop what uses it, or start with --port ${port + 1}.`,
    };
  }
}

/** The providers that the served llm skills need, and whether their keys are set. */
async function keysCheck(project: Project): Promise<Finding> {
  const variables = await loadEnvironment(project.dir);
  const { file, root } = project.models;
  const keys = [...PROVIDER_KEY_VARIABLES, ...keyVariablesOf(file), ...keyVariablesOf(root)];
  const set = keys.filter((name) => (variables.get(name) ?? "") !== "");
  if (set.length > 0) return { check: "keys", level: "ok", message: `set: ${set.join(", ")}` };
  return {
    check: "keys",
    level: "warning",
    message:
      "No provider key is set: llm skills answer 503 unless their provider needs none, like mock, ollama and local.",
    remedy: `Put one into ${join(project.dir, ".env")}, e.g. ANTHROPIC_API_KEY=…`,
  };
}

async function runnerCheck(project: Project): Promise<Finding> {
  const { url } = project.config.runner;
  if (url !== null) {
    const fault = await namedRunnerFault(url);
    if (fault === null) return { check: "runner", level: "ok", message: `${url} takes work` };
    return { check: "runner", level: "error", ...fault };
  }
  const stateDir = await mkdtemp(join(tmpdir(), "hull-doctor-"));
  try {
    const runner = await startRunner({
      repoDir: REPO_DIR,
      stateDir,
      config: project.config.runner,
      variables: await loadEnvironment(project.dir),
      onLine: () => {},
    });
    try {
      const response = await fetch(`${runner.url}/readyz`);
      if (response.ok) return { check: "runner", level: "ok", message: "starts and takes work" };
      return { check: "runner", level: "error", message: `starts, but answers ${response.status}` };
    } finally {
      // Otherwise it would start again and again, and the command would not end.
      await runner.stop();
    }
  } catch (error) {
    return {
      check: "runner",
      level: "error",
      message: `does not start: ${reasonOf(error)}`,
      remedy: "Run hull dev --verbose to see what it prints.",
    };
  } finally {
    await rm(stateDir, { recursive: true, force: true });
  }
}

/** The logins of the project's hull dev at the MCP servers of hull.toml; nothing if there is none to ask. */
async function loginsCheck({ dir, config }: Project): Promise<Finding[]> {
  const running = Object.keys(config.mcp.servers).length === 0 ? null : await runningServer(dir);
  if (running === null) return [];
  const check = "mcp";
  try {
    const variables = await loadEnvironment(dir);
    const key = variables.get("HULL_API_KEY") || variables.get("HULL_ADMIN_KEY") || undefined;
    const { data } = await new AdminClient(running, key, 10_000).ask(
      "GET /admin/mcp",
      {},
      { needs: ["data"] },
    );
    const needed = data.filter(({ needs_login }) => needs_login).map(({ name }) => name);
    if (needed.length === 0)
      return [{ check, level: "ok", message: `${counted(data.length, "server")}, none needs a login` }];
    const message = `${needed.join(", ")} ${needed.length === 1 ? "needs" : "need"} a login; their tools do not work.`;
    return [
      { check, level: "warning", message, remedy: needed.map((name) => `hull mcp login ${name}`).join("; ") },
    ];
  } catch (error) {
    return [
      {
        check,
        level: "warning",
        message: `Hull does not say which servers need a login: ${reasonOf(error)}`,
      },
    ];
  }
}

async function skillsCheck(project: Project): Promise<Finding> {
  const { skills, diagnostics } = await buildRoots(project.roots, {
    ...buildOptionsOf(project),
    skillsOnly: true,
  });
  const errors = diagnostics.filter(({ diagnostic }) => diagnostic.level === "error").length;
  const count = counted(skills.length, "skill");
  if (errors === 0) {
    const missing = project.config.runner.url === null ? checkPrograms(skills, project.roots) : [];
    const programs = [...new Set(missing.map(({ program }) => program))];
    if (programs.length === 0) return { check: "skills", level: "ok", message: `${count}, no errors` };
    const message = `${count}; this machine lacks ${programs.join(", ")}.`;
    const remedy = "hull validate --runner shows which skills start what is missing.";
    return { check: "skills", level: "warning", message, remedy };
  }
  return {
    check: "skills",
    level: "error",
    message: `${counted(errors, "error")} in the skills of ${project.roots.join(", ")}.`,
    remedy: "hull validate shows each with its line.",
  };
}
