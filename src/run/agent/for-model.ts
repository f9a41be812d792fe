import { ClientClosedRequest } from "../../errors/run.ts";
import { HullError } from "../../errors.ts";

/**
 * Whether the error becomes the call's result. Not if the client has left, which the runner may notice before this
 * Worker does: the run ends, since nobody waits for the model's answer.
 */
export const isForModel = (error: unknown): error is HullError =>
  error instanceof HullError && !(error instanceof ClientClosedRequest);
