/** The R2 objects of a session. */
import type { Bindings } from "../../env.ts";

/** Prefix of the keys of a session's R2 objects. */
export function sessionPrefix(tenant: string, id: string): string {
  return `sessions/${tenant}/${id}/`;
}

export async function clearFiles({ FILES }: Bindings, tenant: string, id: string): Promise<void> {
  const prefix = sessionPrefix(tenant, id);
  for (;;) {
    const { objects, truncated } = await FILES.list({ prefix });
    if (objects.length > 0) await FILES.delete(objects.map(({ key }) => key));
    if (!truncated) return;
  }
}
