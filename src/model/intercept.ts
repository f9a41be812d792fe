/** Code between a call and its provider at each attempt: mocks. */
import type { ModelRequest } from "../engine/messages.ts";
import type { Attempt } from "./attempts.ts";
import type { Outcome } from "./exchange.ts";
import type { ResolvedTarget } from "./providers.ts";

type Answered = Outcome | null | Promise<Outcome | null>;

export interface Intercept {
  /** Answers this attempt; `null`: ask the target. */
  call(request: ModelRequest, target: ResolvedTarget, attempt: Attempt): Answered;
}
