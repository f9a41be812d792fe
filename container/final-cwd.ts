/**
 * The file in which a command of bash reports the folder where it ended. The runner keeps the file open, so a
 * replacement is never read.
 */
import { type FileHandle, open } from "node:fs/promises";

/** PATH_MAX of Linux. */
const MAX_PATH_BYTES = 4096;

export class FinalCwd {
  readonly #file: FileHandle;

  private constructor(file: FileHandle) {
    this.#file = file;
  }

  /** Makes the file; a process in the runner's group may write to it. */
  static async at(path: string): Promise<FinalCwd> {
    return new FinalCwd(await open(path, "wx+", 0o660));
  }

  /**
   * The folder where the command ended, relative to the session's files if it is among them; `null` if the command did
   * not report it. Closes the file.
   */
  async read(workspace: string | null): Promise<string | null> {
    try {
      const bytes = Buffer.alloc(MAX_PATH_BYTES + 1);
      const { bytesRead } = await this.#file.read(bytes, 0, bytes.length, 0);
      const said = bytes.toString("utf8", 0, bytesRead).replace(/\n$/, "");
      if (!said.startsWith("/") || bytesRead > MAX_PATH_BYTES || said.includes("\ufffd")) return null;
      if (said === workspace) return "";
      if (workspace === null || !said.startsWith(`${workspace}/`)) return said;
      // Like the session's files, the folder now has its name in form NFC.
      return said.slice(workspace.length + 1).normalize("NFC");
    } finally {
      await this.#file.close();
    }
  }
}
