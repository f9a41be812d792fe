/** The output of a process as events: all bytes arrive, however it cuts them, and no event splits a character. */

import { expect, test } from "vitest";
import { fromBase64 } from "../../../src/bytes.ts";
import { Redactor } from "../../../src/redact.ts";
import { DeltaText, type Piece } from "../../../src/run/delta.ts";
import { cutAt, join } from "../../support/chunks.ts";
import { fc } from "../../support/property.ts";

const cuts = fc.array(fc.nat(), { maxLength: 15 });
const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

/** The members of the events of these pieces. */
async function told(pieces: readonly Uint8Array[], redactor: Redactor): Promise<Record<string, unknown>[]> {
  const told: Piece[] = [];
  const deltas = new DeltaText(redactor, async (piece) => void told.push(piece));
  for (const piece of pieces) await deltas.push(piece);
  await deltas.end();
  return told;
}
const bytesOf = ({ text, b64 }: Record<string, unknown>): Uint8Array =>
  typeof b64 === "string" ? fromBase64(b64) : bytes(String(text));

test("S77: text is text in every event, whatever the pieces", async () => {
  const text = fc.string({
    unit: fc.constantFrom("a", "\r\n", "\n", "é", "€", "😀", "\ufeff", "\u0301", "\0"),
  });
  await fc.assert(
    fc.asyncProperty(text, cuts, async (value, points) => {
      const events = await told(cutAt(bytes(value), points), new Redactor([]));
      expect(events.every((data) => typeof data.text === "string" && data.text !== "")).toBe(true);
      expect(events.map(({ text: part }) => part).join("")).toBe(value);
    }),
    { numRuns: 500 },
  );
});

test("bytes of any kind are the same after Base64", async () => {
  let base64 = 0;
  const value = fc.oneof(
    fc.uint8Array({ maxLength: 60 }),
    fc
      .array(fc.constantFrom(0x41, 0xc3, 0xa9, 0xf0, 0x9f, 0x98, 0x80, 0xff))
      .map((list) => Uint8Array.from(list)),
  );
  await fc.assert(
    fc.asyncProperty(value, cuts, async (data, points) => {
      const events = await told(cutAt(data, points), new Redactor([]));
      if (events.some(({ b64 }) => b64 !== undefined)) base64 += 1;
      expect(join(events.map(bytesOf))).toEqual(join([data]));
    }),
    { numRuns: 500 },
  );
  expect(base64).toBeGreaterThan(50);
});

test("S82: a secret in pieces among other text is gone, and nothing else is", async () => {
  const secret = "sk-ключ-12345678";
  const redactor = new Redactor([secret]);
  const parts = fc.array(fc.constantFrom(secret, secret.slice(0, 7), "sk-", "é😀", "x"), { maxLength: 8 });
  await fc.assert(
    fc.asyncProperty(parts, cuts, async (list, points) => {
      const value = list.join("");
      const events = await told(cutAt(bytes(value), points), redactor);
      expect(new TextDecoder().decode(join(events.map(bytesOf)))).toBe(redactor.text(value));
    }),
    { numRuns: 500 },
  );
});
