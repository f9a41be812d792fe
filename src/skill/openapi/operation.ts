/** What the tables of fixed routes are made of. */
import type { Json, JsonObject } from "../manifest.ts";
import { ref } from "./parts.ts";

export interface Operation {
  id: string;
  tag: "skills" | "files" | "spending" | "operation" | "publishing";
  summary: string;
  scope: "open" | "invoke" | "publish" | "admin";
  parameters?: JsonObject[];
  body?: JsonObject;
  answers: { [status: string]: JsonObject };
  /** Statuses beside those that every route with a key has. */
  faults?: number[];
}

/** Operations by path and method. */
export type Operations = { [path: string]: { [method: string]: Operation } };

export const json = (schema: Json): JsonObject => ({ "application/json": { schema } });
export const schema = (name: string): JsonObject => ref("schemas", name);
