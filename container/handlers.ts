/**
 * Starts the handler of a tool: chooses the program, the arguments, and the folder. With spawners, Python handlers are
 * forks of a warm interpreter.
 */
import { mkdirSync } from "node:fs";
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

/** One call of a handler. */
interface HandlerCall {
  spec: ExecutionSpec;
  handler: Handler;
  folders: ProcessFolders & { skills: string | null };
  /** The arguments, a JSON object in UTF-8; for bash the text of the commands. */
  input: Uint8Array;
  /** Called with the digest of each bundle of packages that is marked as in use now; the caller releases it. */
  used: (packages: string) => void;
}

/** What the processes of all handlers have in common. */
type ProgramStart = Pick<Program, "cwd" | "allowedPaths" | "skills" | "environment">;

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
   * The program of a handler. `null`: the script does not exist, or nothing can run it.
   * @throws DependenciesFailed
   */
  async program(call: HandlerCall): Promise<Program | null> {
    const { spec, handler, input } = call;
    const { bundle } = call.folders;
    const start = this.#start(call);
    if (handler.language === "bash") return this.#bashProgram(call, start);
    const [name = "", ...rest] = spec.argv;
    const script = resolve(bundle, name);
    const isScript = handler.language === "program" || (script.startsWith(bundle + sep) && isFile(script));
    if (!isScript) return null;
    if (handler.language === "python") return this.#pythonProgram(call, script, start);
    const { commands, launchers, python, dir } = this.#parts;
    const launcher = await launchers.of(handler.network).launcher();
    const program = { ...start, launcher, separateResultFd: false };
    if (handler.language === "program") {
      const command = await commands.resolve(name, bundle, spec.untrusted);
      return command === null ? null : { ...program, ...absolute(command, bundle), args: rest, stdin: input };
    }
    const { stdin, argument } = argumentsOf(input, start.cwd);
    if (handler.language === "file")
      return { ...program, file: script, argv0: script, args: argument, stdin };
    if (handler.language === "shell") {
      // Looked up in a folder that has no skill's files.
      const bash = await commands.resolve("bash", dir);
      return bash === null ? null : { ...program, ...bash, args: [script, ...argument], stdin };
    }
    const settings = `{"context":${handler.context},"python":${JSON.stringify(python?.file ?? null)}}`;
    const args = [join(dir, NODE_SHIM_FILE), script, settings, ...argument];
    return { ...program, file: process.execPath, argv0: "node", args, stdin, separateResultFd: true };
  }

  #start({ spec, handler, folders }: HandlerCall): ProgramStart {
    const { bundle, workspace, scratch } = folders;
    const { inherited, launchers, dir } = this.#parts;
    // Without a session's files, the handler begins in the folder for output, which is new and is removed with the
    // execution.
    const cwd = workspace?.dir ?? scratch.outputDir;
    const environment = processEnvironment(inherited, spec, { cwd, bundle, workspace }, scratch, null);
    environment.HULL_SKILL_DIR = bundle;
    environment.HULL_TOOL_CONFIG = handler.config;
    environment.HULL_TOOL_CONTEXT = handler.context;
    Object.assign(environment, launchers.variables(handler.network, spec.timeout_ms + spec.grace_ms));
    const skills = folders.skills === null ? [] : [folders.skills];
    const allowedPaths = [...allowedPathsOf(folders), dir, ...skills];
    return { cwd, allowedPaths, skills: null, environment };
  }

  async #pythonProgram(
    { spec, handler, folders, input, used }: HandlerCall,
    script: string,
    start: ProgramStart,
  ): Promise<Program | null> {
    const { launchers, dependencies, python, dir } = this.#parts;
    if (python === null) return null;
    const packages = await dependencies.use(spec.digest, folders.bundle, script);
    if (packages !== null) used(packages.digest);
    const { stdin, argument } = argumentsOf(input, start.cwd);
    const args = [join(dir, PYTHON_SHIM_FILE), script, ...argument];
    const launcher = await launchers.of(handler.network).forks();
    const packed = withPackages(start, packages?.dir ?? null);
    return { ...packed, ...python, args, stdin, separateResultFd: true, launcher };
  }

  /**
   * The program of an MCP server: its command, with the packages of its script or its skill if Python executes it.
   * @param used as in `HandlerCall`
   * @throws DependenciesFailed
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
    if (packages !== null) used(packages.digest);
    return withPackages(program, packages?.dir ?? null);
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

  /** The program that runs a text of commands: bash, looked up in a folder that has no skill's files. */
  async #bashProgram(
    { spec, handler, folders: { workspace, scratch, skills }, input, used }: HandlerCall,
    start: ProgramStart,
  ): Promise<Program | null> {
    const { commands, launchers, limitsMemory, dir } = this.#parts;
    const { cwd: wanted = "", skill, skill_path = skill, own_stderr, packages, skills_path } = handler;
    const launcher = await launchers.ofCommands(handler.network);
    const listed = packages === true && skills !== null ? (spec.skills?.list ?? []) : [];
    const { dirs, notices } = await this.#packagesOf(listed, skills ?? "", used);
    const bash = await commands.resolve("bash", dir);
    if (bash === null) return null;
    const folder = resolve(start.cwd, wanted);
    const cwd = isFolder(folder) ? folder : start.cwd;
    const text = join(scratch.dir, ".hull-commands");
    const folderFile = join(scratch.dir, ".hull-folder");
    await writeFile(text, Buffer.concat([Buffer.from(notices), input]), { mode: 0o640, flag: "wx" });
    const environment: Environment = { ...start.environment, PWD: cwd };
    for (const name of OF_OTHER_HANDLERS) delete environment[name];
    const temporary = workspace?.temporary ?? scratch.dir;
    // An earlier command may have removed it.
    mkdirSync(temporary, { recursive: true, mode: 0o700 });
    environment.TMPDIR = environment.TMP = environment.TEMP = temporary;
    environment.CLAUDE_PROJECT_DIR = start.cwd;
    if (dirs.length > 0) environment.PYTHONPATH = dirs.join(delimiter);
    if (packages === true) environment.HULL_PYTHON_SESSION = join(dir, PYTHON_SESSION_FILE);
    if (skills !== null && skill !== undefined && skill_path !== undefined) {
      const named = join(skills, skill_path);
      for (const name of ["HULL_SKILL_DIR", "CLAUDE_SKILL_DIR", "SKILL_DIR"]) environment[name] = named;
      const plugin = join(skills, ".plugins", skill);
      if (isFolder(plugin)) environment.CLAUDE_PLUGIN_ROOT = plugin;
    }
    // Unless a cgroup limits the memory, each process has a limit of its own.
    const memoryBytes = limitsMemory ? null : (spec.limits.memory_bytes ?? null);
    return {
      ...bash,
      launcher,
      separateResultFd: false,
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
      allowedPaths: [...start.allowedPaths, temporary, ...dirs],
      skills: skills_path === true ? skills : null,
      environment,
      stdin: new Uint8Array(0),
      finalCwd: await FinalCwd.at(folderFile),
    };
  }
}

/** Variables that commands do not get. */
const OF_OTHER_HANDLERS = ["HULL_TOOL_CONFIG", "HULL_TOOL_CONTEXT", "HULL_SKILL_DIR", "PYTHONPATH"];

/** The program with access to a folder of Python packages. */
function withPackages<T extends ProgramStart>(program: T, folder: string | null): T {
  if (folder === null) return program;
  return {
    ...program,
    environment: { ...program.environment, PYTHONPATH: folder },
    allowedPaths: [...program.allowedPaths, folder],
  };
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
