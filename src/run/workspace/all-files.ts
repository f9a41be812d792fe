/** Lists a whole workspace. */
import { WORKSPACE_LIMITS } from "../../tool/workspace-path.ts";
import type { WorkspaceAccess, WorkspaceFile } from "./access.ts";

/** In the order of their paths. @param after only files whose paths come after this one */
export function allFiles(
  workspace: Pick<WorkspaceAccess, "listFiles">,
  after: string | null = null,
): Promise<WorkspaceFile[]> {
  return workspace.listFiles(after, WORKSPACE_LIMITS.files);
}
