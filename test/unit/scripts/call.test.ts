/** What `hull call` sends, by the card of the skill, and what it does with the files of the answer. */
import { mkdirSync, readdirSync, readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { type CallInput, callRequest, type SkillAddress } from "../../../scripts/call/request.ts";
import type { JsonObject } from "../../../src/skill/manifest.ts";
import { runHere } from "../../support/hull-here.ts";
import { serve } from "./answering-server.ts";
import { folder } from "./folder.ts";

const POST: SkillAddress = { route: "/skills/x", method: "POST", input: "text" };
const FILE: SkillAddress = { ...POST, input: "file" };
const BYTES = Buffer.from([0xff, 0x00, 0xfe]);

/** Type and bytes of the body for `--input TEXT`. */
async function sent(card: SkillAddress, text: string): Promise<[string | undefined, string]> {
  const { init } = await callRequest("http://localhost:3000", card, { text, files: [] });
  if (!(init.body instanceof Uint8Array)) return [undefined, ""];
  return [init.headers?.["content-type"], Buffer.from(init.body).toString("latin1")];
}

test.each<[string, JsonObject, string, string]>([
  ["an object", { type: "object" }, '{"n": 12345678901234567890}', '{"input":{"n": 12345678901234567890}}'],
  ["a number", { type: "integer" }, "5", '{"input":5}'],
  ["a text that is no JSON", {}, "five", '{"input":"five"}'],
  ["a text where the schema takes texts alone", { type: "string" }, "5", '{"input":"5"}'],
  ["a text that would add a member", {}, '1,"files":[]', '{"input":"1,\\"files\\":[]"}'],
])("a skill with input_schema gets JSON: %s", async (_, input_schema, text, body) => {
  expect(await sent({ ...POST, input_schema }, text)).toEqual(["application/json", body]);
});

test.each<[string, SkillAddress, Partial<CallInput>, string]>([
  ["a file by GET", { ...POST, method: "GET" }, { files: ["a"] }, "files_not_taken"],
  [
    "a file together with JSON",
    { ...POST, input_schema: {} },
    { text: "{}", files: ["a"] },
    "files_not_taken",
  ],
  ["no JSON where the skill needs it", { ...POST, input_schema: {} }, {}, "input_missing"],
])("input that a skill cannot take is refused before the call: %s", async (_, card, given, code) => {
  const input = { text: undefined, files: [], ...given };
  await expect(callRequest("http://localhost:3000", card, input)).rejects.toMatchObject({ exit: 2, code });
});

test("a name that would be another path is escaped or refused", async () => {
  const asked: (string | undefined)[] = [];
  const url = await serve(({ url }, response) => {
    asked.push(url);
    response.writeHead(404).end(JSON.stringify({ code: "skill_not_found", detail: "None." }));
  });
  const call = async (name: string) =>
    (await runHere(["call", name, "--url", url], folder(), { ...process.env })).code;
  expect([await call("?"), await call("#"), await call("..")]).toEqual([3, 3, 3]);
  expect(asked).toEqual(["/skills/%3F/card", "/skills/%23/card"]);
});

test("content that is no text reaches the skill byte for byte, with a type that it takes", async () => {
  const dir = folder({ content: BYTES, "a.PNG": BYTES });
  const path = join(dir, "content");
  const bytes = BYTES.toString("latin1");
  expect(await sent(FILE, `@${path}`)).toEqual(["application/octet-stream", bytes]);
  expect(await sent({ ...FILE, inputMime: ["image/png"] }, `@${path}`)).toEqual(["image/png", bytes]);
  expect(await sent({ ...FILE, inputMime: ["image/*"] }, `@${path}`)).toEqual([
    "application/octet-stream",
    bytes,
  ]);
  expect(await sent({ ...FILE, inputMime: ["image/*"] }, `@${dir}/a.PNG`)).toEqual(["image/png", bytes]);
  expect(await sent(FILE, "a text")).toEqual(["text/plain", "a text"]);
  expect(await sent(POST, `@${path}`)).toEqual(["text/plain", bytes]);
  for (const card of [
    { ...POST, method: "GET" },
    { ...POST, input_schema: {} },
  ])
    await expect(sent(card, `@${path}`)).rejects.toMatchObject({ exit: 2, code: "bad_encoding" });
});

test("files go with the types of their names", async () => {
  const dir = folder({ "a.png": BYTES, "b.csv": "1", "c.unknown": BYTES });
  const files = ["a.png", "b.csv", "c.unknown"].map((name) => join(dir, name));
  const { init } = await callRequest("http://localhost:3000", FILE, { text: undefined, files });
  const types =
    init.body instanceof FormData
      ? init.body.getAll("file").map((file) => (file instanceof File ? file.type : ""))
      : [];
  expect(types).toEqual(["image/png", "text/csv; charset=utf-8", "application/octet-stream"]);
});

describe("files of an answer", () => {
  /** Calls a skill that answers with these files, from a folder; answers the exit code and the lines on stderr. */
  const answered = async (dir: string, files: [name: string, text: string][], ...args: string[]) => {
    const note = { note: "", files: files.map(([filename, text]) => ({ filename, dataBase64: btoa(text) })) };
    let calls = 0;
    const url = await serve(({ url = "" }, response) => {
      const isCard = url.endsWith("/card");
      if (!isCard) calls++;
      response.setHeader("content-type", "application/json").end(JSON.stringify(isCard ? POST : note));
    });
    const env = { ...process.env, TMPDIR: join(dir, "temporary") };
    mkdirSync(env.TMPDIR, { recursive: true });
    const { code, printed } = await runHere(["call", "x", "--url", url, ...args], dir, env);
    return {
      code,
      calls,
      lines: printed
        .map(({ text }) => text)
        .join("")
        .split("\n")
        .slice(0, -1),
    };
  };
  const inFolder = (dir: string) =>
    readdirSync(dir)
      .sort()
      .map((name) => [name, readFileSync(join(dir, name), "utf8")]);

  test("replace no existing file unless asked to; the same file is not written twice", async () => {
    const dir = folder({ "out/a.txt": "mine" });
    symlinkSync("../elsewhere", join(dir, "out", "b.txt"));
    const files: [string, string][] = [
      ["a.txt", "new"],
      ["b.txt", "linked"],
      ["c.txt", "one"],
      ["c.txt", "two"],
    ];
    const first = await answered(dir, files, "-o", "out");
    expect(first).toMatchObject({ code: 0, calls: 1 });
    expect(first.lines).toEqual([
      "out/a-2.txt (3 bytes): out/a.txt is another file, which --force overwrites",
      "out/b-2.txt (6 bytes): out/b.txt is another file, which --force overwrites",
      "out/c.txt (3 bytes)",
      "out/c-2.txt (3 bytes): out/c.txt is another file, which --force overwrites",
    ]);
    const again = await answered(dir, files.slice(0, 1), "-o", "out");
    expect(again.lines).toEqual([
      "out/a-2.txt (3 bytes, unchanged): out/a.txt is another file, which --force overwrites",
    ]);
    expect(readFileSync(join(dir, "out", "a.txt"), "utf8")).toBe("mine");
    expect(readdirSync(dir).sort()).toEqual(["out", "temporary"]);
    const forced = await answered(
      dir,
      [files[0] ?? ["", ""], ["c.txt", "1"], ["c.txt", "2"]],
      "-o",
      "out",
      "--force",
    );
    expect(forced.lines).toEqual(["out/a.txt (3 bytes)", "out/c.txt (1 byte)", "out/c-2.txt (1 byte)"]);
  });

  test("stay in the folder, whatever the server calls them", async () => {
    const dir = folder();
    const { code } = await answered(
      dir,
      [
        ["../up.txt", "1"],
        ["..", "2"],
        ["", "3"],
      ],
      "-o",
      "out",
    );
    expect(code).toBe(0);
    expect(inFolder(join(dir, "out"))).toEqual([
      ["output", "2"],
      ["output-2", "3"],
      ["up.txt", "1"],
    ]);
  });

  test("are stored elsewhere if they cannot be written; a folder that cannot be made is refused before the call", async () => {
    const dir = folder({ file: "", "out/x": "" });
    for (const out of ["file", "file/below"]) {
      const refused = await answered(dir, [["a.txt", "new"]], "-o", out);
      expect(refused).toMatchObject({ code: 2, calls: 0 });
      expect(refused.lines[0]).toContain(`The files of the answer cannot go into ${out}: `);
    }
    const long = `${"n".repeat(300)}.txt`;
    const kept = await answered(
      dir,
      [
        [long, "paid"],
        ["b.txt", "too"],
      ],
      "-o",
      "out",
    );
    expect(kept).toMatchObject({
      code: 1,
      lines: [expect.stringContaining("its name is too long"), "out/b.txt (3 bytes)"],
    });
    const [, path = ""] = /is kept as (.*)\.$/.exec(kept.lines[0] ?? "") ?? [];
    expect(path).toContain(join(dir, "temporary"));
    expect(readFileSync(path, "utf8")).toBe("paid");
  });
});
