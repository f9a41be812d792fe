/**
 * Starts the handler of a tool: chooses the program, the arguments, and the folder. With spawners, Python handlers are
 * forks of a warm interpreter.
 */
import { writeFile } from "node:fs/promises";
import { basename, delimiter, join, resolve, sep } from "node:path";
import { type ExecutionSpec, HANDLER_TEXT_LIMIT } from "../src/tool/protocol.ts";
import { type Command, type Commands, isFile, isFolder } from "./commands.ts";
import { type Dependencies, DependenciesFailed } from "./dependencies.ts";
import { type Environment, processEnvironment } from "./environment.ts";
import { FinalCwd } from "./final-cwd.ts";
import type { Launchers } from "./launchers.ts";
import { absolute, allowedPathsOf, commandProgram, type ProcessFolders, type Program } from "./program.ts";
import { programSource } from "./program-source.ts";
import { Refused } from "./refusal.ts";
import { makeFolder } from "./scratch.ts";
import { removeTree } from "./tree.ts";

type Handler = NonNullable<ExecutionSpec["handler"]>;

const PYTHON_SHIM_FILE = "handler.py";
const NODE_SHIM_FILE = "handler.mjs";
const PYTHON_SESSION_FILE = "python_session.py";

interface HandlerParts {
  /** The shims' folder, and the group that reads it, if that is another uid. */
  dir: string;
  group: number | null;
  commands: Commands;
  inherited: Environment;
  launchers: Launchers;
  /** Whether cgroups limit memory. */
  limitsMemory: boolean;
  /** Null: there is none. */
  python: Command | null;
  dependencies: Dependencies;
}

export class Handlers {
  readonly #parts: HandlerParts;
  /** Runs the commands of bash. */
  readonly #bash = programSource("commands.sh");

  constructor(parts: HandlerParts) {
    this.#parts = parts;
  }

  /** Writes the shims. */
  async prepare(): Promise<void> {
    const { dir, group } = this.#parts;
    await removeTree(dir);
    await makeFolder(dir, group);
    for (const [name, text] of [
      [PYTHON_SHIM_FILE, programSource("handler.py", "handler_main.py")],
      [NODE_SHIM_FILE, programSource("handler.mjs")],
      [PYTHON_SESSION_FILE, programSource("python_session.py")],
    ] as const)
      await writeFile(join(dir, name), text, { mode: 0o440 });
  }

