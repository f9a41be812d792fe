/** What models, tools and users write does nothing to a terminal. */
import { expect, onTestFinished, test, vi } from "vitest";
import { EventPrinter } from "../../../scripts/call/event-printer.ts";
import { print } from "../../../scripts/report.ts";

/** What is written to streams of this kind. */
function written(isTTY: boolean, write: () => void): string {
  let text = "";
  for (const stream of [process.stdout, process.stderr]) {
    const before = stream.isTTY;
    stream.isTTY = isTTY;
    const spy = vi.spyOn(stream, "write").mockImplementation((piece) => {
      text += String(piece);
      return true;
    });
    onTestFinished(() => {
      stream.isTTY = before;
      spy.mockRestore();
    });
  }
  write();
  return text;
}

/** Two events and a list. */
const shown = (isTTY: boolean): string =>
  written(isTTY, () => {
    const printer = new EventPrinter();
    printer.print("delta", { text: "a\u001b[8mb\tc\r\nd\r", round: 1 });
    printer.print("approval_request", { tool: "pay", arguments: { to: "\u009b8m\u007f" }, id: "apr" });
    print(false, {}, "user: \u001b]52;c;x\u0007\n");
  });

test("attack: control characters reach a pipe, and no terminal", () => {
  expect(shown(false)).toBe(
    'a\u001b[8mb\tc\r\nd\r? pay({"to":"\u009b8m\u007f"}) waits for approval apr\nuser: \u001b]52;c;x\u0007\n',
  );
  expect(shown(true)).toBe(
    'a\ufffd[8mb\tc\nd\ufffd\n? pay({"to":"\ufffd8m\ufffd"}) waits for approval apr\nuser: \ufffd]52;c;x\ufffd\n',
  );
});

test("a line about a run starts a new line in a terminal, and adds nothing to text in a pipe", () => {
  const lines = (isTTY: boolean): string =>
    written(isTTY, () => {
      const printer = new EventPrinter();
      printer.print("delta", { text: "I look." });
      printer.print("tool_call", { name: "look", arguments: {} });
      printer.print("tool_result", { ok: true, duration_ms: 5 });
      printer.print("delta", { text: "Seen.\n" });
      printer.say("The run ended.");
      printer.print("delta", { text: "More" });
      printer.endLine();
    });
  expect(lines(true)).toBe("I look.\n→ look({})\n← ok 5 ms\nSeen.\nThe run ended.\nMore\n");
  expect(lines(false)).toBe("I look.→ look({})\n← ok 5 ms\nSeen.\nThe run ended.\nMore");
});

test("a round that begins again is announced before its new text", () => {
  const retried = (isTTY: boolean): string =>
    written(isTTY, () => {
      const printer = new EventPrinter();
      printer.print("delta", { text: "half ", round: 1 });
      printer.print("round", { round: 1, restarted: true, parent_run_id: "above" });
      printer.print("round", { round: 1, restarted: true });
      printer.print("delta", { text: "whole", round: 1 });
      printer.print("round", { round: 1, finish_reason: "stop" });
    });
  const note = "↻ round 1 begins again: ignore its text above";
  expect(retried(true)).toBe(`half \n${note}\nwhole`);
  expect(retried(false)).toBe(`half ${note}\nwhole`);
});

test("a script may colour its output", () => {
  const write = vi.spyOn(process.stdout, "write").mockReturnValue(true);
  onTestFinished(() => write.mockRestore());
  new EventPrinter().print("delta", { text: "\u001b[31mred" });
  expect(write).toHaveBeenCalledWith("\u001b[31mred");
});
