/**
 * The parts of the shapes of answers and events. The types of answers, their schemas in the OpenAPI document and the
 * client's types come from such shapes. The Worker uses only the types: a module that it loads makes such shapes in
 * functions, which the bundler leaves out.
 */
import * as z from "zod/mini";
import { isObject } from "./skill/json.ts";
import type { Json, JsonObject } from "./skill/manifest.ts";

/** What a function's shape describes. */
export type Shaped<Make extends () => z.core.$ZodType> = z.infer<ReturnType<Make>>;

export const maybe = z.exactOptional;

/** The shape with what its value means. */
export function about<T extends z.core.$ZodType>(shape: T, description: string): T {
  z.globalRegistry.add(shape, { ...z.globalRegistry.get(shape), description });
  return shape;
}

/** The shape as a schema of its own in the OpenAPI document, to which other shapes refer. */
export function named<T extends z.core.$ZodType>(schema: string, shape: T): T {
  z.globalRegistry.add(shape, { ...z.globalRegistry.get(shape), schema });
  return shape;
}

export const text = () => z.string();
export const texts = () => z.array(z.string());
export const flag = () => z.boolean();
export const count = () => z.int().check(z.nonnegative());
/** Counted from 1. */
export const ordinal = () => z.int().check(z.minimum(1));
/** May be negative: a cache can cost more than it saves. */
export const usd = () => z.number();
/** RFC 3339. */
export const time = () => z.iso.datetime();
/** SHA-256 in hex. */
export const digest = () => named("Digest", z.string().check(z.regex(/^[0-9a-f]{64}$/)));
export const json = () => z.custom<Json>();
export const object = <T = JsonObject>() => z.custom<T>(isObject);
export const objects = () => z.array(object());
/** A document that Hull passes on unchanged. @param schema describes it in the OpenAPI document */
export const document = <T = JsonObject>(schema: string) => named(schema, z.custom<T>(isObject));
