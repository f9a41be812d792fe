/**
 * Uploads objects to the store of a deployment through wrangler: before a Worker exists, and without an existing one,
 * which may be too old to know them.
 */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { MAX_KV_BYTES } from "../../src/registry/kv-limit.ts";
import { batches, missingObjects, type Publication } from "../publish/objects.ts";
import type { Namespace } from "./account.ts";
import type { WorkerConfig } from "./worker-config.ts";
import type { Wrangler } from "./wrangler.ts";

/** Bytes of one bulk write; Cloudflare accepts 100 MB, and Base64 adds a third. */
const BATCH_BYTES = 32 * 1024 * 1024;

const keyOf = (name: string): string => name.replace("/", ":");

/** Stores missing objects; returns their number. */
export async function uploadObjects(
  wrangler: Wrangler,
  publication: Publication,
  { namespace, config, file }: { namespace: Namespace; config: WorkerConfig; file: string },
): Promise<number> {
  const purpose = {
    what: "The skills could not be stored",
    hint: "Run `hull deploy` again: it continues from there.",
  };
  const dir = await mkdtemp(join(tmpdir(), "hull-deploy-"));
  const path = join(dir, "objects");
  const [{ bucket_name }] = config.r2_buckets;
  let sent = 0;
  const store = async (content: string | Uint8Array, args: readonly string[]): Promise<void> => {
    await writeFile(path, content);
    await wrangler.ask([...args, "--remote", "--config", file], purpose);
  };
  const missing = missingObjects(publication, (name) => namespace.keys.has(keyOf(name)));
  try {
    for await (const batch of batches(missing, BATCH_BYTES)) {
      const entries = [];
      for (const { name, bytes } of batch) {
        if (bytes.length > MAX_KV_BYTES) {
          await store(bytes, ["r2", "object", "put", `${bucket_name}/${keyOf(name)}`, "--file", path]);
        } else {
          const value = Buffer.from(bytes).toString("base64");
          entries.push({ key: keyOf(name), value, base64: true });
        }
      }
      if (entries.length > 0) {
        await store(JSON.stringify(entries), ["kv", "bulk", "put", path, ...namespace.flags]);
      }
      sent += batch.length;
    }
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
  return sent;
}
