/** SHA-256 (FIPS 180-4), synchronous: the engine is pure, and the platform's own is asynchronous. */

/** The first 32 bits of the fractional parts of the cube roots of the first 64 primes. */
const ROUND = fractions(64, 1 / 3);
/** The same of the square roots of the first eight. */
const INITIAL = fractions(8, 1 / 2);

function fractions(count: number, power: number): Uint32Array {
  const found = new Uint32Array(count);
  const primes: number[] = [];
  for (let n = 2; primes.length < count; n++) {
    if (primes.some((prime) => n % prime === 0)) continue;
    found[primes.length] = (n ** power % 1) * 2 ** 32;
    primes.push(n);
  }
  return found;
}

const rotated = (word: number, by: number): number => (word >>> by) | (word << (32 - by));

/** In hex, of the text's UTF-8 bytes. */
export function sha256(text: string): string {
  const bytes = new TextEncoder().encode(text);
  const blocks = Math.ceil((bytes.length + 9) / 64);
  const padded = new Uint8Array(blocks * 64);
  padded.set(bytes);
  padded[bytes.length] = 0x80;
  const view = new DataView(padded.buffer);
  view.setBigUint64(padded.length - 8, BigInt(bytes.length) * 8n);
  const hash = INITIAL.slice();
  const words = new Uint32Array(64);
  for (let block = 0; block < blocks; block++) compress(hash, words, view, block * 64);
  return Array.from(hash, (word) => word.toString(16).padStart(8, "0")).join("");
}

/** One block. Written out for speed: it computes the folder names in a run's specification. */
function compress(hash: Uint32Array, words: Uint32Array, view: DataView, at: number): void {
  for (let t = 0; t < 16; t++) words[t] = view.getUint32(at + t * 4);
  for (let t = 16; t < 64; t++) {
    const x = words[t - 15] ?? 0;
    const y = words[t - 2] ?? 0;
    const small = rotated(x, 7) ^ rotated(x, 18) ^ (x >>> 3);
    const large = rotated(y, 17) ^ rotated(y, 19) ^ (y >>> 10);
    words[t] = ((words[t - 16] ?? 0) + small + (words[t - 7] ?? 0) + large) | 0;
  }
  let a = hash[0] ?? 0;
  let b = hash[1] ?? 0;
  let c = hash[2] ?? 0;
  let d = hash[3] ?? 0;
  let e = hash[4] ?? 0;
  let f = hash[5] ?? 0;
  let g = hash[6] ?? 0;
  let h = hash[7] ?? 0;
  for (let t = 0; t < 64; t++) {
    const choice = (e & f) ^ (~e & g);
    const mixed = rotated(e, 6) ^ rotated(e, 11) ^ rotated(e, 25);
    const first = (h + mixed + choice + (ROUND[t] ?? 0) + (words[t] ?? 0)) | 0;
    const majority = (a & b) ^ (a & c) ^ (b & c);
    const second = ((rotated(a, 2) ^ rotated(a, 13) ^ rotated(a, 22)) + majority) | 0;
    h = g;
    g = f;
    f = e;
    e = (d + first) | 0;
    d = c;
    c = b;
    b = a;
    a = (first + second) | 0;
  }
  for (const [i, value] of [a, b, c, d, e, f, g, h].entries()) hash[i] = (hash[i] ?? 0) + value;
}
