/** What the registry knows of a skill's versions, as the API shows it: a shape, of which the Worker uses only the type. */
import * as z from "zod/mini";
import { about, digest, flag, time } from "../answer-shape.ts";

export type Version = z.infer<typeof versionShape>;
export const versionShape = z.object({
  digest: digest(),
  published_at: about(
    z.nullable(time()),
    "`null`: of a catalog that a deployment pins and that was never published.",
  ),
  current: about(flag(), "Whether this version is served."),
});
