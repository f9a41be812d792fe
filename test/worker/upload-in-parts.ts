/** Workers that die while they store a body in parts. */
import { runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { expect } from "vitest";
import type { Client } from "./served.ts";

/** From now on, the Worker dies after the first part of a body: it does nothing more in R2. Returns what it began. */
export function killInParts({ env }: Client): R2MultipartUpload[] {
  const { FILES } = env;
  const begun: R2MultipartUpload[] = [];
  const dead = () => Promise.reject(new TypeError("dead"));
  env.FILES = Object.create(FILES, {
    createMultipartUpload: {
      value: async (...of: Parameters<R2Bucket["createMultipartUpload"]>) => {
        const upload = await FILES.createMultipartUpload(...of);
        begun.push(upload);
        const uploadPart = async (...part: Parameters<R2MultipartUpload["uploadPart"]>) => {
          await upload.uploadPart(...part);
          env.FILES = FILES;
          throw new TypeError("killed");
        };
        return { key: upload.key, uploadId: upload.uploadId, uploadPart, abort: dead };
      },
    },
  });
  return begun;
}

/** A day later, the tenant's index removes what nothing else knows. */
export async function expireKept({ env }: Client, tenant: string): Promise<void> {
  const index = env.FILE_INDEX.get(env.FILE_INDEX.idFromName(tenant));
  // An object's clock cannot be set.
  await runInDurableObject(index, (_, { storage }) => {
    storage.sql.exec("UPDATE kept SET expires_at = 1");
  });
  await runDurableObjectAlarm(index);
}

/** A day later, the tenant's index removes what was begun. */
export async function expectRemoved(
  client: Client,
  tenant: string,
  begun: readonly R2MultipartUpload[],
): Promise<void> {
  await expireKept(client, tenant);
  expect(begun).toHaveLength(1);
  for (const upload of begun) await expect(upload.uploadPart(2, "x")).rejects.toThrow();
}
