/**
 * Requests of the API's routes, which its declarations type. The calls of the client and those of the command line come
 * from here.
 */
import type { Routes } from "../../typed/client/api.d.ts";

/** A route of the API, `METHOD /path`, which the API's declarations describe. */
export type Route = keyof Routes;
/** What names the call in the path, and its query and JSON. */
export type Takes<R extends Route> = Routes[R]["takes"];
/** The same for a caller that has these parameters of the path already. */
export type TakesBelow<R extends Route, Known extends string> = Omit<Takes<R>, "path"> &
  (Takes<R> extends { path: infer P }
    ? keyof P extends Known
      ? { path?: never }
      : { path: Omit<P, Known> }
    : { path?: never });
export type Answer<R extends Route> = Routes[R]["answer"];
/** The parameters of its query. */
export type Query<R extends Route> = Takes<R> extends { query?: infer Q } ? NonNullable<Q> : never;
/** The same of a list, without those that choose its pages. */
export type Filter<R extends Route> = Omit<Query<R>, "limit" | "cursor">;
/** Its JSON. */
export type Json<R extends Route> = Takes<R> extends { json?: infer J } ? NonNullable<J> : never;
/** An item of the list that it answers with. */
export type Item<R extends Route> = Answer<R> extends { data: (infer I)[] } ? I : never;
/** Routes whose declaration has a member with this value. */
type RouteWith<Member> = { [R in Route]: Routes[R] extends Member ? R : never }[Route];
/** Routes that take an `Idempotency-Key`. */
export type KeyedRoute = RouteWith<{ keyed: true }>;
/** Routes that answer 202 if the run continues. */
export type LaterRoute = RouteWith<{ keyed: true; later: object }>;
/** Routes that answer with a page of a list. */
export type ListRoute = RouteWith<{ answer: { data: unknown[]; next_cursor: string | null } }>;

/** A page of a list. */
export interface Page<Item> {
  data: Item[];
  next_cursor: string | null;
}

export interface RouteRequest {
  method: string;
  path: string;
  /** Members that are `undefined` are left out. */
  query?: Readonly<Record<string, string | number | boolean | undefined>> | undefined;
  /** Sent as JSON. */
  json?: unknown;
}

/** What a route takes, untyped. */
interface RouteInput extends Pick<RouteRequest, "query" | "json"> {
  path?: { readonly [name: string]: string };
}

/** The request of a route. */
export function requestOf(route: Route, { path = {}, query, json }: RouteInput): RouteRequest {
  const [method = "", template = ""] = route.split(" ");
  const named = template.replace(/\{(\w+)\}/g, (_, name: string) => segments(name, path[name] ?? ""));
  return { method, path: named, query, json };
}

/** A value of a path; `path` itself has several segments. */
const segments = (name: string, value: string): string =>
  name === "path" ? value.split("/").map(encodeURIComponent).join("/") : encodeURIComponent(value);

/**
 * Whether a path names another resource than its parts say, or none: `fetch` resolves `.` and `..`, reads `\` as `/`, and
 * takes what does not begin with `/` for a part of the host.
 */
export const namesAnother = (path: string): boolean =>
  /^(?!\/)|^[^?#]*[/\\](?:(?:\.|%2e){1,2}(?=[/\\?#]|$)|[/\\])/i.test(path) ||
  /^[^?#]+[/\\](?=[?#]|$)/.test(path);

export function queryText(query: RouteRequest["query"] = {}): string {
  const pairs = Object.entries(query).flatMap(([name, value]): [string, string][] =>
    value === undefined ? [] : [[name, String(value)]],
  );
  return pairs.length === 0 ? "" : `?${new URLSearchParams(pairs)}`;
}
