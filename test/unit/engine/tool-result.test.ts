import { describe, expect, it } from "vitest";
import { OutputWindow, processResult, refusedCall } from "../../../src/engine/tool-result.ts";
import { fc } from "../../support/property.ts";

const window = (limit: number, ...chunks: (string | number[])[]): OutputWindow => {
  const w = new OutputWindow(limit);
  for (const c of chunks) w.push(typeof c === "string" ? new TextEncoder().encode(c) : Uint8Array.from(c));
  return w;
};
const end = (code: Parameters<typeof processResult>[0]["code"], exit_code: number | null) => ({
  code,
  exit_code,
  duration_ms: 3,
});

describe("tool results", () => {
  it("success is stdout, trimmed", () => {
    const outcome = processResult(end(null, 0), window(100, "  ok\n\n"), window(100, "noise"));
    expect(outcome).toMatchObject({ status: "ok", content: "ok", bytes: 6, exit_code: 0 });
  });

  it("S106: an error names code and exit, then stderr, or stdout when stderr is blank", () => {
    const failed = processResult(end("exit_nonzero", 7), window(100, "out"), window(100, " \n"));
    expect(failed.content).toBe("[tool_error code=exit_nonzero exit=7]\nout");
    const timeout = processResult(
      { ...end("timed_out", null), remark: "Stopped." },
      window(100, "o"),
      window(100, "e"),
    );
    expect(timeout.content).toBe("[tool_error code=timed_out exit=none]\nStopped.\ne");
    expect(refusedCall("dash_refused", "no").content).toBe("[tool_error code=dash_refused exit=none]\nno");
  });

  it("S107: above the limit, head and tail surround the counts", () => {
    const outcome = processResult(end(null, 0), window(100, "a".repeat(5000), "b".repeat(3000)), window(100));
    expect(outcome.content).toBe(`${"a".repeat(75)}\n[hull: 7900 of 8000 bytes omitted]\n${"b".repeat(25)}`);
    expect(outcome).toMatchObject({ bytes: 8000, truncated: true });
  });

  it("says that invalid UTF-8 was replaced", () => {
    expect(window(100, [0xff, 0x41]).render().text).toMatch(/^\ufffdA\n\[hull: .*UTF-8/);
  });

  it("any chunking gives the same, within the limit, and never splits a character", () => {
    // Without the replacement character itself: its presence in the result shows a split character.
    const piece = fc.string({ unit: "grapheme", maxLength: 30 }).map((text) => text.replaceAll("\ufffd", ""));
    const pieces = fc.array(piece, { maxLength: 20 });
    fc.assert(
      fc.property(pieces, fc.integer({ min: 8, max: 200 }), (parts, limit) => {
        const one = window(limit, parts.join("")).render();
        const many = window(limit, ...parts).render();
        expect(many).toEqual(one);
        expect(one.text).not.toContain("\ufffd");
        const kept = one.text.replace(/\n\[hull: .*omitted\]\n/, "");
        expect(new TextEncoder().encode(kept).length).toBeLessThanOrEqual(limit);
      }),
    );
  });
});
