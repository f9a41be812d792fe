/** Writes to KV. */
import type { Bindings } from "../env.ts";

/** The time in ms between two writes of a key that KV accepts. */
const WRITES_APART_MS = 1100;

/** Writes a value. KV refuses a second write of a key within a second, so a write that fails is repeated after that. */
export async function putValue({ SKILLS }: Bindings, key: string, value: string | Uint8Array): Promise<void> {
  try {
    await SKILLS.put(key, value);
  } catch {
    await new Promise((resolve) => setTimeout(resolve, WRITES_APART_MS));
    await SKILLS.put(key, value);
  }
}
