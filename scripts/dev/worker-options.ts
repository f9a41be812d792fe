/** The options with which the local Worker starts, and the started Worker. */
import type { WranglerConfig } from "./wrangler-toml.ts";

export interface WorkerOptions {
  /** Where wrangler.toml and the sources are. */
  repoDir: string;
  /** The content of wrangler.toml. */
  config: WranglerConfig;
  host: string;
  port: number;
  /** Folder of the persistent state. */
  stateDir: string;
  variables: ReadonlyMap<string, string>;
  onLine: (line: string) => void;
}

/**
 * The shape of the first line, which `startWorker` of the same code writes. Checking it with zod would take longer than
 * the rest.
 */
export interface WorkerInput extends Omit<WorkerOptions, "variables" | "onLine"> {
  /** A folder with the Worker's modules, for workerd; `null`: wrangler bundles and serves them. */
  bundle: string | null;
  variables: [name: string, value: string][];
}

/** A Worker that serves. */
export interface StartedWorker {
  url: string;
  /** Calls its `scheduled` handler, as the cron trigger does in a deployment. */
  scheduled: (cron: string) => Promise<unknown>;
  stop: () => Promise<void>;
}
