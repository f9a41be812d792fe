/** What is stored of the specifications of a session's runs: each long member once, as long as it stays the same. */
import { expect, it } from "vitest";
import { inWorld, SPEC, tool, type World } from "./session-world.ts";

const long = (name: string, text: string) => ({
  ...tool(name),
  definition: { name, description: text.repeat(600), parameters: { type: "object" } },
});
const TOOLS = [long("first", "abc"), long("second", "déf")];

/** The stored rows with which runs begin, by number of the row. */
function starts({ storage }: World): { seq: number; text: string }[] {
  const rows = storage.sql.exec<{ seq: number; data: ArrayBuffer }>(
    "SELECT id >> 16 AS seq, data FROM records ORDER BY id",
  );
  return rows
    .toArray()
    .map(({ seq, data }) => ({ seq, text: new TextDecoder().decode(data) }))
    .filter(({ text }) => text.includes('"run_started"'));
}
const specs = (world: World) =>
  world.records().flatMap((record) => (record.type === "run_started" ? [record.spec] : []));
const replies = ["one", "two", "three", "four"];

it("stores long members of a specification once for the runs that have the same", async () => {
  await inWorld({ spec: { tools: TOOLS }, replies }, async (world) => {
    await world.open();
    await world.run("r1", "go");
    await world.run("r2", "go on");
    // A process that has not stored the runs before compares with what they stored.
    await world.revive();
    await world.run("r3", "go on");
    const [first, second, third] = starts(world);
    expect(first?.text).toContain("abcabc");
    expect(second?.text).not.toContain("abcabc");
    expect(third?.text).not.toContain("abcabc");
    expect(second?.text).toContain(`"same":{"tools":${first?.seq}}`);
    expect(third?.text).toContain(`"same":{"tools":${first?.seq}}`);
    expect(specs(world)).toEqual(
      [
        ["r1", "go"],
        ["r2", "go on"],
        ["r3", "go on"],
      ].map(([run_id, text]) => ({
        ...SPEC,
        run_id,
        session_id: world.id,
        tools: TOOLS,
        prompt: [{ role: "user", content: [{ type: "text", text }] }],
      })),
    );
  });
});

it("stores a member again once it changes, and refers to the new one from then on", async () => {
  const other = [long("third", "xyz")];
  await inWorld({ spec: { tools: TOOLS, system: "Be kind. ".repeat(200) }, replies }, async (world) => {
    await world.open();
    await world.run("r1", "go");
    await world.run("r2", "go on", { tools: other });
    await world.run("r3", "go on", { tools: other });
    await world.run("r4", "go on");
    const [first, second, third, fourth] = starts(world);
    expect(second?.text).toContain(`"same":{"system":${first?.seq}}`);
    expect(third?.text).toContain(`"same":{"system":${first?.seq},"tools":${second?.seq}}`);
    expect(fourth?.text).toContain("abcabc");
    expect(specs(world).map(({ tools }) => tools)).toEqual([TOOLS, other, other, TOOLS]);
  });
});

it("counts a run as damaged if the row that it refers to cannot be read", async () => {
  await inWorld({ spec: { tools: TOOLS }, replies }, async (world) => {
    await world.open();
    await world.run("r1", "go");
    await world.run("r2", "go on");
    const [first] = starts(world);
    world.storage.sql.exec(
      "UPDATE records SET data = ? WHERE id >> 16 = ?",
      new Uint8Array([123]),
      first?.seq ?? 0,
    );
    await world.revive();
    expect(specs(world)).toEqual([]);
    await world.run("r3", "go on");
    expect(starts(world).at(-1)?.text).toContain("abcabc");
    expect(specs(world).map(({ run_id, tools }) => ({ run_id, tools }))).toEqual([
      { run_id: "r3", tools: TOOLS },
    ]);
  });
});
