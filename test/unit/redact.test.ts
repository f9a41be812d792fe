import { describe, expect, it } from "vitest";
import { REDACTED, Redactor, tooShortToRedact } from "../../src/redact.ts";
import { withSentDigits } from "../../src/skill/exact-json.ts";
import { fc } from "../support/property.ts";

const SECRET = "sk-canary-1234567890/+=";
const redactor = new Redactor([SECRET, "sk-canary", "short"]);

it("keeps a number with more digits than JavaScript has, next to a secret", () => {
  const text = `{"id":12345678901234567890,"key":"${SECRET}"}`;
  const value = withSentDigits(JSON.parse(text), text);
  expect(JSON.stringify(redactor.json(value))).toBe(text.replace(SECRET, REDACTED));
});

it.each([
  ["API_KEY", "1234567", true],
  ["API_KEY", "12345678", false],
  ["api_key", "short", true],
  ["DB_PASSWORD", "x", true],
  ["GITHUB_TOKEN_2", "x", true],
  ["API_KEY", undefined, false],
  ["API_KEY", "", false],
  ["PORT", "3000", false],
  ["KEYBOARD", "us", false],
])("%s with the value %o is reported as too short: %o", (name, value, told) => {
  expect(tooShortToRedact([name, name], () => value)).toEqual(told ? [name] : []);
});

