/** What models, tools and users write does nothing to a terminal. */
import { expect, onTestFinished, test, vi } from "vitest";
import { printEvent } from "../../../scripts/call/answer.ts";
import { print } from "../../../scripts/report.ts";

/** What two events and a list show on a stream of this kind. */
function shown(isTTY: boolean): string {
  let text = "";
  for (const stream of [process.stdout, process.stderr]) {
    const before = stream.isTTY;
    stream.isTTY = isTTY;
    const write = vi.spyOn(stream, "write").mockImplementation((piece) => {
      text += String(piece);
      return true;
    });
    onTestFinished(() => {
      stream.isTTY = before;
      write.mockRestore();
    });
  }
  printEvent("delta", { text: "a\u001b[8mb\tc\r\nd\r", round: 1 });
  printEvent("approval_request", { tool: "pay", arguments: { to: "\u009b8m\u007f" }, id: "apr" });
  print(false, {}, "user: \u001b]52;c;x\u0007\n");
  return text;
}

test("attack: control characters reach a pipe, and no terminal", () => {
  expect(shown(false)).toBe(
    'a\u001b[8mb\tc\r\nd\r? pay({"to":"\u009b8m\u007f"}) waits for approval apr\nuser: \u001b]52;c;x\u0007\n',
  );
  expect(shown(true)).toBe(
    'a\ufffd[8mb\tc\nd\ufffd? pay({"to":"\ufffd8m\ufffd"}) waits for approval apr\nuser: \ufffd]52;c;x\ufffd\n',
  );
});

test("a script may colour what it prints", () => {
  const write = vi.spyOn(process.stdout, "write").mockReturnValue(true);
  onTestFinished(() => write.mockRestore());
  printEvent("delta", { text: "\u001b[31mred" });
  expect(write).toHaveBeenCalledWith("\u001b[31mred");
});
