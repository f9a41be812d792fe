/** Publishes skills to the Worker under test over its own HTTP surface, and calls it with chosen settings. */
import { createExecutionContext, waitOnExecutionContext } from "cloudflare:test";
import { env as boundEnv } from "cloudflare:workers";
import type { Bindings } from "../../src/env.ts";
import { createApp } from "../../src/http/app.ts";
import { card, makeCatalog, makeRecord, webCryptoHash } from "../../src/skill/bundle.ts";
import type { Manifest } from "../../src/skill/manifest.ts";
import { openapiText } from "../../src/skill/openapi/document.ts";
import { parseManifest } from "../../src/skill/parse.ts";
import { packTar, type TarFile } from "../../src/skill/tar.ts";

const app = createApp();

/** Settings of a Worker as `hull dev` starts it; a test may change them. */
export const LOCAL = { HULL_ENV: "local" };

export class Client {
  readonly env: Bindings;

  constructor(variables: Record<string, string> = LOCAL) {
    this.env = Object.assign({}, boundEnv as Bindings, variables);
  }

  /** One request through the whole app, background work included. */
  async fetch(path: string, init: RequestInit = {}): Promise<Response> {
    const context = createExecutionContext();
    const request = new Request(path.startsWith("http") ? path : `http://localhost:3000${path}`, init);
    const response = await app.fetch(request, this.env, context);
    const body = response.body === null ? null : await response.arrayBuffer();
    await waitOnExecutionContext(context);
    return new Response(body, response);
  }

  /** Publishes skills given as SKILL.md texts by folder name, each with the further files; answers the catalog's id. */
  async publish(skills: Record<string, string>, further: Record<string, Uint8Array> = {}): Promise<string> {
    const files: TarFile[] = [];
    const cards = [];
    const manifests: Manifest[] = [];
    for (const [folder, text] of Object.entries(skills)) {
      const bytes = new TextEncoder().encode(text);
      const contents = { "SKILL.md": bytes, ...further };
      const source = new Map(Object.entries(contents).map(([path, data]) => [path, new Uint8Array(data)]));
      const parsed = parseManifest(text, { folder, file: `${folder}/SKILL.md`, files: source });
      if (parsed.manifest === null) throw new TypeError(JSON.stringify(parsed.diagnostics));
      const sources = [...source].map(([path, data]) => ({ path, mode: 0o644 as const, bytes: data }));
      const bundle = await makeRecord(parsed.manifest, parsed.body, sources);
      files.push(entry(`skill/${bundle.digest}`, new TextEncoder().encode(bundle.json)));
      if (bundle.pack !== null) files.push(entry(`pack/${bundle.record.pack}`, bundle.pack));
      const served = source.get(parsed.manifest.serve ?? "");
      if (served !== undefined) files.push(entry(`blob/${await webCryptoHash(served)}`, served));
      cards.push(card(bundle.record, bundle.digest));
      manifests.push(parsed.manifest);
    }
    const catalog = await makeCatalog(cards, openapiText(manifests, "test"), manifests);
    files.push(entry(`openapi/${catalog.openapi.digest}`, new TextEncoder().encode(catalog.openapi.text)));
    files.push(entry(`catalog/${catalog.id}`, new TextEncoder().encode(catalog.json)));
    const uploaded = await this.upload(files);
    if (!uploaded.ok) throw new TypeError(await uploaded.text());
    const moved = await this.post("/_hull/catalog", { id: catalog.id });
    if (!moved.ok) throw new TypeError(await moved.text());
    return catalog.id;
  }

  async upload(files: TarFile[], digest?: string): Promise<Response> {
    const tar = packTar(files);
    return this.fetch(`/_hull/bundles/${digest ?? (await webCryptoHash(tar))}`, { method: "PUT", body: tar });
  }

  post(path: string, value: unknown): Promise<Response> {
    const headers = { "content-type": "application/json" };
    return this.fetch(path, { method: "POST", headers, body: JSON.stringify(value) });
  }
}

export const entry = (path: string, bytes: Uint8Array): TarFile => ({ path, mode: 0o644, bytes });

/** A skill on the mock provider, so that a run needs neither key nor runner. */
export const mockSkill = (name: string, extra = ""): string =>
  `---\nname: ${name}\ndescription: The ${name} skill\nmode: llm\nprovider: mock\n${extra}---\nAnswer.\n`;
