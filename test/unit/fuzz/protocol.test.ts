/** Frames and tickets between Worker and runner, intact and damaged. */

import { IncomingMessage } from "node:http";
import { Socket } from "node:net";
import { expect, test } from "vitest";
import { Auth, checkTicket } from "../../../container/auth.ts";
import { Refused } from "../../../container/refusal.ts";
import { sha256 } from "../../../src/bytes.ts";
import {
  encodeFrame,
  FRAME,
  type Frame,
  FrameDecoder,
  importTicketKey,
  MAX_FRAME_BYTES,
  signTicket,
} from "../../../src/tool/protocol.ts";
import { cutAt, join } from "../../support/chunks.ts";
import { fc } from "../../support/property.ts";

const cuts = fc.array(fc.nat(), { maxLength: 20 });
const frame = fc.record({
  type: fc.constantFrom(...Object.values(FRAME)),
  payload: fc.oneof(
    { weight: 20, arbitrary: fc.uint8Array({ maxLength: 40 }) },
    { weight: 1, arbitrary: fc.constant(new Uint8Array(MAX_FRAME_BYTES).fill(7)) },
  ),
});
const encoded = (frames: readonly Frame[]): Uint8Array =>
  join(frames.map(({ type, payload }) => encodeFrame(type, payload)));
/** Bytes as a text, one character each: `toEqual` compares byte by byte, and takes longer than all the rest. */
const latin1 = ({ buffer, byteOffset, byteLength }: Uint8Array): string =>
  Buffer.from(buffer, byteOffset, byteLength).toString("latin1");
const readable = (frames: readonly Frame[]): [number, string][] =>
  frames.map(({ type, payload }) => [type, latin1(payload)]);

test("frames come out unchanged, however they are cut", () => {
  fc.assert(
    fc.property(fc.array(frame, { maxLength: 12 }), cuts, (frames, points) => {
      const decoder = new FrameDecoder();
      const got = cutAt(encoded(frames), points).flatMap((chunk) => decoder.push(chunk));
      expect(readable(got)).toEqual(readable(frames));
      expect(decoder.pending).toBe(false);
    }),
    { numRuns: 400 },
  );
});

test("garbage is a RangeError or pending, and does not change what came before it", () => {
  const garbage = fc.oneof(
    fc.uint8Array({ maxLength: 60 }),
    // A header that could be one, so that more than the first byte is looked at.
    fc
      .tuple(fc.integer({ min: 0, max: 8 }), fc.constantFrom(0, 1, 2), fc.uint8Array({ maxLength: 40 }))
      .map(([type, high, rest]) => Uint8Array.of(type, 0, high, ...rest)),
  );
  const seen = { refused: 0, pending: 0, whole: 0 };
  fc.assert(
    fc.property(fc.array(frame, { maxLength: 3 }), garbage, cuts, (frames, tail, points) => {
      const sent = join([encoded(frames), tail]);
      const decoder = new FrameDecoder();
      const got: Frame[] = [];
      try {
        for (const chunk of cutAt(sent, points)) got.push(...decoder.push(chunk));
        const read = encoded(got);
        expect(latin1(read)).toBe(latin1(sent.subarray(0, read.length)));
        expect(decoder.pending).toBe(read.length < sent.length);
        seen[decoder.pending ? "pending" : "whole"]++;
      } catch (error) {
        if (!(error instanceof RangeError)) throw error;
        seen.refused++;
        expect(latin1(encoded(got))).toBe(latin1(sent.subarray(0, encoded(got).length)));
      }
    }),
    { numRuns: 600 },
  );
  expect(Math.min(seen.refused, seen.pending, seen.whole)).toBeGreaterThan(10);
});

const SECRET = "s".repeat(40);

test("a ticket is valid as it was signed, and no altered one is", async () => {
  const key = await importTicketKey(SECRET);
  const spec = '{"argv":["true"]}';
  const ticket = await signTicket(key, "execution:e1", spec, Date.now());
  const digest = await sha256(spec);
  const auth = new Auth(true);
  auth.setSecret(SECRET);
  const permit = (sent: string, specDigest = digest): void => {
    const request = new IncomingMessage(new Socket());
    request.headers.authorization = `Bearer ${sent}`;
    checkTicket(auth.ticketOf(request), "execution:e1", specDigest);
  };
  permit(ticket);
  expect(() => permit(ticket, "")).toThrow(Refused);
  const character = fc.constantFrom(..."ABCDwxyz0189-_+/=. \n\0é{".split(""));
  const altered = fc.oneof(
    fc.tuple(fc.nat(), fc.nat(2), fc.string({ unit: character, maxLength: 3 })).map(([at, cut, insert]) => {
      const from = at % (ticket.length + 1);
      return ticket.slice(0, from) + insert + ticket.slice(from + cut);
    }),
    // The last character of a part carries bits that decoding drops.
    fc
      .tuple(fc.constantFrom(ticket.indexOf(".") - 1, ticket.length - 1), character)
      .map(([at, other]) => ticket.slice(0, at) + other + ticket.slice(at + 1)),
    fc.constantFrom(
      `${ticket}.`,
      `${ticket}=`,
      ` ${ticket}`,
      ticket.replace(".", ".."),
      ticket.toLowerCase(),
    ),
    fc.string(),
  );
  fc.assert(
    fc.property(altered, (text) => {
      fc.pre(text !== ticket);
      expect(() => permit(text)).toThrow(Refused);
    }),
    { numRuns: 1500 },
  );
});
