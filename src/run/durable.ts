/**
 * What lets a run outlive its process: the part that an object keeps. Every method has stored its values when it
 * returns.
 */

import type { Artifact } from "../engine/artifact.ts";
import type { Json } from "../skill/manifest.ts";
import type { KnownExecutions } from "../tool/runner-client.ts";
import type { RunLog } from "./agent/run-log.ts";
import type { RunEvent } from "./events.ts";
import type { WorkspaceAccess } from "./workspace/access.ts";

export interface Durable extends KnownExecutions {
  /** Includes the records of earlier run attempts. */
  readonly log: RunLog;
  /** The last version of an artifact that the run made; `null`: there is none. */
  artifact(id: string): Artifact | null;
  /** The value that an earlier run attempt kept with `remember`; `null`: none. */
  readonly memo: Json;
  /** Stores a value for later run attempts, replacing the previous one. */
  remember(value: Json): void;
  /** All events sent so far, including those of earlier run attempts. */
  sentEvents(): RunEvent[];
  /** Files of the run. Its later run attempts find them unchanged. */
  workspace(): WorkspaceAccess;
}
