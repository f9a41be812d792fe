import { DurableObject } from "cloudflare:workers";
import type { Bindings } from "../env.ts";

/** One conversation or daemon (design.md §1). Its storage schema begins with the first session. */
export class SessionObject extends DurableObject<Bindings> {}
