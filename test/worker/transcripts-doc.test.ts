/** The examples of docs/transcripts.md, carried out. */
import { expect, it } from "vitest";
import text from "../../docs/transcripts.md?raw";
import { TRANSCRIPT_OPERATIONS } from "../../src/llm/transcript-operations/operations.ts";
import { blocks } from "../support/documents.ts";
import { Client } from "./served.ts";

const client = new Client();
const examples = blocks(text).filter(({ language }) => language === "http");

/** What an example leaves open may be anything; members that it does not show do not count. */
function claimed(value: unknown): unknown {
  if (value === "…") return expect.any(String);
  if (Array.isArray(value)) return value.map(claimed);
  if (typeof value !== "object" || value === null) return value;
  return expect.objectContaining(
    Object.fromEntries(Object.entries(value).map(([name, member]) => [name, claimed(member)])),
  );
}

it.each(examples.map((example) => [example.text.split("\n")[0] ?? "", example.text]))(
  "%s",
  async (line, example) => {
    const [request = "", answer = ""] = example.slice(line.length).split("\n\n");
    const response = await client.post(line.replace("POST ", ""), JSON.parse(request));
    expect([response.status, await response.json()]).toEqual([200, claimed(JSON.parse(answer))]);
  },
);

it("lists every operation, and no other", () => {
  const table = text.split("| Operation | Takes | Answers |")[1]?.split("\n\n")[0] ?? "";
  const cells = Array.from(table.matchAll(/^\| ([^|]*) \|/gm), ([, cell = ""]) => cell);
  const names = cells.flatMap((cell) => Array.from(cell.matchAll(/`([a-z_]+)`/g), ([, name]) => name));
  expect(names.toSorted()).toEqual(Array.from(TRANSCRIPT_OPERATIONS.keys()).toSorted());
});
