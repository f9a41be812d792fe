/** Files of runs in R2 (serving.md §3.1, §5.1): `files/<id>`, readable for an hour. */
import type { Bindings } from "../env.ts";
import { FileNotFound } from "../errors/request.ts";

/** How long a produced file can be fetched, in ms. */
const FILE_TTL_MS = 3_600_000;

export interface FileMeta {
  filename: string;
  mime: string;
  size: number;
  sha256: string;
}

/** Stores a file of known size and answers its id. */
export async function storeFile(
  env: Bindings,
  content: Uint8Array | ReadableStream<Uint8Array>,
  meta: FileMeta,
): Promise<string> {
  const id = `file_${crypto.randomUUID().replaceAll("-", "")}`;
  const body =
    content instanceof Uint8Array ? content : content.pipeThrough(new FixedLengthStream(meta.size));
  await env.FILES.put(`files/${id}`, body, {
    sha256: meta.sha256,
    httpMetadata: { contentType: meta.mime },
    customMetadata: {
      filename: encodeURIComponent(meta.filename),
      expires_at: String(Date.now() + FILE_TTL_MS),
    },
  });
  return id;
}

/** A stored file with its body. @throws FileNotFound for an unknown or expired id */
export async function readFile(
  env: Bindings,
  id: string,
): Promise<{ object: R2ObjectBody; filename: string; mime: string }> {
  const object = /^file_[0-9a-f]{32}$/.test(id) ? await env.FILES.get(`files/${id}`) : null;
  const expires = Number(object?.customMetadata?.expires_at ?? 0);
  if (object === null || expires < Date.now()) {
    await object?.body.cancel();
    throw new FileNotFound({ id });
  }
  return {
    object,
    filename: decodeURIComponent(object.customMetadata?.filename ?? id),
    mime: object.httpMetadata?.contentType ?? "application/octet-stream",
  };
}