describe("redaction", () => {
  it("removes a secret plain, URL-encoded and in Base64", () => {
    for (const form of [SECRET, encodeURIComponent(SECRET), btoa(SECRET)]) {
      expect(redactor.text(`a ${form} b`)).toBe(`a ${REDACTED} b`);
    }
  });

  it("removes it from JSON within text, and accepts one that is not Unicode", () => {
    const key = '-----BEGIN "KÉY"-----\nabc\\def\n';
    const told = new Redactor([key, "\ud800-half-a-pair"]);
    const ascii = JSON.stringify(key).replace("É", "\\u00c9");
    for (const json of [JSON.stringify(key), ascii]) {
      expect(told.text(`{"key": ${json}}`)).toBe(`{"key": "${REDACTED}"}`);
    }
    expect(told.text("\ud800-half-a-pair")).not.toContain("half");
  });

  it("prefers the longer secret and leaves short values alone", () => {
    expect(redactor.text(`${SECRET} sk-canary short`)).toBe(`${REDACTED} ${REDACTED} short`);
  });

  it("reaches every string of a JSON value, keys too", () => {
    expect(redactor.json({ [SECRET]: [1, null, { deep: `x${SECRET}` }] })).toEqual({
      [REDACTED]: [1, null, { deep: `x${REDACTED}` }],
    });
  });

  it("writes a JSON value without them, whatever its texts hold", () => {
    const lines = `${btoa(SECRET).slice(0, 9)}\n${btoa(SECRET).slice(9)}`;
    for (const text of [SECRET, lines, JSON.stringify(SECRET), `"${SECRET}\\`, "", "clear \u00e4\n", "-_%"]) {
      const value = { a: [text], [`k ${text}`]: { n: 1, none: undefined } };
      expect(JSON.parse(redactor.jsonText(value))).toEqual(JSON.parse(JSON.stringify(redactor.json(value))));
      expect(redactor.jsonText(value)).not.toContain("canary");
    }
    expect(redactor.jsonText(["sk-", "canary-1234567890/+="])).toBe('["sk-","canary-1234567890/+="]');
  });

  it("finds secrets of any characters, and Base64 in any lines, with any alphabet", () => {
    const accented = "\u00e9galit\u00e9-12";
    const accents = new Redactor([accented]);
    expect(accents.text(`a ${accented} b`)).toBe(`a ${REDACTED} b`);
    // `btoa` encodes characters, and other programs bytes of UTF-8.
    for (const before of ["", "u", "us"]) {
      expect(accents.text(btoa(`${before}${accented}`))).toContain(REDACTED);
      expect(accents.text(Buffer.from(`${before}${accented}`).toString("base64"))).toContain(REDACTED);
    }
    const bytes = fc.uint8Array({ minLength: 9, maxLength: 30 });
    const breaks = fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 20 });
    fc.assert(
      fc.property(bytes, breaks, fc.boolean(), (secret, sizes, forUrls) => {
        const value = btoa(String.fromCharCode(...secret)).replace(/=+$/, "");
        const told = new Redactor([value]);
        const alphabet = forUrls ? value.replaceAll("+", "-").replaceAll("/", "_") : value;
        let lines = "";
        for (let at = 0, i = 0; at < alphabet.length; i++) {
          const size = sizes[i % sizes.length] ?? 1;
          lines += `${alphabet.slice(at, at + size)}${i % 2 === 0 ? "\n" : "\r\n"}`;
          at += size;
        }
        expect(told.text(`x ${lines} y`)).toContain(REDACTED);
        expect(told.text(`${value.slice(0, -1)}\n\u0001${value.slice(-1)}`)).not.toContain(REDACTED);
      }),
    );
  });

  it("S82: finds secrets across any chunk boundaries and loses nothing else", () => {
    const text = fc.array(fc.oneof(fc.constant(SECRET), fc.string({ unit: "grapheme", maxLength: 8 })));
    const cuts = fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 50 });
    fc.assert(
      fc.property(text, cuts, (parts, sizes) => {
        const bytes = new TextEncoder().encode(parts.join(""));
        const stream = redactor.stream();
        const out: number[] = [];
        for (let at = 0, i = 0; at < bytes.length; i++) {
          const size = sizes[i % sizes.length] ?? 1;
          out.push(...stream.push(bytes.subarray(at, at + size)));
          at += size;
        }
        out.push(...stream.end());
        expect(new TextDecoder().decode(Uint8Array.from(out))).toBe(redactor.text(parts.join("")));
      }),
    );
  });

  it("S82: passes texts that hold nothing of a secret, as they would have come out", () => {
    const piece = fc.oneof(
      fc.constantFrom("sk-", "canary", "-1234567890/+=", "s", "k"),
      fc.string({ maxLength: 4 }),
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 30 }), (pieces) => {
        const stream = redactor.stream();
        const decode = (bytes: Uint8Array): string => new TextDecoder().decode(bytes);
        const said = pieces.map((text) =>
          stream.passes(text) ? text : decode(stream.push(new TextEncoder().encode(text))),
        );
        expect(said.join("") + decode(stream.end())).toBe(redactor.text(pieces.join("")));
      }),
    );
    expect([redactor.stream().passes("a word"), redactor.stream().passes("words")]).toEqual([true, false]);
    // Half a character is not text yet.
    expect(redactor.stream().passes("\ud83d")).toBe(false);
  });

  it("holds back only what could begin a secret", () => {
    const stream = redactor.stream();
    const push = (text: string): string =>
      new TextDecoder().decode(stream.push(new TextEncoder().encode(text)));
    expect(push("hello sk-ca")).toBe("hello ");
    expect(push("ts are nice")).toBe("sk-cats are nice");
    // A line ends in a secret only if that is written as Base64.
    expect(push("two cats\n")).toBe("two cats\n");
    expect([redactor.stream().passes("two cats\n"), redactor.stream().passes("sk-\n")]).toEqual([true, true]);
    expect(push(`${btoa(SECRET).slice(0, 9)}\n`)).toBe("");
    expect(push(btoa(SECRET).slice(9))).toBe("");
    expect(push(" end")).toBe(`${REDACTED} end`);
  });
});

const encoded = (text: string): Uint8Array => new TextEncoder().encode(text);
const decoded = (bytes: Uint8Array): string => new TextDecoder().decode(bytes);
const percent = (text: string, each: (byte: number) => string): string =>
  Array.from(encoded(text), (byte) => `%${each(byte)}`).join("");
const hex = (byte: number): string => byte.toString(16).padStart(2, "0");

