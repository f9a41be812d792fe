/** One operation on transcripts: the fields of its body, and its result. */
import * as z from "zod/mini";
import { withoutNullMembers } from "../../skill/json.ts";
import type { JsonObject } from "../../skill/manifest.ts";
import type { LlmHost } from "../host.ts";
import type { CallInput } from "../prepare.ts";
import type { LlmResult } from "../result.ts";
import type { IdSource } from "../transcript.ts";
import { checkCallOptions, readFields } from "./read-body.ts";

type Fields = Record<string, z.core.$ZodType>;

export interface Operation {
  /** The members of its body; without `calls` there are no others. */
  fields(): Fields;
  /** It may ask a model: members that are not its fields are options of that call. */
  calls: boolean;
  /** Returns the bare result. @throws InputInvalid */
  perform(given: JsonObject, deps: OperationDeps): Promise<unknown>;
}

/** Options of a call that contain a conversation: the operation writes that itself. */
const CONVERSATIONS = ["session_id", "prefill"];

/** @param run gets the body's own members, and the options of a call */
export function operation<F extends Fields>(
  fields: () => F,
  run: (body: z.infer<z.ZodMiniObject<F, z.core.$strip>>, deps: OperationDeps, call: JsonObject) => unknown,
  { calls = false } = {},
): Operation {
  return {
    fields,
    calls,
    async perform(given, deps) {
      const shape = fields();
      const names = Object.keys(shape);
      const entries = Object.entries(withoutNullMembers(given));
      const isOwn = (name: string): boolean => !calls || names.includes(name) || CONVERSATIONS.includes(name);
      const own = Object.fromEntries(entries.filter(([name]) => isOwn(name)));
      const call = Object.fromEntries(entries.filter(([name]) => !isOwn(name)));
      const body = readFields(own, z.object(shape), names);
      if (Object.keys(call).length > 0) checkCallOptions(call, names, await deps.host());
      return run(body, deps, call);
    },
  };
}

export interface OperationDeps {
  ids: IdSource;
  /** Called only if a model's name is needed. */
  host(): Promise<LlmHost>;
  /** Calls a model. */
  call(input: CallInput): Promise<LlmResult>;
}
