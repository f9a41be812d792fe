/** Artifacts in the forms in which tools give them. */
import { describe, expect, it } from "vitest";
import { type Artifact, artifactLine, isArtifact, readArtifact } from "../../../src/engine/artifact.ts";
import type { Json, JsonObject } from "../../../src/skill/manifest.ts";

const KNOWN: Artifact = {
  id: "page",
  type: "html",
  title: "Page",
  content: "<p>1",
  version: 3,
  metadata: { a: 1, b: 1 },
};
const read = (given: JsonObject) =>
  readArtifact(
    given,
    (id) => (id === KNOWN.id ? KNOWN : null),
    () => "art_new",
  );

describe("a new one", () => {
  it.each<[string, JsonObject, Partial<Artifact>]>([
    [
      "nothing but the mark",
      {},
      { id: "art_new", type: "custom", title: "Untitled", content: "", metadata: {}, version: 1 },
    ],
    ["code", { type: "code", content: "x" }, { language: "text", metadata: { editable: true } }],
    [
      "code of a language",
      { type: "code", language: "go", metadata: { editable: false } },
      { language: "go", metadata: { editable: false } },
    ],
    ["react", { type: "react" }, { language: "tsx", metadata: {} }],
    [
      "a document",
      { type: "document", fileName: "a.pdf", mimeType: "x/y", metadata: { fileName: "b.pdf", pages: 2 } },
      { metadata: { fileName: "b.pdf", mimeType: "x/y", pages: 2 } },
    ],
    [
      "with everything",
      { id: "a-1", type: "svg", title: "T", content: "<svg/>", plugin: "p", version: 4 },
      { id: "a-1", plugin: "p", version: 4 },
    ],
    [
      "an id that is known: its next version",
      { id: "page", type: "html", version: 1 },
      { id: "page", version: 4 },
    ],
    ["content that is no text", { type: "custom", content: { rows: [1] } }, { content: { rows: [1] } }],
  ])("%s", (_, given, expected) => {
    const made = read({ __artifact__: true, ...given });
    expect("artifact" in made ? made.artifact : made).toMatchObject(expected);
  });

  it("of an unknown type is custom, with a diagnostic", () => {
    expect(read({ type: "hologram" })).toMatchObject({
      artifact: { type: "custom" },
      findings: [{ code: "artifact_type_unknown", message: expect.stringContaining('the type "hologram"') }],
    });
    expect(read({ type: "html" })).toMatchObject({ findings: [] });
  });
});

describe("an update", () => {
  const update = (given: JsonObject) => read({ __artifact_update__: true, id: "page", ...given });

  it.each<[string, JsonObject, Partial<Artifact>]>([
    ["nothing: the next version", {}, { ...KNOWN, version: 4 }],
    ["metadata is merged", { metadata: { b: 2, c: 3 } }, { metadata: { a: 1, b: 2, c: 3 }, content: "<p>1" }],
    ["content and title are replaced", { content: "<p>2", title: "New" }, { content: "<p>2", title: "New" }],
    ["a later version", { version: 9 }, { version: 9 }],
    ["an earlier one does not count", { version: 2 }, { version: 4 }],
    ["the type stays", { type: "svg", language: "x" }, { type: "html" }],
  ])("%s", (_, given, expected) => {
    const made = update(given);
    expect("artifact" in made ? made.artifact : made).toMatchObject(expected);
    expect("artifact" in made && made.artifact).not.toHaveProperty("language");
  });

  it.each<[string, JsonObject, RegExp]>([
    ["of nothing", { id: "other" }, /no artifact "other"/],
    ["without id", { id: null }, /names its id/],
  ])("%s is an error", (_, given, error) => {
    expect(update(given)).toEqual({ error: expect.stringMatching(error) });
  });
});

it.each<[JsonObject, RegExp]>([
  [{ id: "a/b" }, /id of 1 to 128/],
  [{ id: 5 }, /id of/],
  [{ id: "x".repeat(129) }, /id of/],
  [{ title: 1 }, /title .* must be a string/],
  [{ metadata: [] }, /metadata .* must be an object/],
  [{ version: 0 }, /version/],
  [{ version: 1.5 }, /version/],
])("%j is an error", (given, error) => {
  expect(read(given)).toEqual({ error: expect.stringMatching(error) });
});

it.each<[Json, boolean]>([
  [{ __artifact__: true }, true],
  [{ __artifact_update__: true }, true],
  [{ __artifact__: "true" }, false],
  [{ __artifact__: 1 }, false],
  [[{ __artifact__: true }], false],
  [null, false],
  ["__artifact__", false],
])("%j is one: %s", (value, is) => {
  expect(isArtifact(value)).toBe(is);
});

it("a model gets one line about it, without its content", () => {
  const artifact = { ...KNOWN, content: "SECRET-CONTENT" };
  expect(artifactLine(artifact, false)).toBe('Artifact "Page" was made (id page, version 3).');
  expect(artifactLine(artifact, true)).toBe("Artifact page was updated to version 3.");
  expect(artifactLine({ ...artifact, title: "a\nb" }, false)).not.toContain("\n");
});
