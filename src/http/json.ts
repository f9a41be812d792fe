/** Answers in JSON: one place makes them, so that none holds half a surrogate pair. */
import { wellFormedJson } from "../bytes.ts";

/** An answer with the value as JSON. A half that came in, e.g. from a model, goes out as U+FFFD. */
export function jsonAnswer(
  value: unknown,
  init: { status?: number; headers?: ConstructorParameters<typeof Headers>[0] } = {},
): Response {
  const headers = new Headers(init.headers);
  if (!headers.has("content-type")) headers.set("content-type", "application/json");
  return new Response(wellFormedJson(value), { status: init.status ?? 200, headers });
}
