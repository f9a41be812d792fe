import { DurableObject } from "cloudflare:workers";
import type { Bindings } from "../env.ts";

/** One tenant's budgets and rate limits, exact (design.md §1). */
export class LedgerObject extends DurableObject<Bindings> {}
