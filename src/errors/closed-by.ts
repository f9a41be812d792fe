import { HullError } from "../errors.ts";
import { ClientClosedRequest } from "./run.ts";

/** The error of work whose signal was aborted for this reason. If Hull gave none, the client has left. */
export const closedBy = (reason: unknown): HullError =>
  reason instanceof HullError ? reason : new ClientClosedRequest({});
