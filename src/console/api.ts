/** Gives the console's pages the API: requests in the same process, with the rights of the person who looks at the page. */
import { sha256 } from "../bytes.ts";
import { BadRequest, Forbidden } from "../errors/request.ts";
import { HullError } from "../errors.ts";
import { once } from "../memo.ts";
import { FIXED_ROUTES, type OperationId, type RouteScope } from "../skill/fixed-routes.ts";
import type { Answer } from "./answers.ts";

/** The operations that the console itself serves. */
export type ConsoleOperation = "index" | "docs" | "consolePage" | "consoleForm";
/** The operations that its pages call. */
export type Operation = Exclude<OperationId, ConsoleOperation>;
type Granted = "invoke" | "publish" | "admin";

/** The input of an operation. */
export interface Asked {
  /** Parameters of the path. */
  params?: Record<string, string>;
  /** Parameters of the query; empty values of a record are left out. */
  query?: Record<string, string | null> | URLSearchParams;
  /** Sent as JSON. */
  json?: unknown;
  body?: BodyInit;
  headers?: Record<string, string>;
}

/**
 * What `src/http` tells the console about a request for a page. It is small, because every isolate evaluates the code
 * that makes it.
 */
export interface Host {
  readonly request: Request;
  /** The request's path, in the form by which Hull finds routes. */
  readonly path: string;
  /** The deployment's name, from its settings. */
  readonly name: string;
  readonly tenant: string;
  /** The token of a caller who signed in with a form. */
  readonly signIn: { readonly token: string } | null;
  /** Whether the caller's key has this scope. The console does not offer actions whose scope the key lacks. */
  may(scope: Granted): boolean;
  /** Executes an operation. */
  operate(id: Operation, request: Request, params: Record<string, string>): Promise<Response>;
  /** Calls a skill. @param made the request for its route */
  callSkill(slug: string, made: (path: string, method: string) => Request): Promise<Response>;
  /** How many of the tenant's runs wait for an approval. */
  waiting(): Promise<number>;
  /** @throws BodyTooLarge */
  checkLength(): void;
  /** @throws FormNotTrusted */
  checkToken(token: string | null): Promise<void>;
  /** Logs an error and answers its problem document. */
  problem(error: HullError): {
    status: number;
    title: string;
    detail: string;
    code: string;
    request_id: string;
  };
  /** A file of `assets/`, as the Worker's static assets answer it. */
  asset(path: string): Promise<Response>;
}

/**
 * The API for one request for a page. The caller's key, scopes and tenant have the same effect as on the API's own
 * routes.
 */
export interface Api
  extends Pick<Host, "request" | "name" | "tenant" | "may" | "waiting" | "problem" | "asset"> {
  readonly url: URL;
  /** The token of forms, so that no page of another origin can send them; empty if no cookie identifies the caller. */
  readonly token: string;
  /** Whether the caller signed in with a form and can sign out. */
  readonly signedIn: boolean;
  /** Calls an operation. @throws HullError as the operation does, Forbidden for a scope that the key lacks */
  ask(operation: Operation, asked?: Asked): Promise<Response>;
  /** Calls a skill by its slug. @throws HullError */
  callSkill(slug: string, asked: Asked): Promise<Response>;
}

const ROUTES: ReadonlyMap<OperationId, readonly [method: string, path: string, scope: RouteScope]> = new Map(
  FIXED_ROUTES.map(([id, method, path, scope]) => [id, [method, path, scope]]),
);

/**
 * The API for the pages of one request. It counts what waits once.
 * @param key `Idempotency-Key` of what a form asks for
 */
