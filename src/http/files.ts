/** `GET /files/:id`: a file that a run produced (serving.md §5.1). */
import { readFile } from "../registry/files.ts";
import { contentDisposition, isActive } from "../run/output-files.ts";
import { noneMatch } from "./conditional.ts";
import type { RequestContext } from "./context.ts";

export async function getFile(context: RequestContext, params: Record<string, string>): Promise<Response> {
  const { object, filename, mime } = await readFile(context.env, params.id ?? "");
  const headers = new Headers({
    "content-type": mime,
    "content-disposition": contentDisposition(isActive(mime) ? "attachment" : "inline", filename),
    "cache-control": "private, no-cache",
    etag: object.httpEtag,
  });
  if (noneMatch(context.request, object.httpEtag)) {
    await object.body.cancel();
    return new Response(null, { status: 304, headers });
  }
  return new Response(object.body.pipeThrough(new FixedLengthStream(object.size)), { headers });
}
