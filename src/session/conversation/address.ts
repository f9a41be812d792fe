/** Where a session is: its object, and its files in R2. */
import type { Bindings } from "../../env.ts";

/** What a session's id may be. */
export const SESSION_ID = /^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$/;

/** The object of a session. Another tenant's session of the same id is another object. */
export function sessionObject({ SESSIONS }: Bindings, tenant: string, id: string) {
  return SESSIONS.get(SESSIONS.idFromName(`${tenant}/${id}`));
}

/** Everything that R2 holds of a session is below this. */
export function sessionPrefix(tenant: string, id: string): string {
  return `sessions/${tenant}/${id}/`;
}

/** Removes what R2 holds of a session. */
export async function clearFiles({ FILES }: Bindings, tenant: string, id: string): Promise<void> {
  const prefix = sessionPrefix(tenant, id);
  for (;;) {
    const { objects, truncated } = await FILES.list({ prefix });
    if (objects.length > 0) await FILES.delete(objects.map(({ key }) => key));
    if (!truncated) return;
  }
}
