/** Files that Hull writes only when somebody looks: storage may fail then, and they come all the same. */
import { expect, it } from "vitest";
import { writeFile } from "../../src/run/workspace/store.ts";
import { edge, said, specOf } from "../support/workflow-graphs.ts";
import { idle } from "./daemon-world.ts";
import { bindings } from "./file-bindings.ts";
import { get } from "./session-client.ts";
import { inWorld, type World } from "./session-world.ts";
import { run } from "./workflow-client.ts";

const PATH = "kept/run.json";
const MINUTE = 60_000;

/** R2 whose writes fail as long as `away` is true. */
function flaky() {
  const state = { away: true, refused: 0 };
  const put = (...asked: unknown[]): unknown => {
    if (!state.away) return Reflect.apply(bindings.FILES.put, bindings.FILES, asked);
    state.refused += 1;
    return Promise.reject(new TypeError("Network connection lost."));
  };
  const FILES = new Proxy(bindings.FILES, {
    get: (target, name) => {
      const value: unknown = name === "put" ? put : Reflect.get(target, name);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
  return { FILES, state };
}

const paths = async (world: World): Promise<string[]> =>
  (await world.ask("listFiles", [null, 10])).map(({ path }) => path);

/** An ended workflow run with a record to write. */
async function ended(world: World): Promise<void> {
  const spec = { ...specOf(world.id, { nodes: { a: said("one") } }), persist_path: PATH };
  const request = { name: "begin", hash: "h" };
  await world.ask("beginWorkflow", { spec, account: "a", request });
  await world.ask("workflow", { wait: "terminal" });
}

const isDue = (world: World): boolean => world.store.due.list().some(({ kind }) => kind === "owed");

it("the next look writes a file that storage did not take", async () => {
  const { FILES, state } = flaky();
  await inWorld({ replies: [], env: { FILES } }, async (world) => {
    await ended(world);
    expect([await paths(world), isDue(world)]).toEqual([[], true]);
    state.away = false;
    expect([await paths(world), isDue(world)]).toEqual([[PATH], false]);
  });
});

/** Sessions that owe a file. */
const OWING: Record<string, (world: World) => Promise<unknown>> = {
  "workflow run": ended,
  daemon: (world) => idle(world, { persist_path: PATH }),
};

it.each(Object.entries(OWING))(
  "the alarm writes the file of a %s, until storage takes it",
  async (_, owing) => {
    const { FILES, state } = flaky();
    await inWorld({ replies: ["idle"], env: { FILES } }, async (world) => {
      await owing(world);
      expect([await paths(world), isDue(world)]).toEqual([[], true]);
      const { refused } = state;
      world.now += MINUTE;
      world.alarm();
      await world.over();
      expect([state.refused > refused, isDue(world)]).toEqual([true, true]);
      state.away = false;
      world.now += MINUTE;
      world.alarm();
      await world.over();
      expect([world.conversation.files.presentFiles(null, 10), isDue(world)]).toMatchObject([
        [{ path: PATH }],
        false,
      ]);
    });
  },
);

it("a file that the session refuses is not tried again", async () => {
  await inWorld({ replies: [] }, async (world) => {
    await ended(world);
    const { files } = world.conversation;
    const intent = { path: "kept", expected: null, size: 1 };
    await writeFile(bindings.FILES, files.byRun, intent, [new Uint8Array(1)]);
    expect([await paths(world), isDue(world)]).toEqual([["kept"], false]);
  });
});

it("a run that continues has a copy of the earlier run's record, though nobody looked at it", async () => {
  const graph = { nodes: { a: said("one"), b: said("two") }, edges: [edge("a", "b")] };
  const first = await run(graph, { options: { persist_path: PATH, max_steps: 1 } });
  const second = await run(graph, { options: { resume_run: first.id } });
  expect(second.stages).toHaveLength(2);
  expect(await get(`/sessions/${second.id}/files/${PATH}`)).toEqual(first);
});
