/** Skills with tools of a tools.json, given as records, because these tests do not concern the build. */

import { sha256 } from "../../src/bytes.ts";
import { assembleSkill } from "../../src/skill/assemble.ts";
import { makeCatalog } from "../../src/skill/bundle.ts";
import { canonicalJson } from "../../src/skill/canonical.ts";
import { SHIPPED } from "../../src/skill/known-providers.ts";
import type { ConfigParam, SkillRecord, SkillTool } from "../../src/skill/manifest.ts";
import { type Client, entry, mockSkill, NO_DOCUMENT } from "./served.ts";

export function skillTool(name: string, more: Partial<SkillTool> = {}): SkillTool {
  return {
    name,
    description: `Does ${name}.`,
    parameters: { type: "object", properties: {}, required: [] },
    tier: "stub",
    timeout_ms: 60_000,
    env: [],
    network: null,
    filesystem: false,
    side_effects: false,
    idempotent: false,
    risk: "safe",
    hidden: false,
    config: [],
    ...more,
  };
}

export const param = (name: string, more: Partial<ConfigParam>): ConfigParam => ({
  name,
  type: "string",
  scope: "per_bot",
  ...more,
});

/** Publishes llm skills with these tools; returns their records by slug. */
export async function publishTools(
  client: Client,
  skills: Record<string, SkillTool[]>,
  text: (slug: string) => string = mockSkill,
): Promise<Record<string, SkillRecord>> {
  const files = [];
  const cards = [];
  const records: Record<string, SkillRecord> = {};
  for (const [slug, tools] of Object.entries(skills)) {
    const bytes = new TextEncoder().encode(text(slug));
    const sources = [{ path: "SKILL.md", mode: 0o644 as const, bytes: new Uint8Array(bytes) }];
    const place = { folder: slug, file: `${slug}/SKILL.md`, providers: SHIPPED };
    const { skill, diagnostics } = await assembleSkill(sources, place);
    if (skill === null) throw new TypeError(JSON.stringify(diagnostics));
    const record: SkillRecord = { ...skill.record, tools };
    const json = new Uint8Array(new TextEncoder().encode(canonicalJson(JSON.parse(JSON.stringify(record)))));
    const digest = await sha256(json);
    files.push(entry(`skill/${digest}`, json));
    if (skill.pack !== null) files.push(entry(`pack/${record.pack}`, skill.pack));
    cards.push({ ...skill.card, version: digest });
    records[slug] = record;
  }
  const manifests = Object.values(records).map(({ manifest }) => manifest);
  const catalog = await makeCatalog(cards, JSON.stringify(NO_DOCUMENT), manifests);
  files.push(entry(`openapi/${catalog.openapi.digest}`, new TextEncoder().encode(catalog.openapi.text)));
  files.push(entry(`catalog/${catalog.id}`, new TextEncoder().encode(catalog.json)));
  const uploaded = await client.upload(files);
  if (!uploaded.ok) throw new TypeError(await uploaded.text());
  const moved = await client.post("/_hull/catalog", { id: catalog.id });
  if (!moved.ok) throw new TypeError(await moved.text());
  return records;
}
