/** The program of an execution: the command of its spec, or a handler (handlers.ts). */
import { join } from "node:path";
import type { ExecutionSpec } from "../src/tool/protocol.ts";
import type { Command, Commands } from "./commands.ts";
import { type Environment, processEnvironment } from "./environment.ts";
import type { FinalCwd } from "./final-cwd.ts";
import type { Launch, Launcher } from "./launcher.ts";
import type { Scratch } from "./scratch.ts";
import type { Workspace } from "./workspace.ts";

export interface Program extends Pick<Launch, "file" | "argv0" | "args" | "cwd" | "allowedPaths" | "skills"> {
  environment: Environment;
  /** All of stdin; null: the part that has arrived, followed by the rest as it arrives. */
  stdin: Uint8Array | null;
  /** As in `ProcessSpec`. */
  separateResultFd: boolean;
  launcher: Launcher;
  /** Where the program reports the folder in which it ended; absent: it does not report it. */
  finalCwd?: FinalCwd;
}

/** The folders in which the program is started. */
export interface ProcessFolders {
  /** The skill's files. */
  bundle: string;
  workspace: Workspace | null;
  scratch: Scratch;
  /** First uploaded file, for `input.mode: file`. */
  inputFile: string | null;
}

/** The command `argv[0]` of a spec, in the skill's folder or the session's. `null`: there is none. */
export function commandProgram(
  services: { commands: Commands; inherited: Environment; launcher: Launcher },
  spec: ExecutionSpec,
  folders: ProcessFolders,
): Program | null | Promise<Program | null> {
  const { bundle, workspace, scratch, inputFile } = folders;
  const cwd = workspace !== null && spec.workspace?.cwd === true ? workspace.dir : bundle;
  const programOf = (command: Command | null): Program | null =>
    command === null
      ? null
      : {
          ...(cwd === bundle ? command : absolute(command, bundle)),
          args: spec.argv.slice(1),
          cwd,
          allowedPaths: allowedPathsOf(folders),
          skills: null,
          environment: processEnvironment(
            services.inherited,
            spec,
            { cwd, bundle, workspace },
            scratch,
            inputFile,
          ),
          stdin: null,
          separateResultFd: false,
          launcher: services.launcher,
        };
  const found = services.commands.resolve(spec.argv[0] ?? "", bundle, spec.untrusted);
  return found instanceof Promise ? found.then(programOf) : programOf(found);
}

/** The runner's folders that an execution uses. */
export const allowedPathsOf = ({ bundle, workspace, scratch }: ProcessFolders): string[] => [
  bundle,
  scratch.dir,
  ...(workspace === null ? [] : [workspace.dir]),
];

/** The command with an absolute path, if its file is in the bundle, for a process that begins in another folder. */
export function absolute(command: Command, bundle: string): Command {
  return command.file.startsWith("./") ? { ...command, file: join(bundle, command.file) } : command;
}
