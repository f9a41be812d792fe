/** A run's input, whatever it came from. */

export interface InputFile {
  /** As the client named it; `null` for a raw body. */
  filename: string | null;
  mime: string;
  body: Uint8Array | ReadableStream<Uint8Array>;
}

export interface RunInput {
  /** What goes to stdin, or is the user message; `null` where the request has none. */
  text: Uint8Array | null;
  files: InputFile[];
}
