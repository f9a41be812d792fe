/** Workflows and their runs as lists show them. */
import * as z from "zod/mini";

/** A workflow of a tenant, or of a skill: that has neither a version of its own nor a time. */
export type KnownWorkflow = z.infer<ReturnType<typeof knownWorkflow>>;
export const knownWorkflow = () =>
  z.object({
    name: z.string(),
    version: z.nullable(z.number()),
    digest: z.string(),
    created_at: z.nullable(z.string()),
  });

export type ListedRun = z.infer<ReturnType<typeof listedRun>>;
export const listedRun = () =>
  z.object({
    id: z.string(),
    workflow: z.string(),
    task: z.string(),
    status: z.string(),
    created_at: z.string(),
    finished_at: z.nullable(z.string()),
  });
