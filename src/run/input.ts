/** A run's input, whatever its source. */

export interface InputFile {
  /** As the client named it; `null` for a raw body. */
  filename: string | null;
  mime: string;
  body: Uint8Array | ReadableStream<Uint8Array>;
}

export interface RunInput {
  /** The text for stdin, or the user message; `null` if the request has none. */
  text: Uint8Array | null;
  files: InputFile[];
}
