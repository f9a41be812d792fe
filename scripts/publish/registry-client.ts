/** Publishes a build to a running Hull over HTTP: missing objects first, the catalog pointer last. */
import { createHash } from "node:crypto";
import { type SkillRecord, skillRecordShape } from "../../src/skill/manifest.ts";
import { packTar, type TarFile } from "../../src/skill/tar.ts";
import type { CatalogRequest, ServedCatalog } from "../../typed/client/api.d.ts";
import { AdminClient } from "../admin-client.ts";
import type { BuildResult } from "../build/build.ts";
import { CommandError } from "../command.ts";
import { batches, missingObjects, type RegistryObject } from "./objects.ts";

/** Size of one upload in bytes; it limits what the Worker must hold in memory. */
const BATCH_BYTES = 4 * 1024 * 1024;

export class RegistryClient {
  readonly #client: AdminClient;
  /** Names of objects that the registry has; `null` until it was asked. */
  #known: Set<string> | null = null;

  /**
   * @param key an API key with the scope `publish`; not needed in local dev
   * @param answerMs see `AdminClient`
   */
  constructor(url: string, key: string | undefined, answerMs?: number) {
    this.#client = new AdminClient(url, key, answerMs);
  }

  /**
   * The catalog that is served and the one before; `null`: the server does not know, because it or the catalog is of
   * another version of Hull.
   */
  async served(): Promise<ServedCatalog | null> {
    try {
      return await this.#client.ask("GET /_hull/catalog", {}, { needs: ["id"] });
    } catch (error) {
      if (error instanceof CommandError && UNKNOWN.includes(error.code)) return null;
      throw error;
    }
  }

  /**
   * Publishes a build's catalog; returns the number of objects sent.
   * @param instead of which catalog, and of no other; `null`: of any
   */
  async publish(result: BuildResult, instead: ServedCatalog | null = null): Promise<number> {
    const { catalog, skills } = result;
    if (catalog === null) return 0;
    const known = await this.#knownObjects();
    let sent = 0;
    const missing = missingObjects({ skills, catalog }, (name) => known.has(name));
    for await (const batch of batches(missing, BATCH_BYTES)) {
      await this.#upload(batch);
      for (const { name } of batch) known.add(name);
      sent += batch.length;
    }
    await this.#serve({ id: catalog.id, base: instead === null ? undefined : instead.id });
    return sent;
  }

  /** The version of a skill that is served; `null`: there is none. */
  async published(slug: string): Promise<{ digest: string; record: SkillRecord } | null> {
    try {
      const { digest, record } = await this.#client.ask(
        "GET /_hull/catalog/{slug}",
        { path: { slug } },
        { needs: ["digest", "record"] },
      );
      return { digest, record: skillRecordShape.parse(record) };
    } catch (error) {
      if (error instanceof CommandError && NOT_PUBLISHED.includes(error.code)) return null;
      throw error;
    }
  }

  /** Serves the previous catalog again; returns its id. */
  async rollback(): Promise<string> {
    const served = await this.served();
    return this.#serve(
      served === null || served.previous === null
        ? { rollback: true }
        : { id: served.previous, base: served.id },
    );
  }

  /**
   * Returns the id of the catalog. An answer may be lost after the catalog has changed: naming the same one again changes
   * nothing then, but a second rollback would undo the first.
   */
  async #serve(json: CatalogRequest): Promise<string> {
    const sent = { once: !("id" in json), needs: ["id"] } as const;
    return (await this.#client.ask("POST /_hull/catalog", { json }, sent)).id;
  }

  async #knownObjects(): Promise<Set<string>> {
    if (this.#known !== null) return this.#known;
    const known = new Set<string>();
    for (let cursor: string | undefined; ; ) {
      const page = await this.#client.ask(
        "GET /_hull/bundles",
        { query: { cursor } },
        { needs: ["data", "next_cursor"] },
      );
      for (const key of page.data) known.add(key.replace(":", "/"));
      if (page.next_cursor === null) break;
      cursor = page.next_cursor;
    }
    this.#known = known;
    return known;
  }

  async #upload(batch: readonly RegistryObject[]): Promise<void> {
    const files = batch.map(({ name, bytes }): TarFile => ({ path: name, mode: 0o644, bytes }));
    const tar = packTar(files);
    const digest = createHash("sha256").update(tar).digest("hex");
    await this.#client.ask("PUT /_hull/bundles/{digest}", { path: { digest } }, { tar });
  }
}

/** `method_not_allowed`: the server is an earlier version of Hull. */
const UNKNOWN: readonly string[] = ["method_not_allowed", "catalog_unreadable"];

/** `not_found`: the server is an earlier version of Hull, which has no such route. */
const NOT_PUBLISHED: readonly string[] = ["skill_not_found", "catalog_missing", "not_found"];
