/**
 * The answers of the API operations that the console's pages call. Types only, because the handlers run in the same
 * process.
 */
import type { Routes } from "../../typed/client/api.d.ts";
import type { FIXED_ROUTES, OperationId } from "../skill/fixed-routes.ts";

/** A route's path as its declaration for clients has it. */
type Declared<Path extends string> = Path extends `${infer Before}:${infer Name}/${infer After}`
  ? `${Before}{${Name}}/${Declared<After>}`
  : Path extends `${infer Before}:${infer Name}`
    ? `${Before}{${Name}}`
    : Path;
type RouteOf<Id> = Extract<(typeof FIXED_ROUTES)[number], readonly [Id, ...unknown[]]>;

/** What an operation answers. */
export type Answer<Id extends OperationId> =
  RouteOf<Id> extends readonly [string, infer Method extends string, infer Path extends string, ...unknown[]]
    ? `${Method} ${Declared<Path>}` extends infer Route extends keyof Routes
      ? Routes[Route]["answer"]
      : { paths: Record<string, Record<string, unknown>> }
    : never;
