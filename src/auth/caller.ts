/** Who makes a request. */
import { PUBLIC_TENANT } from "../env.ts";
import { type ApiKey, DEFAULT_TENANT, SCOPES, type Scope } from "./api-key.ts";

export interface Caller {
  /** The caller's tenant; the caller sees nothing of other tenants. */
  tenant: string;
  /** `null`: the request needed no key. */
  key_id: string | null;
  scopes: readonly Scope[];
  /** Whether the caller may manage the keys of every tenant: the holder of `HULL_ADMIN_KEY`, and local dev without keys. */
  operator: boolean;
}

/** Local dev without a configured key. */
export const LOCAL_CALLER: Caller = { tenant: DEFAULT_TENANT, key_id: null, scopes: SCOPES, operator: true };

/** Any caller of a public deployment. */
export const PUBLIC_CALLER: Caller = {
  tenant: PUBLIC_TENANT,
  key_id: null,
  scopes: ["invoke"],
  operator: false,
};

/** The holder of `HULL_ADMIN_KEY`. */
export const ADMIN_CALLER: Caller = {
  tenant: DEFAULT_TENANT,
  key_id: "key_admin",
  scopes: SCOPES,
  operator: true,
};

export function callerOf({ id, tenant, scopes }: ApiKey): Caller {
  return { tenant, key_id: id, scopes, operator: false };
}
