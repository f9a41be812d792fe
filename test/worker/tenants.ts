/** Two tenants of one deployment, and their uploaded files. */
import { runInDurableObject } from "cloudflare:test";
import { expect } from "vitest";
import type { FileDocument } from "../../src/run/answers.ts";
import { RUNNER_URL } from "./fake-runner.ts";
import { Client } from "./served.ts";

const ADMIN = "hull-admin-canary-0123456789";
export const MAX_BODY_BYTES = 20_000_000;
export const MB = 1024 * 1024;
export const utf8 = (text: string): Uint8Array<ArrayBuffer> => new Uint8Array(new TextEncoder().encode(text));

export interface Sent {
  method?: string;
  body?: BodyInit | null;
  headers?: Record<string, string>;
  /** Default: the first one. */
  tenant?: string;
}

export class Tenants {
  readonly client = new Client({
    HULL_ADMIN_KEY: ADMIN,
    HULL_CONFIG: JSON.stringify({ rate_limit: null, max_body_bytes: MAX_BODY_BYTES }),
    HULL_RUNNER_URL: RUNNER_URL,
    HULL_RUNNER_SECRET: "s".repeat(32),
  });
  readonly #keys = new Map<string, string>();

  /** Makes a key for each of them. */
  async begin(...names: string[]): Promise<void> {
    for (const tenant of names) {
      const made = await this.client.fetch("/admin/keys", {
        method: "POST",
        headers: { authorization: `Bearer ${ADMIN}` },
        body: JSON.stringify({ tenant, scopes: ["invoke"] }),
      });
      this.#keys.set(tenant, (await made.json<{ key: string }>()).key);
    }
  }

  call(path: string, { tenant = "acme", headers, ...init }: Sent = {}): Promise<Response> {
    const authorization = `Bearer ${this.#keys.get(tenant)}`;
    return this.client.fetch(path, { ...init, headers: { authorization, ...headers } });
  }

  async uploaded(body: BodyInit, mime: string, filename = ""): Promise<FileDocument> {
    const path = `/files?filename=${encodeURIComponent(filename)}`;
    const response = await this.call(path, { method: "POST", body, headers: { "content-type": mime } });
    expect(response.status).toBe(201);
    return response.json();
  }

  index(tenant: string) {
    return this.client.env.FILE_INDEX.get(this.client.env.FILE_INDEX.idFromName(tenant));
  }

  /** The keys that a tenant's index contains, sorted. */
  noted(tenant: string): Promise<string[]> {
    return runInDurableObject(this.index(tenant), (_, state) =>
      state.storage.sql
        .exec<{ key: string }>("SELECT key FROM kept ORDER BY key")
        .toArray()
        .map(({ key }) => key),
    );
  }

  /** Keys in R2, sorted. */
  async stored(prefix: string): Promise<string[]> {
    return (await this.client.env.FILES.list({ prefix })).objects.map(({ key }) => key);
  }
}

/** The problem document of an answer, which must have its status. */
export async function problem(response: Response): Promise<Record<string, unknown>> {
  const document = await response.json<Record<string, unknown>>();
  expect(document.status).toBe(response.status);
  return document;
}

/** Bytes of which no two stretches are the same. */
export function noise(size: number): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(size);
  for (let at = 0, x = 7; at < size; at += 1) {
    x = (x * 1103515245 + 12345) & 0x7fffffff;
    bytes[at] = x >>> 16;
  }
  return bytes;
}

/** A body of undeclared length. */
export function chunked(bytes: Uint8Array): ReadableStream<Uint8Array> {
  let at = 0;
  return new ReadableStream({
    pull(controller) {
      if (at >= bytes.length) return controller.close();
      controller.enqueue(bytes.slice(at, at + 100_000));
      at += 100_000;
    },
  });
}
