/** Alarms of objects whose tables cannot be read. */
import { deploymentOf } from "../deployment.ts";
import type { Bindings } from "../env.ts";
import { StorageUnreadable } from "../errors.ts";
import { logFault } from "../log.ts";

/** When such an alarm comes again, in ms. A rollback may last for days, and each alarm costs a request. */
const AGAIN_MS = 10 * 60_000;

/**
 * Handles an alarm. The platform drops an alarm whose handler fails repeatedly, so an alarm of tables that a later version
 * of Hull made is set again: it is the later version's, and perhaps nothing else ever wakes the object.
 */
export async function keepingAlarm(
  { storage, id }: DurableObjectState,
  env: Bindings,
  handle: () => Promise<void> | void,
): Promise<void> {
  try {
    await handle();
  } catch (error) {
    if (!StorageUnreadable.matches(error)) throw error;
    await storage.setAlarm(Date.now() + AGAIN_MS);
    const line = { event: "alarm_put_off", object: id.toString(), code: error.code };
    logFault(deploymentOf(env).settings.eventRedactor, line);
  }
}