describe("attack: a secret that a process writes in another way", () => {
  const secret = 'pass?wörd>>>of/ten  words~"\n';
  const told = new Redactor([secret]);
  const url = (base64: string): string => base64.replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
  const inBase64 = (text: string): string => Buffer.from(text).toString("base64");

  it.each([
    ["percent escapes in lower case", percent(secret, hex)],
    ["in upper case", percent(secret, (byte) => hex(byte).toUpperCase())],
    ["in both", percent(secret, (byte) => hex(byte).replace(/[a-f]$/, (digit) => digit.toUpperCase()))],
    ["in part", encodeURI(secret)],
    ["of a form", new URLSearchParams([["", secret]]).toString().slice(1)],
    ["JSON", JSON.stringify(secret).slice(1, -1)],
    ["JSON in ASCII", JSON.stringify(secret).slice(1, -1).replace("ö", "\\u00F6")],
    ["JSON with every escape there is", Array.from(secret, (c) => `\\u00${hex(c.charCodeAt(0))}`).join("")],
    ["JSON with slashes escaped", JSON.stringify(secret).slice(1, -1).replaceAll("/", "\\/")],
    ["Base64", inBase64(secret)],
    ["Base64 for URLs", url(inBase64(secret))],
  ])("%s", (_, form) => {
    expect(told.text(`<${form}>`)).toBe(`<${REDACTED}>`);
  });

  it.each(["", "u", "us", "use", "user:"])("Base64 behind %j, with and without more behind it", (before) => {
    for (const behind of ["", "x", "xy", "xyz"]) {
      for (const form of [inBase64(before + secret + behind), url(inBase64(before + secret + behind))]) {
        const shown = told.text(`Basic ${form}.`);
        expect(shown).toMatch(/^Basic [\w+/-]{0,8}\[redacted\][\w+/=-]{0,8}\.$/);
        if (behind === "") expect(shown).toMatch(/\[redacted\]\.$/);
      }
    }
  });

  it("Base64 in lines, as programs print it", () => {
    const long = "k".repeat(20) + secret.repeat(4);
    const lines = inBase64(long).replace(/.{76}/g, "$&\n");
    expect(new Redactor([long]).text(`a ${lines} b`)).toBe(`a ${REDACTED} b`);
  });

  it("Base64 in a long text, with an escape at any place of its beginning", () => {
    const around = "plain words. ".repeat(80);
    const key = "QqWwEeRrTtYyUuIi";
    for (let at = 0; at < key.length; at++) {
      const [before, behind] = [key.slice(0, at), key.slice(at)];
      const slash = `${before}/${behind.slice(1)}`;
      for (const [known, form] of [
        [key, `${before}\r\n\n${behind}`],
        [slash, slash.replace("/", "_")],
        [slash, slash.replace("/", "\n_")],
      ] as const) {
        const shown = new Redactor([known]).text(`${around}<${form}>${around}`);
        expect(shown.replace("\n", "")).toMatch(/^[^<]+<\s*\[redacted\]>[^>]+$/);
      }
    }
  });

  it("one that overlaps with another leaves no piece of either", () => {
    expect(new Redactor(["abcdefgh", "efghijkl"]).text("1abcdefghijkl2")).toBe(`1${REDACTED}2`);
  });
});

