/**
 * The artifacts of a session. The record that settled a call holds the content of a version, and a row points to that
 * record, so the content is stored only once.
 */
import type { Applied } from "../../engine/agent/apply.ts";
import type { AgentRecord } from "../../engine/agent/records.ts";
import type { Artifact, ImportedArtifact } from "../../engine/artifact.ts";
import { CallNotFound } from "../../errors/llm.ts";
import { defined } from "../../skill/json.ts";
import type { Tables } from "../tables.ts";
import type { ArtifactEntry, ArtifactView } from "./answers.ts";
import type { Rows } from "./rows.ts";

/** A version without its content. */
type Head = Pick<ArtifactEntry, "type" | "title" | "language" | "run_id" | "call_id">;

/** Its place among those of the same row of records. Absent: the first, or an earlier version of Hull stored it. */
type StoredHead = Head & { place?: number };
/** `null` comes first. */
const PLACE = "json_extract(head, '$.place')";

export interface VersionRow {
  id: string;
  version: number;
  /** Number of the row of records that contains this version. */
  record: number;
  /** Unix ms. */
  at: number;
  /** `Head` as JSON. */
  head: string;
}

/** The artifacts in a record, each with the call that made it. */
function artifactsOf({ record, before: { run } }: Applied): readonly ImportedArtifact[] {
  if (record.type === "artifacts_imported") return record.artifacts;
  const brought = broughtBy(record);
  if (brought.length === 0) return [];
  const effect = "effect" in record ? record.effect : null;
  const call_id = run?.calls.find((open) => open.effect === effect)?.call.id ?? "";
  const of = { at: record.at, run_id: run?.spec.run_id ?? "", call_id };
  return brought.map((artifact) => ({ artifact, ...of }));
}

function broughtBy(record: AgentRecord): Artifact[] {
  if (record.type === "artifacts_imported") return record.artifacts.map(({ artifact }) => artifact);
  const settles = record.type === "tool_settled" || record.type === "tool_executed";
  return settles ? (record.result.artifacts ?? []) : [];
}

export class StoredArtifacts {
  readonly #records: Rows<AgentRecord[]>;
  readonly #tables: Tables<"artifact">;
  #latest = { record: 0, place: 0 };

  constructor(records: Rows<AgentRecord[]>, tables: Tables<"artifact">) {
    this.#records = records;
    this.#tables = tables;
  }

  /**
   * Stores rows for the artifacts of a record. Call it in the transaction that stores the record, after the record's
   * row.
   */
  note(applied: Applied): void {
    for (const { artifact, at, run_id, call_id } of artifactsOf(applied)) {
      const { id, version, type, title, language } = artifact;
      const record = this.#records.last();
      const place = record === this.#latest.record ? this.#latest.place + 1 : 0;
      this.#latest = { record, place };
      const head: StoredHead = {
        type,
        title,
        ...defined({ language }),
        run_id,
        call_id,
        ...(place === 0 ? {} : { place }),
      };
      const row = { id, version, record, at, head: JSON.stringify(head) };
      this.#tables.insert("artifact", row, "INSERT OR IGNORE");
    }
  }

  /** Every version, in the order of creation. A fork has those of its parent in few records. */
  versions(): VersionRow[] {
    return this.#tables.exec("artifact", `SELECT * FROM artifact ORDER BY at, record, ${PLACE}, id, version`);
  }

  /** A version in the form that a fork imports; `null`: it cannot be read. */
  imported(row: VersionRow): ImportedArtifact | null {
    const artifact = this.#content(row);
    const { run_id, call_id }: Head = JSON.parse(row.head);
    return artifact === null ? null : { artifact, at: row.at, run_id, call_id };
  }

  /** The last version; `null`: there is none. */
  latest(id: string): Artifact | null {
    const [row] = this.#rows("WHERE id = ? ORDER BY version DESC LIMIT 1", id);
    return row === undefined ? null : this.#content(row);
  }

  /** Artifacts in the order of their first versions, each in its latest version. */
  list({ offset, limit }: { offset: number; limit: number }): { data: ArtifactEntry[]; next: number | null } {
    const rows = this.#tables.exec<VersionRow & { versions: number; created: number }>(
      "artifact",
      `SELECT artifact.*, versions, created FROM artifact
       JOIN (SELECT id, max(version) AS version, count(*) AS versions FROM artifact GROUP BY id) USING (id, version)
       JOIN (SELECT id, min(version), at AS created, record AS first, ${PLACE} AS place FROM artifact GROUP BY id)
         USING (id)
       ORDER BY created, first, place, id LIMIT ? OFFSET ?`,
      limit + 1,
      offset,
    );
    const data = rows.slice(0, limit).map(({ versions, created, ...row }) => {
      const { place: _, ...head }: StoredHead = JSON.parse(row.head);
      const { id, version } = row;
      return { id, ...head, version, versions, created_at: time(created), updated_at: time(row.at) };
    });
    return { data, next: rows.length > limit ? offset + limit : null };
  }

  /** @param version `null`: the last one. @throws CallNotFound */
  view(id: string, version: number | null): ArtifactView {
    const rows = this.#rows("WHERE id = ? ORDER BY version", id);
    const row = version === null ? rows.at(-1) : rows.find((each) => each.version === version);
    const artifact = row === undefined ? null : this.#content(row);
    if (row === undefined || artifact === null) {
      throw new CallNotFound({ what: "artifact", id: version === null ? id : `${id}, version ${version}` });
    }
    const { run_id, call_id }: Head = JSON.parse(row.head);
    const versions = rows.map((each) => ({ version: each.version, created_at: time(each.at) }));
    return { ...artifact, run_id, call_id, created_at: time(row.at), versions };
  }

  #rows(where: string, id: string): VersionRow[] {
    return this.#tables.exec("artifact", `SELECT * FROM artifact ${where}`, id);
  }

  #content({ id, version, record }: VersionRow): Artifact | null {
    for (const row of this.#records.after(record - 1)) {
      const records = row.ok && row.seq === record ? row.value : [];
      for (const each of records) {
        const found = broughtBy(each).find((made) => made.id === id && made.version === version);
        if (found !== undefined) return found;
      }
      break;
    }
    return null;
  }
}

const time = (at: number): string => new Date(at).toISOString();