export function apiOf(host: Host, key: string | null = null): Api {
  const { request, signIn } = host;
  const url = new URL(request.url);
  url.pathname = host.path;
  const made = (path: string, method: string, asked: Asked): Request => {
    const sent = requestFor(request, `${url.origin}${path}`, method, asked);
    if (key !== null && method === "POST") sent.headers.set("idempotency-key", key);
    return sent;
  };
  return {
    ...host,
    url,
    token: signIn?.token ?? "",
    signedIn: signIn !== null,
    ask: async (id, asked = {}) => {
      const [method, path, scope] = ROUTES.get(id) ?? ["GET", "/", "admin"];
      const needed = scope === "own" ? "invoke" : scope;
      if (needed !== "open" && needed !== "any" && !host.may(needed)) throw new Forbidden({ scope: needed });
      const { params = {} } = asked;
      return host.operate(id, made(filled(path, params), method, asked), params);
    },
    callSkill: (slug, asked) => host.callSkill(slug, (path, method) => made(path, method, asked)),
    waiting: once(() => host.waiting()),
  };
}

/** The path of a route with its parameters filled in. */
function filled(path: string, params: Record<string, string>): string {
  return path.replace(/:(\w+)(?:\{[^}]*\})?/g, (_, name: string) =>
    (params[name] ?? "").split("/").map(encodeURIComponent).join("/"),
  );
}

/** A request to the API. It leaves out what the browser sent about itself, so that a page does not count as a client. */
function requestFor(
  request: Request,
  address: string,
  method: string,
  { query = {}, json, body, headers = {} }: Asked,
): Request {
  const url = new URL(address);
  const given = query instanceof URLSearchParams ? query : Object.entries(query).filter(([, value]) => value);
  for (const [name, value] of given) url.searchParams.append(name, value ?? "");
  const sent = new Headers({ host: request.headers.get("host") ?? url.host });
  for (const name of ["x-request-id", "last-event-id", "x-hull-mock-scope"]) {
    const value = request.headers.get(name);
    if (value !== null) sent.set(name, value);
  }
  if (json !== undefined) sent.set("content-type", "application/json");
  for (const [name, value] of Object.entries(headers)) sent.set(name, value);
  const content = json === undefined ? body : JSON.stringify(json);
  const { signal } = request;
  return content === undefined
    ? new Request(url, { method, headers: sent, signal })
    : new Request(url, { method, headers: sent, signal, body: content });
}

/**
 * The fields of the form that was sent.
 * @throws BadRequest for a body that is not a form, BodyTooLarge, FormNotTrusted for a form that is not the console's own
 */
export async function formOf(host: Host): Promise<FormData> {
  host.checkLength();
  const fields = await host.request.formData().catch(() => {
    throw new BadRequest({
      detail: "The console takes forms: multipart/form-data, or application/x-www-form-urlencoded.",
    });
  });
  const token = fields.get("token");
  await host.checkToken(typeof token === "string" ? token : null);
  // Browsers send every line break of a text as CR LF.
  const read = new FormData();
  for (const [name, value] of fields)
    read.append(name, typeof value === "string" ? value.replaceAll("\r\n", "\n") : value);
  return read;
}

/**
 * The key of a form: the same if a browser sends the form again with the same fields, as after a reload. `null`: the form
 * is not from a page.
 */
export async function keyOf(fields: FormData): Promise<string | null> {
  if (!fields.has("once")) return null;
  const values = Array.from(fields, ([name, value]) =>
    typeof value === "string" ? [name, value] : [name, value.name, value.size],
  );
  return `console-${await sha256(JSON.stringify(values))}`;
}

/** The JSON answer of an operation. @throws HullError */
export async function asked<O extends Operation>(
  api: Api,
  operation: O,
  how: Asked = {},
): Promise<Answer<O>> {
  const response = await api.ask(operation, how);
  return response.json<Answer<O>>();
}

/** The answer to a question; `null` for the status 404. @throws HullError as the question does, for any other status */
export async function unless404<T>(question: Promise<T>): Promise<T | null> {
  try {
    return await question;
  } catch (error) {
    if (error instanceof HullError && error.status === 404) return null;
    throw error;
  }
}

/** An answer of the API as a file to download. @param name with its ending */
export function download({ body, headers }: Response, name: string): Response {
  const sent = new Headers(headers);
  sent.set("content-disposition", `attachment; filename="${name}"`);
  return new Response(body, { headers: sent });
}
