/** Reads JSON bodies in the vendors' shapes. */
import type * as z from "zod/mini";
import { readShape } from "../../llm/members.ts";
import type { RequestContext } from "../context.ts";
import { objectBody, objectBodyIfAny } from "../operations.ts";

/** @throws InvalidRequest for the first fault, what `readJson` throws */
export const vendorBody = async <T>(context: RequestContext, shape: z.ZodMiniType<T>): Promise<T> =>
  readShape(shape, await objectBody(context));

/** The same for an optional body. */
export const vendorBodyIfAny = async <T>(context: RequestContext, shape: z.ZodMiniType<T>): Promise<T> =>
  readShape(shape, await objectBodyIfAny(context));
