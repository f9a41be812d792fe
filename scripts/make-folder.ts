/** Makes a folder, and those above it that are missing. */
import { mkdir, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { CommandError, EXIT } from "./command.ts";
import { isSystemError } from "./system-error.ts";

/**
 * Node's own recursive `mkdir` tries forever where a folder exists and the system allows none in it, as in /proc.
 * @throws CommandError for such a place
 */
export async function makeFolder(path: string, mode = 0o777): Promise<void> {
  const above = dirname(path);
  if (above !== path && !(await exists(path)) && !(await exists(above))) await makeFolder(above, mode);
  try {
    await mkdir(path, { mode });
  } catch (error) {
    if (!isSystemError(error)) throw error;
    if (error.code === "EEXIST" && (await isFolder(path))) return;
    if (error.code !== "ENOENT") throw error;
    const message = `Cannot make the folder ${path}: the system allows none in ${above}.`;
    throw new CommandError(EXIT.failed, "system_error", message, "Choose a folder elsewhere.");
  }
}

const isFolder = (path: string): Promise<boolean> =>
  stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  );

const exists = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    // Anything else is for the system to say when the folder is made.
    (error: NodeJS.ErrnoException) => error.code !== "ENOENT",
  );
