/** Immutable bundles and the catalog: the same tree gives the same digests everywhere. */
import { sha256, utf8 } from "../bytes.ts";
import { canonicalJson } from "./canonical.ts";
import { executables } from "./command.ts";
import { Findings } from "./findings.ts";
import type { BundledFile, Card, Catalog, Diagnostic, Manifest, SkillRecord } from "./manifest.ts";
import { byteOrder } from "./path.ts";
import type { RouteTable } from "./route.ts";
import { packTar, type TarFile } from "./tar.ts";
import type { Position } from "./tree.ts";
import { sentVariables } from "./variables.ts";
import { givesWorkspaceTools, wantsWorkspaceTools } from "./workspace-tools.ts";

/** SHA-256 in hex. The default is Web Crypto; the build passes Node's, which is faster for small inputs. */
export type Hash = (bytes: Uint8Array<ArrayBuffer>) => string | Promise<string>;

/** A file of the source folder. */
export interface SourceFile {
  path: string;
  mode: 0o644 | 0o755;
  bytes: Uint8Array<ArrayBuffer>;
  /** The file to which it is a symbolic link, from the skill's folder on; `bytes` are those of that file. */
  link?: string;
}

interface Bundle {
  record: SkillRecord;
  /** Canonical JSON of `record`; its SHA-256 is `digest`. */
  json: string;
  digest: string;
  /** Deterministic tar of the folder, without the file that a static skill serves. */
  pack: Uint8Array<ArrayBuffer>;
}

/** The parts of a record that do not follow from the folder. */
export type RecordExtras = Pick<
  SkillRecord,
  | "hooks"
  | "tools"
  | "workflows"
  | "diagnostics"
  | "signature"
  | "uploaded_by"
  | "stored"
  | "plugin"
  | "namespace"
  | "wants_workspace_tools"
>;

/**
 * Makes the record, its digest and the pack of a skill. Files that the manifest starts directly become executable,
 * whatever their mode in the source folder.
 * @param started files that the pack holds in addition to the folder's own
 */
export async function makeRecord(
  manifest: Manifest,
  body: string,
  files: readonly SourceFile[],
  hash: Hash = sha256,
  extras: RecordExtras = {},
  started: readonly SourceFile[] = [],
): Promise<Bundle> {
  const programs = new Set(executables(manifest));
  const packed: TarFile[] = [];
  const index: BundledFile[] = [];
  for (const file of [...files].sort((a, b) => byteOrder(a.path, b.path))) {
    const mode = programs.has(file.path) ? 0o755 : file.mode;
    packed.push({ ...file, mode });
    index.push({ path: file.path, size: file.bytes.length, mode, sha256: await hash(file.bytes) });
  }
  const handled = (extras.tools ?? []).some(({ script }) => script !== undefined);
  // The file that a static skill serves is stored separately, and may be large.
  const own = handled ? packed : packed.filter(({ path }) => path !== manifest.serve);
  const pack = packTar([...own, ...started]);
  const record: SkillRecord = {
    format: 1,
    manifest,
    body,
    files: index,
    pack: await hash(pack),
    ...(wantsWorkspaceTools({ manifest, body, files, ...extras }) ? { wants_workspace_tools: true } : {}),
    ...extras,
  };
  // Models see a tool's arguments in the order of declaration.
  const json = canonicalJson(record, new Set(record.tools?.map(({ parameters }) => parameters)));
  return { record, json, digest: await hash(utf8(json)), pack };
}

/** What `GET /skills` shows of a skill. */
export function card(
  record: Pick<
    SkillRecord,
    "manifest" | "tools" | "uploaded_by" | "signature" | "wants_workspace_tools" | "namespace" | "workflows"
  >,
  digest: string,
): Card {
  const { manifest } = record;
  const commands = manifest.llm?.tools ?? [];
  const tools = [...commands, ...(record.tools ?? []).filter(({ hidden }) => !hidden)].map(
    ({ name }) => name,
  );
  return {
    name: manifest.name,
    slug: manifest.slug,
    description: manifest.description,
    mode: manifest.mode,
    method: manifest.method,
    route: manifest.route,
    input: manifest.input,
    output: manifest.output,
    ...(manifest.input_mime.length === 0 ? {} : { inputMime: manifest.input_mime }),
    ...(manifest.output_mime === undefined ? {} : { outputMime: manifest.output_mime }),
    ...(tools.length === 0 ? {} : { tools }),
    version: digest,
    ...(record.uploaded_by === undefined ? {} : { uploaded: true }),
    ...(manifest.daemon === undefined ? {} : { daemon: true }),
    ...(manifest.activation?.context === "agent" ? { agent: true } : {}),
    ...(record.signature === undefined ? {} : { signer: record.signature.signer }),
    ...(givesWorkspaceTools(record) ? { workspaceTools: true } : {}),
    ...(record.namespace === undefined ? {} : { namespace: record.namespace }),
    ...(record.workflows === undefined
      ? {}
      : { workflows: record.workflows.map(({ name, digest }) => ({ name, digest })) }),
  };
}

/** A catalog in the published form, with its OpenAPI document. */
export interface CatalogBundle {
  catalog: Catalog;
  /** SHA-256 of `json`. */
  id: string;
  /** Canonical JSON of `catalog`. */
  json: string;
  openapi: { digest: string; text: string };
}

/**
 * The catalog of these cards. It names its OpenAPI document, so that both change together.
 * @param openapi text of the document (`src/api/document.ts`)
 * @param manifests of the same skills
 */
export async function makeCatalog(
  cards: readonly Card[],
  openapi: string,
  manifests: readonly Manifest[],
  hash: Hash = sha256,
  { overrides = {}, faults = {} }: Pick<Catalog, "overrides" | "faults"> = {},
): Promise<CatalogBundle> {
  const digest = await hash(utf8(openapi));
  const sorted = [...cards].sort((a, b) => byteOrder(a.slug, b.slug));
  const names = new Set(manifests.flatMap(sentVariables));
  const variables = names.size === 0 ? {} : { variables: [...names].sort(byteOrder) };
  const replaced = Object.keys(overrides).length === 0 ? {} : { overrides };
  const wrong = Object.keys(faults).length === 0 ? {} : { faults };
  const catalog: Catalog = { format: 1, cards: sorted, openapi: digest, ...variables, ...replaced, ...wrong };
  const json = canonicalJson(catalog);
  return { catalog, id: await hash(utf8(json)), json, openapi: { digest, text: openapi } };
}

/**
 * Enters a skill into the table of slugs and routes. Returns the diagnostic if an earlier skill (of a folder or
 * uploaded) holds the slug, the route, or the path above the route.
 * @param positions of the top-level fields
 */
export function claimAddress(
  table: RouteTable,
  {
    folder,
    file,
    manifest: { name, slug, route },
    positions,
  }: { folder: string; file: string; manifest: Manifest; positions: ReadonlyMap<string, Position> },
): Diagnostic | null {
  // Folders of one name are common in a collection. A root that is itself a skill has a name alone.
  const conflict = table.claim({ folder: file.split("/").slice(0, -1).join("/") || folder, slug, route });
  if (conflict === null) return null;
  const findings = new Findings(folder, file, positions);
  const field = positions.has(conflict.field) ? conflict.field : "name";
  const location = findings.field(field, conflict.field === "route" ? route : name);
  const rename =
    field === "name" ? "Rename one of the two skills" : "Choose another route for one of the two";
  const hint = `${rename}, or list the folder of one in .hullignore.`;
  findings.error(conflict.code, location, conflict.message, hint);
  return findings.list[0] ?? null;
}
