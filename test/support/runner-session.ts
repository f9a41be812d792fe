/** A session as the runner sees it: files that come with a command, and changes that go back. */
import { createHash, randomBytes } from "node:crypto";
import { join } from "node:path";
import { expect } from "vitest";
import { encodeFrame, encodeJsonFrame, FRAME, type WorkspaceChange } from "../../src/tool/protocol.ts";
import { runExecution } from "../../src/tool/runner-client.ts";
import { type Bundle, runOptions, spec, type TestRunner } from "./runner.ts";

export const digest = (text: string | Uint8Array): string => createHash("sha256").update(text).digest("hex");

export interface Ran {
  stdout: string;
  cause: string;
  exitCode: number | null;
  changes: WorkspaceChange[];
}

/** What a session has, as the Worker keeps it. */
export class Session {
  readonly id = randomBytes(16).toString("hex");
  readonly #runner: () => TestRunner;
  readonly #skill: Bundle;
  version = 0;
  readonly files = new Map<string, { content: string; executable: boolean }>();
  /** Texts that went to the runner. */
  readonly sent: string[] = [];

  /**
   * @param runner the one for the next command: a test may start another one
   * @param skill whose programs run in the session
   */
  constructor(runner: () => TestRunner, skill: Bundle) {
    this.#runner = runner;
    this.#skill = skill;
  }

  put(path: string, content: string, executable = false): void {
    this.version += 1;
    this.files.set(path, { content, executable });
  }

  manifest(): string {
    const rows = [...this.files].map(([path, { content, executable }]) => ({
      path,
      sha256: digest(content),
      size: Buffer.byteLength(content),
      executable,
    }));
    return JSON.stringify({ id: this.id, version: this.version, files: rows });
  }

  contents(digests: readonly string[]): ReadableStream<Uint8Array> {
    const all = new Map([...this.files.values()].map(({ content }) => [digest(content), content]));
    const frames = digests.flatMap((sha256) => {
      const text = all.get(sha256) ?? expect.fail("not a content of the session");
      this.sent.push(text);
      const header = { filename: sha256, size: Buffer.byteLength(text), sha256 };
      return [encodeJsonFrame(FRAME.file, header), encodeFrame(FRAME.fileBytes, Buffer.from(text))];
    });
    return new Blob(frames.map((frame) => new Uint8Array(frame))).stream();
  }

  /** Runs a shell script in the folder, and makes its changes the session's. */
  async run(
    script: string | string[],
    {
      signal = new AbortController().signal,
      ...fields
    }: { signal?: AbortSignal; timeout_ms?: number; limits?: { max_output_bytes: number } } = {},
  ): Promise<Ran> {
    const argv = typeof script === "string" ? ["sh", "-c", script] : script;
    const workspace = { id: this.id, version: this.version, cwd: true };
    const options = runOptions(this.#skill, {
      signal,
      workspace: { manifest: async () => this.manifest(), contents: (digests) => this.contents(digests) },
    });
    const stdout: Uint8Array[] = [];
    const changes: WorkspaceChange[] = [];
    const bytes: Uint8Array[][] = [];
    const wanted = spec({ argv, digest: this.#skill.digest, workspace, timeout_ms: 50_000, ...fields });
    for await (const event of runExecution(this.#runner(), wanted, {}, options)) {
      if (event.kind === "stdout") stdout.push(event.bytes);
      if (event.kind === "change") bytes[changes.push(event.change) - 1] = [];
      if (event.kind === "change_bytes") bytes[changes.length - 1]?.push(event.bytes);
      if (event.kind !== "ended") continue;
      for (const [index, change] of changes.entries()) {
        if (change.kind === "delete") this.files.delete(change.path);
        if (change.kind !== "write") continue;
        const content = Buffer.concat(bytes[index] ?? []);
        expect([change.path, content.length, digest(content)]).toEqual([
          change.path,
          change.size,
          change.sha256,
        ]);
        this.files.set(change.path, { content: content.toString(), executable: change.executable });
      }
      if (changes.some(({ kind }) => kind !== "refused")) this.version += 1;
      const { cause, exit_code: exitCode } = event.status;
      return { stdout: Buffer.concat(stdout).toString(), cause, exitCode, changes };
    }
    return expect.fail("no `ended` event");
  }

  get folder(): string {
    return join(this.#runner().stateDir, "workspaces", this.id, "files");
  }

  plain(): Record<string, string> {
    return Object.fromEntries([...this.files].map(([path, { content }]) => [path, content]).sort());
  }
}

export const told = ({ changes }: Ran): string[] =>
  changes.map(
    (change) => `${change.kind} ${change.path}${change.kind === "refused" ? ` ${change.reason}` : ""}`,
  );
