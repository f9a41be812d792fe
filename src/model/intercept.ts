/** What stands between a call and its provider, at each attempt: mocks. */
import type { ModelRequest } from "../engine/messages.ts";
import type { Attempt } from "./attempts.ts";
import type { Outcome } from "./exchange.ts";
import type { ResolvedTarget } from "./providers.ts";

type Answered = Outcome | null | Promise<Outcome | null>;

export interface Intercept {
  /** What answers this attempt; `null`: the target is asked. */
  call(request: ModelRequest, target: ResolvedTarget, attempt: Attempt): Answered;
}
