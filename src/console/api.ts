/** What the console's pages are made from: the API, asked as whoever looks at them, in the same process. */
import type * as z from "zod/mini";
import type { HullError } from "../errors.ts";
import type { OperationId } from "../skill/fixed-routes.ts";

/** What an operation is asked with. */
export interface Asked {
  /** Of the path. */
  params?: Record<string, string>;
  /** Empty values are left out. */
  query?: Record<string, string | null>;
  /** Sent as JSON. */
  json?: unknown;
  body?: BodyInit;
  headers?: Record<string, string>;
}

/** The API on behalf of one request for a page: the caller's key, scopes and tenant count as they do for the API's own routes. */
export interface Api {
  readonly request: Request;
  readonly url: URL;
  /** The deployment's, as its settings have it. */
  readonly name: string;
  readonly tenant: string;
  /** Whether the caller's key has this scope; what it has not is not offered. */
  may(scope: "invoke" | "publish" | "admin"): boolean;
  /** What forms carry, so that no page of another origin can send them; empty where no cookie says who calls. */
  readonly token: string;
  /** Whether the caller signed in with a form, and can sign out. */
  readonly signedIn: boolean;
  /** Asks an operation. @throws HullError as the operation does, Forbidden for a scope that the key lacks */
  ask(operation: OperationId, asked?: Asked): Promise<Response>;
  /** Calls a skill by its slug. @throws HullError */
  callSkill(slug: string, asked: Asked): Promise<Response>;
  /** How many of the tenant's runs wait for an approval. */
  waiting(): Promise<number>;
  /** The fields of the form that was sent. @throws HullError for a form that cannot be read, or is not the console's own */
  form(): Promise<FormData>;
  /** Logs an error and answers its problem document. */
  problem(error: HullError): {
    status: number;
    title: string;
    detail: string;
    code: string;
    request_id: string;
  };
}

/** The JSON answer of an operation. @throws HullError, and what the shape refuses */
export async function asked<T extends z.ZodMiniType>(
  api: Api,
  shape: T,
  operation: OperationId,
  how: Asked = {},
): Promise<z.infer<T>> {
  const response = await api.ask(operation, how);
  return shape.parse(await response.json());
}
