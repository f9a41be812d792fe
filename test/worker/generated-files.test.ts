/** The files that an answer of /v1 holds itself, up to the limit that docs/messages-api.md names. */
import { expect, test } from "vitest";
import { withBytes } from "../../src/http/v1/agent-chat.ts";
import { MOST_INCLUDED_BYTES } from "../../src/llm/vendor-limits.ts";

const HALF = MOST_INCLUDED_BYTES / 2;

test("files that together are larger than the limit come without their bytes, smaller ones after them with", async () => {
  const sizes = { "half.bin": HALF, "more.bin": HALF + 1, "rest.bin": HALF, "one.bin": 1, "none.bin": 0 };
  const files = Object.entries(sizes).map(([filename, size_bytes]) => ({
    file_id: `file_${filename}`,
    filename,
    mime_type: "application/octet-stream",
    size_bytes,
  }));
  const read: string[] = [];
  const container = {
    async read({ filename, size_bytes }: { filename: string; size_bytes: number }) {
      read.push(filename);
      return new Uint8Array(size_bytes);
    },
  };
  const shown = await withBytes(container, files);
  expect(read).toEqual(["half.bin", "rest.bin", "none.bin"]);
  expect(shown).toMatchObject([
    { name: "half.bin", size: HALF },
    { name: "more.bin", size: HALF + 1, content_base64: null },
    { name: "rest.bin", size: HALF },
    { name: "one.bin", size: 1, content_base64: null },
    { name: "none.bin", size: 0, content_base64: "" },
  ]);
});
