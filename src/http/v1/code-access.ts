/** Who may run code of their choice: callers with a key. A public deployment runs only its skills for everybody. */
import { PUBLIC_CALLER } from "../../auth/caller.ts";
import type { ContainerParams } from "../../llm/container-params.ts";
import { wrong } from "../../llm/members.ts";
import type { RequestContext } from "../context.ts";

/**
 * @throws InvalidRequest if a caller without a key asks for code execution, or for a whole skill, which may contain code
 */
export function checkCodeAccess(
  { caller }: RequestContext,
  { code, container }: { code: readonly string[]; container: ContainerParams | null },
): void {
  if (caller !== PUBLIC_CALLER) return;
  if (code.length > 0) throw wrong("tools", "code runs for callers with a key");
  const whole = container?.skills.find(({ full }) => full);
  if (whole !== undefined)
    throw wrong(whole.path, "whole skills, which may bring code, are for callers with a key");
}
