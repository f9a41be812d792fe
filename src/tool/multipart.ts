/** Encodes the body of `POST /v1/executions`: `spec`, then the files, then `stdin`. */
import { concat, streamFrom, utf8 } from "../bytes.ts";

type Bytes = Uint8Array<ArrayBuffer>;
type Body = Uint8Array | ReadableStream<Uint8Array>;

interface InputFile {
  filename: string;
  mime: string;
  body: Body;
}

export interface ExecutionInput {
  stdin?: Body;
  files?: InputFile[];
}

interface Multipart {
  contentType: string;
  body: Bytes | ReadableStream<Uint8Array>;
}

/** Up to this size a body in memory becomes one piece, with a known length. */
const WHOLE_BYTES = 1024 * 1024;

/** Whether the input can be sent again: a stream cannot. */
export function isRepeatable({ stdin, files = [] }: ExecutionInput): boolean {
  return [stdin, ...files.map((file) => file.body)].every((body) => !(body instanceof ReadableStream));
}

/**
 * Encodes spec and input. `gate`: streams of the input stay untouched until it resolves, so that a runner that refuses
 * the spec leaves them whole.
 */
export function encodeMultipart(specText: string, input: ExecutionInput, gate: Promise<void>): Multipart {
  const boundary = `hull-${crypto.randomUUID()}`;
  const contentType = `multipart/form-data; boundary=${boundary}`;
  const pieces: Body[] = [];
  // Texts that follow each other become one piece.
  let text = `${head(boundary, "spec")}\r\n${specText}`;
  for (const { filename, mime, body } of input.files ?? []) {
    pieces.push(utf8(`${text}\r\n${head(boundary, "file", filename, mime)}\r\n`), body);
    text = "";
  }
  if (input.stdin !== undefined) {
    const part = head(boundary, "stdin", "stdin", "application/octet-stream");
    pieces.push(utf8(`${text}\r\n${part}\r\n`), input.stdin);
    text = "";
  }
  pieces.push(utf8(`${text}\r\n--${boundary}--\r\n`));
  return { contentType, body: whole(pieces) ?? streamFrom(generate(pieces, gate)) };
}

function head(boundary: string, name: string, filename?: string, mime?: string): string {
  const file = filename === undefined ? "" : `; filename="${escapeParameter(filename)}"`;
  const type = mime === undefined ? "" : `Content-Type: ${mime.replace(/[^\x20-\x7e]/g, "")}\r\n`;
  return `--${boundary}\r\nContent-Disposition: form-data; name="${name}"${file}\r\n${type}`;
}

/** Escapes names as the HTML standard's multipart/form-data encoding algorithm does. */
function escapeParameter(text: string): string {
  return text.replace(/\\/g, "_").replace(/\n/g, "%0A").replace(/\r/g, "%0D").replace(/"/g, "%22");
}

/** All pieces in one, if none is a stream and their total is short. */
function whole(pieces: Body[]): Bytes | null {
  const arrays = pieces.filter((piece) => piece instanceof Uint8Array);
  const size = arrays.reduce((total, piece) => total + piece.length, 0);
  if (arrays.length < pieces.length || size > WHOLE_BYTES) return null;
  return concat(arrays);
}

async function* generate(pieces: Body[], gate: Promise<void>): AsyncGenerator<Uint8Array, void> {
  for (const piece of pieces) {
    if (piece instanceof Uint8Array) {
      if (piece.length > 0) yield piece;
      continue;
    }
    await gate;
    for await (const chunk of piece) if (chunk.length > 0) yield chunk;
  }
}
