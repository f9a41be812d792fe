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
  /** Includes the records of earlier lives. */
  readonly log: RunLog;
  /** The last version of an artifact that the run made; `null`: there is none. */
  artifact(id: string): Artifact | null;
  /** The value that an earlier life kept with `remember`; `null`: none. */
  readonly memo: Json;
  /** Keeps a value for later lives and replaces the one before. */
  remember(value: Json): void;
  /** All events sent so far, including those of earlier lives. */
  sentEvents(): RunEvent[];
  /** Files of the run. Its later lives find them unchanged. */
  workspace(): WorkspaceAccess;
}
