/** The members that a caller adds to the request body for one provider. */
import { objectOf } from "../skill/json.ts";
import type { JsonObject } from "../skill/manifest.ts";
import type { ProtocolName } from "./protocols.ts";

/** The parts of a target that decide where a member goes. */
interface Addressed {
  protocol: ProtocolName;
  variant?: "openrouter" | "ollama" | undefined;
}

/** The body with these members, which win. For Ollama `num_ctx` goes into `options`, which are merged. */
export function withExtra(body: object, extra: JsonObject | undefined, target: Addressed): object {
  if (extra === undefined) return body;
  if (target.variant !== "ollama" && target.protocol !== "ollama") return { ...body, ...extra };
  const { num_ctx, options, ...rest } = extra;
  const own = "options" in body ? objectOf(body.options) : {};
  const merged = {
    ...own,
    ...objectOf(options),
    ...(num_ctx === undefined ? {} : { num_ctx }),
  };
  return { ...body, ...rest, ...(Object.keys(merged).length === 0 ? {} : { options: merged }) };
}
