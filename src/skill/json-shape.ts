/** Shapes of JSON that other code reads further. They copy nothing. */
import * as z from "zod/mini";
import { isObject } from "./json.ts";
import type { Json, JsonObject } from "./manifest.ts";

/** An object with any members. */
export const jsonObject = () => z.custom<JsonObject>(isObject, "must be an object");

/** Any value that is there. */
export const anyJson = (message?: string) => z.custom<Json>((value) => value !== undefined, message);
