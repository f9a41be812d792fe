/**
 * What an object logs after the last test of a file does not delay the end of the run. A fault here would not fail a test:
 * the run would not end.
 */
import { runInDurableObject } from "cloudflare:test";
import { expect, it } from "vitest";
import { bindings } from "./file-bindings.ts";

it("an object that keeps logging does not block vitest", async () => {
  const { SESSIONS } = bindings;
  const logged = await runInDurableObject(SESSIONS.get(SESSIONS.idFromName("late")), (_, state) => {
    state.waitUntil(
      (async () => {
        for (let line = 0; line < 2000; line++) {
          console.error(JSON.stringify({ event: "late", line }));
          await new Promise((resolve) => setTimeout(resolve, 0));
        }
      })(),
    );
    return "begun";
  });
  expect(logged).toBe("begun");
});
