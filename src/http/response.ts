/** Answers with headers. */

/** An answer. It gets its headers one by one, because workerd takes twice as long to read them from an object. */
export function responseOf(
  body: ConstructorParameters<typeof Response>[0],
  headers: Record<string, string>,
  status = 200,
): Response {
  const response = new Response(body, { status });
  for (const [name, value] of Object.entries(headers)) response.headers.set(name, value);
  return response;
}
