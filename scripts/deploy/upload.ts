/**
 * Brings objects to the store of a deployment through wrangler (serving.md §1): before there is a Worker, and past the
 * one that is there, which may be too old to know them.
 */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { MAX_KV_BYTES } from "../../src/registry/schema.ts";
import { batches, type RegistryObject } from "../publish/objects.ts";
import type { Namespace } from "./account.ts";
import type { WorkerConfig } from "./worker-config.ts";
import type { Wrangler } from "./wrangler.ts";

/** Bytes of one bulk write; Cloudflare takes 100 MB, and Base64 adds a third. */
const BATCH_BYTES = 32 * 1024 * 1024;

const keyOf = ({ name }: RegistryObject): string => name.replace("/", ":");

/** Stores what is missing; answers how many objects that were. */
export async function uploadObjects(
  wrangler: Wrangler,
  objects: readonly RegistryObject[],
  { namespace, config, file }: { namespace: Namespace; config: WorkerConfig; file: string },
): Promise<number> {
  const purpose = {
    what: "The skills could not be stored",
    hint: "Run `hull deploy` again: it goes on from there.",
  };
  const missing = objects.filter((object) => !namespace.keys.has(keyOf(object)));
  const small = missing.filter(({ bytes }) => bytes.length <= MAX_KV_BYTES);
  const large = missing.filter(({ bytes }) => bytes.length > MAX_KV_BYTES);
  const [{ bucket_name }] = config.r2_buckets;
  const dir = await mkdtemp(join(tmpdir(), "hull-deploy-"));
  try {
    const path = join(dir, "objects");
    for (const object of large) {
      await writeFile(path, object.bytes);
      const target = `${bucket_name}/${keyOf(object)}`;
      await wrangler.ask(
        ["r2", "object", "put", target, "--file", path, "--remote", "--config", file],
        purpose,
      );
    }
    for (const batch of batches(small, BATCH_BYTES)) {
      const entries = batch.map((object) => ({
        key: keyOf(object),
        value: Buffer.from(object.bytes).toString("base64"),
        base64: true,
      }));
      await writeFile(path, JSON.stringify(entries));
      await wrangler.ask(
        ["kv", "bulk", "put", path, ...namespace.flags, "--remote", "--config", file],
        purpose,
      );
    }
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
  return missing.length;
}
