/** Reads JSON bodies in the vendors' shapes. */
import * as z from "zod/mini";
import { readShape } from "../../llm/members.ts";
import { isObject } from "../../skill/json.ts";
import type { JsonObject } from "../../skill/manifest.ts";
import { readJson, readJsonIfAny } from "../body.ts";
import type { RequestContext } from "../context.ts";
import { MAX_MODEL_BODY_BYTES } from "../operations.ts";

/** A body whose members another reader reads. */
export const anyObject = z.lazy(() => z.custom<JsonObject>(isObject, "must be an object"));

/** @throws InvalidRequest for the first fault, what `readJson` throws */
export async function vendorBody<T>({ request }: RequestContext, shape: z.ZodMiniType<T>): Promise<T> {
  return readShape(shape, await readJson(request, anyObject, MAX_MODEL_BODY_BYTES));
}

/** The same for an optional body: an empty one is `{}`. */
export async function vendorBodyIfAny<T>({ request }: RequestContext, shape: z.ZodMiniType<T>): Promise<T> {
  return readShape(shape, await readJsonIfAny(request, anyObject, MAX_MODEL_BODY_BYTES));
}
