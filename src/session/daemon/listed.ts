/** A daemon as the list of a tenant's daemons shows it. */
import * as z from "zod/mini";

const DAEMON_STATUSES = ["running", "stopped", "failed"] as const;
export type DaemonStatus = (typeof DAEMON_STATUSES)[number];

export type ListedDaemon = z.infer<ReturnType<typeof listedDaemon>>;
export const listedDaemon = () =>
  z.object({
    id: z.string(),
    name: z.nullable(z.string()),
    status: z.enum(DAEMON_STATUSES),
    /** A folder of the workspace; `null`: a run of an ordinary session. */
    persist_path: z.nullable(z.string()),
    /** The skill that it runs, and that declares it if a skill does; `null`: it runs none. */
    skill: z.nullable(z.string()),
    /** RFC 3339. */
    created_at: z.string(),
  });
