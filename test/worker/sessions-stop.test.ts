/** What a run was doing ends with it, even if the process that ended the run dies. */
import { expect, it, vi } from "vitest";
import type { JsonObject } from "../../src/skill/manifest.ts";
import { inWorld, tool } from "./session-world.ts";

it("stops at the runner what a run was doing, although the process that cancelled it died", async () => {
  const script = {
    spec: { tools: [tool("count")] },
    replies: [{ calls: [["count", {}]] as [string, JsonObject][] }],
    during: () => new Promise<void>(() => {}),
  };
  await inWorld(script, async (world) => {
    await world.open();
    await world.start("r1", "go");
    await vi.waitFor(() => expect(world.performed).toHaveLength(1));
    world.conversation.log.store.submitted.note("e1", "admitted");
    const stop = vi.spyOn(world.conversation.runtime, "stop").mockReturnValue(new Promise(() => {}));
    await world.ask("cancel", { run_id: "r1" });
    expect(stop).toHaveBeenCalledOnce();
    await world.revive();
    await world.over();
    expect(world.stopped).toEqual(["e1"]);
    expect([world.store.due.list(), world.store.submitted.ids()]).toEqual([[], []]);
    await world.revive();
    await world.over();
    expect([world.stopped, await world.storage.getAlarm()]).toEqual([["e1"], null]);
  });
});
