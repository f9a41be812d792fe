/** Objects of a publish on their way to a deployment. */
import { expect, test } from "vitest";
import { batches, type RegistryObject } from "../../../scripts/publish/objects.ts";

test.each([
  ["small ones by their number, which limits the calls of KV", 1200, 10, [500, 500, 200]],
  ["large ones by their bytes", 5, 60, [1, 1, 1, 1, 1]],
])("are sent in groups: %s", async (_, count, size, groups) => {
  async function* objects(): AsyncGenerator<RegistryObject> {
    for (let i = 0; i < count; i++) yield { name: `pack/${i}`, bytes: new Uint8Array(size) };
  }
  const found = await Array.fromAsync(batches(objects(), size === 60 ? 100 : 1_000_000));
  expect(found.map(({ length }) => length)).toEqual(groups);
});
