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

/** What an operation answers. Only the document of the API has no declaration there. */
export type Answer<Id extends OperationId> = Id extends "openapi"
  ? { paths: Record<string, Record<string, unknown>> }
  : RouteOf<Id> extends readonly [
        string,
        infer Method extends string,
        infer Path extends string,
        ...unknown[],
      ]
    ? `${Method} ${Declared<Path>}` extends infer Route extends keyof Routes
      ? Routes[Route]["answer"]
      : unknown
    : never;
