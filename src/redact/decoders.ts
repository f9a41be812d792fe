/**
 * Other ways to write the same bytes, decoded byte by byte: percent escapes, JSON's escapes, and Base64 with the
 * alphabet for URLs or split into lines. Anything but an escape stands for itself.
 */

/**
 * Takes one decoded byte.
 * @param start where its written form begins in the text; `end`: where that ends
 * @param plain whether it is written directly
 */
export type Take = (byte: number, start: number, end: number, plain: boolean) => void;

export interface Decoder {
  /** Takes the byte at a position of the text. */
  push(byte: number, at: number): void;
  /** Where an unfinished escape began; -1: there is none. */
  from(): number;
  /** Forgets an escape that it has begun to read. */
  reset(): void;
}

const PERCENT = 0x25;
const BACKSLASH = 0x5c;
const LOWER_U = 0x75;
const LINE_FEED = 0x0a;
const RETURN = 0x0d;

/** Whether text in Base64 continues after it. */
export const isLineEnd = (byte: number): boolean => byte === LINE_FEED || byte === RETURN;

/** The bytes with which escapes begin. */
export const ESCAPES = {
  percent: [PERCENT],
  json: [BACKSLASH],
  base64: [0x2d, 0x5f, LINE_FEED, RETURN],
} as const;

/** Value of a hexadecimal digit in either case; -1: it is not one. */
export function digit(byte: number): number {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
  const lower = byte | 0x20;
  return lower >= 0x61 && lower <= 0x66 ? lower - 0x57 : -1;
}

/** `%41`, with digits in either case. */
export function percentDecoder(take: Take): Decoder {
  let from = -1;
  let high = -1;
  const push = (byte: number, at: number): void => {
    if (from === -1) {
      if (byte === PERCENT) from = at;
      else take(byte, at, at + 1, true);
      return;
    }
    const value = digit(byte);
    if (value !== -1 && high === -1) {
      high = byte;
      return;
    }
    const [begun, first] = [from, high];
    from = -1;
    high = -1;
    if (value !== -1) {
      take(digit(first) * 16 + value, begun, at + 1, false);
      return;
    }
    take(PERCENT, begun, begun + 1, true);
    if (first !== -1) take(first, begun + 1, begun + 2, true);
    push(byte, at);
  };
  return {
    push,
    from: () => from,
    reset: () => {
      from = -1;
      high = -1;
    },
  };
}

/** By the byte after a backslash. */
export const SHORT: ReadonlyMap<number, number> = new Map(
  Array.from('"\\/bfnrt', (name, i) => [name.charCodeAt(0), '"\\/\b\f\n\r\t'.charCodeAt(i)]),
);
/** `\uXXXX` */
const UNIT = 6;

/** `\n`, `\/`, `\u0041`, with digits in either case; two of those for a character beyond U+FFFF. */
export function jsonDecoder(take: Take): Decoder {
  let from = -1;
  /** The bytes read of one escape, or of two. */
  let held: number[] = [];
  const unitAt = (index: number): number =>
    held.slice(index + 2, index + UNIT).reduce((value, byte) => value * 16 + digit(byte), 0);
  const say = (point: number, start: number, end: number): void => {
    // Half a surrogate pair becomes what the text encoder makes of it.
    const text = String.fromCodePoint(point).toWellFormed();
    for (const byte of new TextEncoder().encode(text)) take(byte, start, end, false);
  };
  /** Ends the escape, and reads again the bytes that seemed to belong to it. */
  const resume = (rest: readonly number[], at: number): void => {
    from = -1;
    held = [];
    for (const [i, byte] of rest.entries()) push(byte, at + i);
  };
  /** The held bytes are not an escape, or not together with what follows the first unit. */
  const giveUp = (byte: number): void => {
    const [begun, all] = [from, [...held, byte]];
    if (held.length >= UNIT) {
      say(unitAt(0), begun, begun + UNIT);
      resume(all.slice(UNIT), begun + UNIT);
      return;
    }
    take(BACKSLASH, begun, begun + 1, true);
    resume(all.slice(1), begun + 1);
  };
  const push = (byte: number, at: number): void => {
    if (from === -1) {
      if (byte !== BACKSLASH) {
        take(byte, at, at + 1, true);
        return;
      }
      from = at;
      held = [byte];
      return;
    }
    const place = held.length % UNIT;
    const short = place === 1 && held.length === 1 ? SHORT.get(byte) : undefined;
    if (short !== undefined) {
      const begun = from;
      resume([], at);
      take(short, begun, at + 1, false);
      return;
    }
    const fits = place === 0 ? byte === BACKSLASH : place === 1 ? byte === LOWER_U : digit(byte) !== -1;
    if (!fits) {
      giveUp(byte);
      return;
    }
    held.push(byte);
    if (held.length % UNIT !== 0) return;
    const unit = unitAt(0);
    if (held.length === UNIT) {
      if (unit >= 0xd800 && unit < 0xdc00) return;
      say(unit, from, at + 1);
      resume([], at);
      return;
    }
    const low = unitAt(UNIT);
    const [begun, second] = [from, held.slice(UNIT)];
    if (low >= 0xdc00 && low < 0xe000) {
      say(0x10000 + (unit - 0xd800) * 0x400 + (low - 0xdc00), begun, at + 1);
      resume([], at);
      return;
    }
    say(unit, begun, begun + UNIT);
    resume(second, begun + UNIT);
  };
  return {
    push,
    from: () => from,
    reset: () => {
      from = -1;
      held = [];
    },
  };
}

/** `-` and `_` for `+` and `/`; line ends do not count. */
export function base64Decoder(take: Take, skip: () => void): Decoder {
  return {
    push(byte, at) {
      if (isLineEnd(byte)) skip();
      else if (byte === 0x2d) take(0x2b, at, at + 1, false);
      else if (byte === 0x5f) take(0x2f, at, at + 1, false);
      else take(byte, at, at + 1, true);
    },
    from: () => -1,
    reset: () => {},
  };
}