describe("attack: input that keeps the redactor busy", () => {
  /** What a stream answers to a text in pieces of some size. */
  const streamed = (redactor: Redactor, text: Uint8Array, size: number): string => {
    const stream = redactor.stream();
    const out: Uint8Array[] = [];
    for (let at = 0; at < text.length; at += size) out.push(stream.push(text.subarray(at, at + size)));
    return decoded(Buffer.concat([...out, stream.end()]));
  };

  it.each([1_000_000, 65_536, 1000])("100,000 hits in 1 MB, in chunks of %i bytes", (size) => {
    const told = new Redactor(["known-one!"]);
    const text = encoded("known-one!".repeat(100_000));
    expect(streamed(told, text, size)).toBe(REDACTED.repeat(100_000));
  });

  it("a text that nearly is a long secret all the time", () => {
    const told = new Redactor([
      `${"a".repeat(4000)}b`,
      `${"%41".repeat(1300)}b`,
      `${"\\u0041".repeat(600)}b`,
    ]);
    for (const piece of ["a", "%41", "\\u0041", "%2541", "a%61", "\\n"]) {
      const text = piece.repeat(400_000 / piece.length);
      expect(streamed(told, encoded(text), 4096)).toBe(text);
    }
  });

  it("one hit that never ends, byte by byte", () => {
    expect(streamed(new Redactor(["a".repeat(4000)]), encoded("a".repeat(100_000)), 1)).toBe(REDACTED);
  });

  it("4000 secrets that become known one by one", () => {
    const secrets = Array.from({ length: 4000 }, (_, i) => `known-${i}-${(i * 7919) % 4001}`);
    const told = new Redactor([]);
    for (const secret of secrets) {
      told.learn([secret]);
      expect(told.text(`a ${secret} b`)).toBe(`a ${REDACTED} b`);
    }
    expect(told.text(secrets.join(" "))).toBe(secrets.map(() => REDACTED).join(" "));
  });

  it("100 secrets of 4 KB, without a shared beginning", () => {
    const secrets = Array.from({ length: 100 }, (_, i) => {
      return Array.from({ length: 4096 }, (_, j) =>
        String.fromCharCode(33 + ((i * 7919 + j * j * 31 + i * j) % 90)),
      );
    }).map((characters) => characters.join(""));
    const told = new Redactor(secrets);
    expect(told.text(secrets.join(" "))).toBe(secrets.map(() => REDACTED).join(" "));
    expect(told.text(Buffer.from(`user:${secrets[7]}`).toString("base64"))).toMatch(/^.{7}\[redacted\]$/);
  });
});

/** What Base64 may have for other characters, or between them. */
const BASE64 = /[-_\r\n]/y;

