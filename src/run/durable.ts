/** What lets a run outlive the process that carries it out: what an object keeps of it. Everything is stored when it returns. */

import type { Artifact } from "../engine/artifact.ts";
import type { Json } from "../skill/manifest.ts";
import type { KnownExecutions } from "../tool/runner-client.ts";
import type { RunLog } from "./agent/run-log.ts";
import type { RunEvent } from "./events.ts";
import type { WorkspaceAccess } from "./workspace/access.ts";

export interface Durable extends KnownExecutions {
  /** With what earlier lives recorded. */
  readonly log: RunLog;
  /** The last version of an artifact that the run made; `null`: there is none. */
  artifact(id: string): Artifact | null;
  /** What an earlier life left behind by `remember`; `null`: nothing. */
  readonly memo: Json;
  /** Keeps a value for later lives, in place of the one before. */
  remember(value: Json): void;
  /** All that was told so far, by earlier lives too. */
  told(): RunEvent[];
  /** Files of the run, which its later lives find as they are. */
  workspace(): WorkspaceAccess;
}
