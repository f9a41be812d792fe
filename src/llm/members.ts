/** Members of a request in a vendor's shape, read by their type. */
import type { Json } from "../skill/manifest.ts";
import { wrong } from "./wrong.ts";

/** The member under its name, or nothing if it was not given. @throws InvalidRequest */
export function numberMember<N extends string>(name: N, value: Json | undefined): { [name in N]?: number } {
  const members: { [name in N]?: number } = {};
  if (value === undefined || value === null) return members;
  if (typeof value !== "number") throw wrong(name, "a number is expected");
  members[name] = value;
  return members;
}

/** A text, or a list of texts; empty if it was not given. @throws InvalidRequest */
export function textsMember(name: string, value: Json | undefined): string[] {
  if (value === undefined || value === null) return [];
  const list = Array.isArray(value) ? value : [value];
  return list.map((item) => {
    if (typeof item === "string") return item;
    throw wrong(name, "a text or a list of texts is expected");
  });
}

/** The name of the model. @throws InvalidRequest */
export function modelMember(value: Json | undefined): string {
  if (typeof value === "string" && value !== "") return value;
  throw wrong("model", "the name of a model is required");
}

/** A limit of output tokens. @throws InvalidRequest */
export function tokensMember(name: string, value: Json | undefined): number {
  if (typeof value === "number" && Number.isInteger(value) && value > 0) return value;
  throw wrong(name, "a whole number above 0 is required");
}