  /** Ends the processes that serve only handlers, and removes the shims. */
  async close(): Promise<void> {
    await this.#parts.launchers.close();
    await removeTree(this.#parts.dir);
  }

  /**
   * The program of a handler. `input`: the arguments, a JSON object in UTF-8. `null`: the script does not exist, or
   * nothing can run it.
   * @param used called with the digest of each bundle of packages that it has marked as in use; the caller releases it
   * @throws DependenciesFailed
   */
  async program(
    spec: ExecutionSpec,
    handler: Handler,
    folders: ProcessFolders & { skills: string | null },
    input: Uint8Array,
    used: (packages: string) => void,
  ): Promise<Program | null> {
    const { bundle, workspace, scratch } = folders;
    const { commands, inherited, launchers, dependencies, python } = this.#parts;
    const network = launchers.of(handler.network);
    // Without a session's files, the handler begins in the folder for output, which is new and is removed with the
    // execution.
    const cwd = workspace?.dir ?? scratch.outputDir;
    const environment = processEnvironment(inherited, spec, { cwd, bundle, workspace }, scratch, null);
    environment.HULL_SKILL_DIR = bundle;
    environment.HULL_TOOL_CONFIG = handler.config;
    environment.HULL_TOOL_CONTEXT = handler.context;
    Object.assign(environment, launchers.variables(handler.network, spec.timeout_ms + spec.grace_ms));
    const skills = folders.skills === null ? [] : [folders.skills];
    const allowedPaths = [...allowedPathsOf(folders), this.#parts.dir, ...skills];
    const start = { cwd, allowedPaths, skills: null, environment };
    if (handler.language === "bash") {
      const launcher = await launchers.ofCommands(handler.network);
      const begun = { ...start, launcher, separateResultFd: false };
      const wanted = handler.packages === true && folders.skills !== null ? (spec.skills?.list ?? []) : [];
      const found = await this.#packagesOf(wanted, folders.skills ?? "", used);
      environment.PYTHONPATH = found.dirs.join(delimiter);
      if (found.dirs.length === 0) delete environment.PYTHONPATH;
      allowedPaths.push(...found.dirs);
      if (handler.packages === true)
        environment.HULL_PYTHON_SESSION = join(this.#parts.dir, PYTHON_SESSION_FILE);
      return this.#commands(
        handler.skills_path === true ? { ...begun, skills: folders.skills } : begun,
        handler,
        folders,
        Buffer.concat([Buffer.from(found.notices), input]),
        this.#parts.limitsMemory ? null : (spec.limits.memory_bytes ?? null),
      );
    }
    const [name = "", ...rest] = spec.argv;
    const script = resolve(bundle, name);
    const isScript = handler.language === "program" || (script.startsWith(bundle + sep) && isFile(script));
    if (!isScript) return null;
    if (handler.language === "python") {
      if (python === null) return null;
      const packages = await dependencies.use(spec.digest, bundle, script);
      if (packages !== null) {
        used(packages.digest);
        environment.PYTHONPATH = packages.dir;
        allowedPaths.push(packages.dir);
      }
      const { stdin, argument } = argumentsOf(input, cwd);
      const args = [join(this.#parts.dir, PYTHON_SHIM_FILE), script, ...argument];
      const launcher = await network.forks();
      return { ...start, ...python, args, stdin, separateResultFd: true, launcher };
    }
    const program = { ...start, launcher: await network.launcher(), separateResultFd: false };
    if (handler.language === "program") {
      const command = await commands.resolve(name, bundle, spec.untrusted);
      return command === null ? null : { ...program, ...absolute(command, bundle), args: rest, stdin: input };
    }
    const { stdin, argument } = argumentsOf(input, cwd);
    if (handler.language === "file")
      return { ...program, file: script, argv0: script, args: argument, stdin };
    if (handler.language === "shell") {
      // Looked up in a folder that has no skill's files.
      const bash = await commands.resolve("bash", this.#parts.dir);
      return bash === null ? null : { ...program, ...bash, args: [script, ...argument], stdin };
    }
    const settings = `{"context":${handler.context},"python":${JSON.stringify(python?.file ?? null)}}`;
    const args = [join(this.#parts.dir, NODE_SHIM_FILE), script, settings, ...argument];
    return { ...program, file: process.execPath, argv0: "node", args, stdin, separateResultFd: true };
  }

  /**
   * The program of an MCP server: its command, with the packages of its script or its skill if Python executes it. The
   * other arguments and the errors are those of `program`.
   */
  async server(
    spec: ExecutionSpec,
    folders: ProcessFolders,
    used: (packages: string) => void,
  ): Promise<Program | null> {
    const { commands, inherited, launchers, dependencies } = this.#parts;
    const launcher = await launchers.of({ hosts: null }).launcher();
    const program = await commandProgram({ commands, inherited, launcher }, spec, folders);
    const [name = "", ...rest] = spec.argv;
    if (program === null || !/^python[0-9.]*$/.test(basename(name))) return program;
    const { bundle } = folders;
    const files = rest.map((word) => resolve(bundle, word));
    const script = files.find(
      (file) => file.endsWith(".py") && file.startsWith(bundle + sep) && isFile(file),
    );
    const packages = await dependencies.use(spec.digest, bundle, script ?? null);
    if (packages === null) return program;
    used(packages.digest);
    const { environment, allowedPaths } = program;
    return {
      ...program,
      environment: { ...environment, PYTHONPATH: packages.dir },
      allowedPaths: [...allowedPaths, packages.dir],
    };
  }

  /**
   * The packages of skills, and commands that report which could not be installed. @param folder in which the skills
   * are
   */
  async #packagesOf(
    skills: readonly { name: string; digest: string }[],
    folder: string,
    used: (packages: string) => void,
  ): Promise<{ dirs: string[]; notices: string }> {
    const none = { dirs: [], notices: "" };
    const { dependencies, python } = this.#parts;
    if (python === null) return none;
    const all = skills.map(async ({ name, digest }) => {
      try {
        const found = await dependencies.use(digest, join(folder, name), null);
        if (found === null) return none;
        used(found.digest);
        return { dirs: [found.dir], notices: "" };
      } catch (error) {
        if (!(error instanceof DependenciesFailed)) throw error;
        const said = `[hull: the packages of ${name} could not be installed: ${error.message}]`;
        return { ...none, notices: `printf '%s\\n' '${said.replaceAll("'", "'\\''")}'\n` };
      }
    });
    const found = await Promise.all(all);
    return {
      dirs: found.flatMap(({ dirs }) => dirs),
      notices: found.map(({ notices }) => notices).join(""),
    };
  }

  /**
   * The program that runs a text of commands: bash, looked up in a folder that has no skill's files.
   * @param memoryBytes the most memory of each process; `null`: the cgroup limits it, or nothing does
   */
  async #commands(
    begun: Omit<Program, "file" | "argv0" | "args" | "stdin">,
    { cwd: wanted = "", skill, skill_path = skill, own_stderr }: Handler,
    { scratch, skills }: ProcessFolders & { skills: string | null },
    commands: Uint8Array,
    memoryBytes: number | null,
  ): Promise<Program | null> {
    const bash = await this.#parts.commands.resolve("bash", this.#parts.dir);
    if (bash === null) return null;
    const folder = resolve(begun.cwd, wanted);
    const cwd = isFolder(folder) ? folder : begun.cwd;
    const text = join(scratch.dir, ".hull-commands");
    const folderFile = join(scratch.dir, ".hull-folder");
    await writeFile(text, commands, { mode: 0o640, flag: "wx" });
    const environment = { ...begun.environment };
    delete environment.HULL_TOOL_CONFIG;
    delete environment.HULL_TOOL_CONTEXT;
    delete environment.HULL_SKILL_DIR;
    if (skills !== null && skill !== undefined && skill_path !== undefined) {
      const named = join(skills, skill_path);
      for (const name of ["HULL_SKILL_DIR", "CLAUDE_SKILL_DIR", "SKILL_DIR"]) environment[name] = named;
      const plugin = join(skills, ".plugins", skill);
      if (isFolder(plugin)) environment.CLAUDE_PLUGIN_ROOT = plugin;
    }
    return {
      ...begun,
      ...bash,
      args: [
        "-c",
        this.#bash,
        "bash",
        text,
        folderFile,
        memoryBytes === null ? "" : String(Math.ceil(memoryBytes / 1024)),
        own_stderr === true ? "own" : "",
        cwd === folder ? "" : `[hull: there is no folder ${wanted}; the command began in the work folder]`,
      ],
      cwd,
      environment: { ...environment, PWD: cwd },
      stdin: new Uint8Array(0),
      finalCwd: await FinalCwd.at(folderFile),
    };
  }
}

/** The handler's stdin, and the same as an argument. */
function argumentsOf(input: Uint8Array, cwd: string): { stdin: Buffer; argument: string[] } {
  const stdin = withWorkDir(input, cwd);
  return { stdin, argument: stdin.length < HANDLER_TEXT_LIMIT ? [stdin.toString()] : [] };
}

/** The arguments with `__workDir` as the last key, inserted before the final brace. */
function withWorkDir(input: Uint8Array, workDir: string): Buffer {
  const text = Buffer.from(input).toString().trimEnd();
  const open = text.slice(0, -1).trimEnd();
  if (!text.startsWith("{") || !text.endsWith("}"))
    throw new Refused("bad_request", "A handler's arguments are a JSON object.");
  return Buffer.from(`${open}${open === "{" ? "" : ","}"__workDir":${JSON.stringify(workDir)}}`);
}
