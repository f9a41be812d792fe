/** A command's output: the model gets its beginning and end, and a long output goes completely into a file. */
import { lastOf } from "../../cut.ts";
import { MAX_OUTPUT_CHARS } from "../../engine/workspace-tools/definitions.ts";
import { shownOutput } from "../../engine/workspace-tools/lines.ts";
import type { WorkspaceAccess } from "../workspace/access.ts";
import { ArrivingContent, keyFor } from "../workspace/store.ts";

/** Where long outputs go in the work folder. */
const OUTPUT_FOLDER = ".hull/output";

/** The beginning and the end of a text. */
class Ends {
  head = "";
  tail = "";
  length = 0;

  push(text: string): void {
    const room = MAX_OUTPUT_CHARS - this.head.length;
    this.length += text.length;
    this.head += text.slice(0, Math.max(0, room));
    const rest = text.slice(Math.max(0, room));
    if (rest === "") return;
    this.tail += rest;
    if (this.tail.length > 2 * MAX_OUTPUT_CHARS) this.tail = lastOf(this.tail, MAX_OUTPUT_CHARS);
  }
}

export class BashOutput {
  readonly #bucket: R2Bucket;
  readonly #workspace: WorkspaceAccess;
  readonly #path: string;
  readonly #decoder = new TextDecoder();
  readonly #ends = new Ends();
  /** The output so far, while all of it can be shown. */
  #held: Uint8Array[] = [];
  #file: ArrivingContent | null = null;

  /** @param name of the call, for its file */
  constructor(bucket: R2Bucket, workspace: WorkspaceAccess, name: string) {
    this.#bucket = bucket;
    this.#workspace = workspace;
    this.#path = `${OUTPUT_FOLDER}/${name}.txt`;
  }

  /** Takes bytes as they arrive; returns their text. */
  async push(bytes: Uint8Array): Promise<string> {
    const text = this.#decoder.decode(bytes, { stream: true });
    this.#ends.push(text);
    if (this.#file === null && this.#ends.length <= MAX_OUTPUT_CHARS) {
      this.#held.push(bytes.slice());
      return text;
    }
    await this.#write(bytes);
    return text;
  }

  /** The text for the model, after the last byte. From then on the file of a long output exists. */
  async end(): Promise<string> {
    this.#ends.push(this.#decoder.decode());
    const file = this.#file;
    if (file === null) return shownOutput(this.#ends, null);
    const kept = { path: this.#path, executable: false, expected: null };
    const write = { kind: "write" as const, key: file.key, ...(await file.end()), ...kept };
    const [outcome] = await this.#workspace.changeFiles([write]);
    const stays = outcome !== undefined && !("refused" in outcome);
    return shownOutput(this.#ends, stays ? this.#path : null);
  }

  /** Drops what arrived. */
  async abandon(): Promise<void> {
    await this.#file?.abandon();
  }

  async #write(bytes: Uint8Array): Promise<void> {
    const workspace = this.#workspace;
    this.#file ??= new ArrivingContent(this.#bucket, workspace, await keyFor(workspace));
    for (const piece of [...this.#held.splice(0), bytes.slice()]) await this.#file.write(piece);
  }
}