/** Ways to write a byte otherwise: the expression of what is written, and what it means. */
const WAYS: readonly (readonly [written: RegExp, meaning: (found: string) => string])[] = [
  [/(?!)/, () => ""],
  [/%[0-9a-f]{2}/iy, (found) => String.fromCharCode(Number.parseInt(found.slice(1), 16))],
  [/\\(?:["\\/bfnrt]|u00[0-7][0-9a-f])/iy, (found) => JSON.parse(`"${found.replace("U", "u")}"`)],
  [BASE64, (found) => ({ "-": "+", _: "/" })[found] ?? ""],
];

/**
 * By comparing every pattern at every place: the parts of an ASCII text that hold a secret, each replaced.
 * @param loose whether what may be an escape may also stand for itself
 */
function simple(secrets: readonly string[], text: string, loose: boolean): string {
  const inBase64 = secrets.flatMap((secret) => {
    const aligned = [0, 1, 2].flatMap((before) => {
      const base64 = Buffer.from("\0".repeat(before) + secret).toString("base64");
      const from = Math.ceil((before * 8) / 6);
      const certain = Math.floor(((before + secret.length) * 8) / 6);
      return [base64.slice(from), base64.replace(/=+$/, "").slice(from), base64.slice(from, certain)];
    });
    return /^[a-z0-9+/]*$/i.test(secret) ? [secret, ...aligned] : aligned;
  });
  const all = [...secrets, ...secrets.map((secret) => secret.replaceAll(" ", "+")), ...inBase64];
  const hits: [number, number][] = [];
  for (const [written, meaning] of WAYS) {
    const patterns = written === BASE64 ? inBase64 : all;
    /** Where each piece of the text begins, what it means, and where the next one begins. */
    const pieces = new Map<number, readonly (readonly [string, number])[]>();
    for (let at = 0; at < text.length; ) {
      written.lastIndex = at;
      const found = written.exec(text)?.[0];
      const asItIs = [text.charAt(at), at + 1] as const;
      const read = found === undefined ? [asItIs] : [[meaning(found), at + found.length] as const];
      pieces.set(at, loose && found !== undefined ? [...read, asItIs] : read);
      at += loose ? 1 : (found?.length ?? 1);
    }
    const match = (at: number, pattern: string): number[] => {
      if (pattern === "") return [at];
      return (pieces.get(at) ?? []).flatMap(([means, next]) =>
        pattern.startsWith(means) ? match(next, pattern.slice(means.length)) : [],
      );
    };
    for (const at of pieces.keys()) {
      // What means nothing begins nothing.
      if (written === BASE64 && /[\r\n]/.test(text.charAt(at))) continue;
      for (const end of patterns.flatMap((pattern) => match(at, pattern))) hits.push([at, end]);
    }
  }
  let [out, done] = ["", 0];
  for (const [start, end] of hits.sort((a, b) => a[0] - b[0])) {
    if (start >= done) out += text.slice(done, start) + REDACTED;
    done = Math.max(done, end);
  }
  return out + text.slice(done);
}

describe("the redactor and a simple one agree", () => {
  const secretOf = fc.string({ unit: fc.constantFrom(..."aaab+ /"), minLength: 8, maxLength: 14 });
  const noise = fc.string({ unit: fc.constantFrom(..."aaab+ /%\\-_\nu0046%15"), maxLength: 12 });
  const written = (secret: string): fc.Arbitrary<string> => {
    const forms = fc.constantFrom<(text: string) => string>(
      (text) => text,
      (text) => percent(text, hex),
      (text) => encodeURIComponent(text).toLowerCase(),
      (text) => text.replaceAll("a", "\\u0061").replaceAll("/", "\\/"),
      (text) => btoa(text),
      (text) => btoa(`u${text}vw`),
      (text) => btoa(`us${text}`).replaceAll("+", "-").replaceAll("/", "_"),
      (text) => btoa(`a${text}`).replace(/^.{5}/, "$&\n"),
    );
    return fc.tuple(forms, fc.nat(20), fc.boolean()).map(([form, cut, whole]) => {
      return whole ? form(secret) : form(secret).slice(0, cut);
    });
  };
  const sample = fc.array(secretOf, { minLength: 1, maxLength: 4 }).chain((secrets) =>
    fc.tuple(
      fc.constant(secrets),
      fc.array(fc.oneof(noise, ...secrets.map(written)), { maxLength: 12 }).map((pieces) => pieces.join("")),
      fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 20 }),
    ),
  );

  it("on texts, in streams cut anywhere, with secrets learned later, and in layers", () => {
    fc.assert(
      fc.property(sample, ([secrets, text, sizes]) => {
        const [strict, loose] = [simple(secrets, text, false), simple(secrets, text, true)];
        const check = (out: string): void => {
          if (strict === loose) expect(out).toBe(strict);
          // What is an escape in one place and stands for itself in the next may be removed as well.
          else expect(simple(secrets, out, false)).toBe(out);
        };
        check(new Redactor(secrets).text(text));
        const [first = "", ...others] = secrets;
        check(new Redactor([first]).with(others).text(text));
        const bit = new Redactor([]);
        for (const secret of secrets) {
          bit.learn([secret]);
          expect(bit.text("no secret")).toBe("no secret");
        }
        check(bit.text(text));
        // After so much text, one automaton finds them all.
        bit.bytes(new Uint8Array(30_000));
        check(bit.text(text));
        // A long text is only read whole if it may hold a secret; bytes always are.
        const long = `${"plain words. ".repeat(80)}${text}${" and more of them".repeat(2)}`;
        const all = new Redactor(secrets);
        expect(all.text(long)).toBe(decoded(all.bytes(encoded(long))));
        const later = new Redactor([first]);
        const stream = later.stream();
        later.learn(others);
        const out: Uint8Array[] = [];
        for (let at = 0, i = 0; at < text.length; i++) {
          const size = sizes[i % sizes.length] ?? 1;
          const piece = text.slice(at, at + size);
          out.push(stream.passes(piece) ? encoded(piece) : stream.push(encoded(piece)));
          at += size;
        }
        check(decoded(Buffer.concat([...out, stream.end()])));
      }),
      { numRuns: 400 },
    );
  });
});
