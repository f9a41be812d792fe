import { DurableObject } from "cloudflare:workers";
import type { Bindings } from "../env.ts";

/** One idempotent or asynchronous call with its events and result (design.md §1). */
export class ExecutionObject extends DurableObject<Bindings> {}
