/** How the requests that provoke errors are sent. */

export type Ask = (path: string, init: RequestInit) => Promise<Response>;

/** Posts documents. */
export const posting =
  (ask: Ask) =>
  (path: string, body: object, headers: Record<string, string> = {}): Promise<Response> =>
    ask(path, {
      method: "POST",
      body: JSON.stringify(body),
      headers: { "content-type": "application/json", ...headers },
    });
