/** The files of skills as MCP resources: `skill://<slug>/<path>`, and nothing outside a bundle. */

import { percentDecoded, toBase64, utf8OrNull } from "../../bytes.ts";
import { fileNamed } from "../../skill/file-lookup.ts";
import { skillFileName } from "../../skill/file-text.ts";
import type { BundledFile, JsonObject } from "../../skill/manifest.ts";
import { mediaTypeOf } from "../../skill/media.ts";
import { byteOrder } from "../../skill/path.ts";
import { type Exchange, listed, type Served, skillOf, skillsAfter, staleMeta } from "./exchange.ts";
import { FAULT_CODES, fault, invalidParams, type Outcome } from "./message.ts";

/** Files on one page of the list. */
const PAGE = 500;
/** The longest file that can be read as a resource: it is held in memory, and travels as JSON. */
const MAX_BYTES = 8 * 1024 * 1024;

/** `resources/list`: the files of each skill, `SKILL.md` first. A page may end in the middle of a skill's files. */
export const listResources = (exchange: Exchange, params: JsonObject): Promise<Outcome> =>
  listed(params, "resources", async (key) => {
    const [, slug = "", path] = /^([^\n]*)(?:\n(.*))?$/s.exec(key) ?? [];
    const begun = path === undefined ? null : await skillOf(exchange, slug);
    const { skills, last } = await skillsAfter(exchange, slug);
    const rows: { row: JsonObject; key: string }[] = [];
    for (const served of begun === null ? skills : [begun, ...skills]) {
      const files = filesOf(served);
      const from = served === begun ? files.findIndex((file) => file.shown === path) + 1 : 0;
      for (const file of files.slice(from)) {
        rows.push({ row: resource(served, file), key: `${served.card.slug}\n${file.shown}` });
      }
    }
    const page = rows.slice(0, PAGE);
    const items = page.map(({ row }) => row);
    return { items, last: rows.length > PAGE ? (page.at(-1)?.key ?? null) : last };
  });

/** `resources/templates/list`. */
export function listTemplates({ invokes }: Exchange): Outcome {
  const template = {
    uriTemplate: "skill://{slug}/{+path}",
    name: "skill-file",
    description: "A file of a skill's folder; SKILL.md is there in every one.",
  };
  return { result: { resourceTemplates: invokes ? [template] : [] } };
}

/** `resources/read`. */
export async function readResource(exchange: Exchange, { uri }: JsonObject): Promise<Outcome> {
  if (typeof uri !== "string") return invalidParams("resources/read takes a uri.");
  const unknown = fault(
    exchange.protocol.modern ? FAULT_CODES.invalidParams : FAULT_CODES.resourceNotFound,
    "Resource not found",
    { data: { uri } },
  );
  const [, slug = "", path = ""] = /^skill:\/\/([a-z0-9-]+)\/([^?#]+)$/.exec(uri) ?? [];
  const served = slug === "" ? null : await skillOf(exchange, slug);
  const files = served === null ? [] : filesOf(served);
  const shown = fileNamed(
    percentDecoded(path) ?? "",
    files.map((known) => known.shown),
  );
  const file = files.find((known) => known.shown === shown);
  if (served === null || file === undefined) return unknown;
  if (file.size > MAX_BYTES) {
    return invalidParams(`The file has ${file.size} bytes; Hull reads resources of up to ${MAX_BYTES}.`);
  }
  const bytes = await exchange.context.deployment.registry.file(served.record, file);
  if (bytes === null) return unknown;
  const text = utf8OrNull(bytes);
  const content = text === null || text.includes("\0") ? { blob: toBase64(bytes) } : { text };
  return { result: { contents: [{ uri, mimeType: mediaTypeOf(file.path), ...content }] } };
}

interface ShownFile extends BundledFile {
  /** `SKILL.md`, whatever the file's own name. */
  shown: string;
}

/** Sorted, `SKILL.md` first. */
export function filesOf({ record: { files } }: Served): ShownFile[] {
  const own = skillFileName(files.map(({ path }) => path));
  const shown = files.map((file) => ({ ...file, shown: file.path === own ? "SKILL.md" : file.path }));
  const first = ({ path }: BundledFile): number => (path === own ? 0 : 1);
  return shown.sort((a, b) => first(a) - first(b) || byteOrder(a.shown, b.shown));
}

/** The URI of a file of a skill. */
export const resourceUri = (slug: string, path: string): string => `skill://${slug}/${encoded(path)}`;

function resource({ card, record: { manifest } }: Served, { shown: path, size }: ShownFile): JsonObject {
  const own = path === "SKILL.md";
  return {
    uri: resourceUri(manifest.slug, path),
    name: own ? manifest.slug : `${manifest.slug}/${path}`,
    ...(own ? { title: manifest.name, description: manifest.description } : {}),
    mimeType: mediaTypeOf(path),
    size,
    ...staleMeta(card),
  };
}

/** A path in the form for a URI (RFC 3986). */
function encoded(path: string): string {
  return path
    .split("/")
    .map((segment) => encodeURIComponent(segment.toWellFormed()))
    .join("/");
}
