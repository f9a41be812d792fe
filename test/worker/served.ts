/** Publishes skills to the Worker under test over its own HTTP surface, and calls it with chosen settings. */

import { createExecutionContext, waitOnExecutionContext } from "cloudflare:test";
import { sha256 } from "../../src/bytes.ts";
import { type Deployment, deploymentOf } from "../../src/deployment.ts";
import { readSkillGraph } from "../../src/engine/workflow/skill-file.ts";
import type { Bindings } from "../../src/env.ts";
import { createApp } from "../../src/http/app.ts";
import { assembleSkill } from "../../src/skill/assemble.ts";
import { makeCatalog } from "../../src/skill/bundle.ts";
import type { HookReader } from "../../src/skill/hooks.ts";
import { type KnownProviders, SHIPPED } from "../../src/skill/known-providers.ts";
import type { Manifest, SkillTool } from "../../src/skill/manifest.ts";
import { packTar, type TarFile } from "../../src/skill/tar.ts";
import { overridesOf } from "../../src/skill/tools-json/overrides.ts";
import { documentWith } from "../support/openapi.ts";
import { deployedWith } from "./file-bindings.ts";

const app = createApp();

/** Settings of a Worker as `hull dev` starts it; a test may change them. */
export const LOCAL = { HULL_ENV: "local" };

/** Published in place of the OpenAPI document, where no test reads it. */
export const NO_DOCUMENT = { openapi: "3.1.1", paths: {}, components: {} };

/** The isolates of all clients; they share what is stored. */
const isolates = new Set<Deployment>();

export class Client {
  readonly env: Bindings;
  readonly #documents: boolean;

  /**
   * @param documents whether `publish` stores the whole OpenAPI document. Few tests read it, and to store its half a
   * megabyte takes longer than the rest of a publish.
   */
  constructor(variables: Record<string, string> = LOCAL, { documents = false } = {}) {
    this.env = deployedWith(variables);
    this.#documents = documents;
  }

  /** The state of this client's isolate. */
  get deployment(): Deployment {
    return deploymentOf(this.env);
  }

  /** Sends one request through the whole app, and waits for its background work. */
  async fetch(path: string, init: RequestInit = {}): Promise<Response> {
    const { response, settled } = await this.open(path, init);
    await settled();
    return response;
  }

  /** Sends one request whose answer the test reads as it arrives. */
  async stream(path: string, init: RequestInit = {}): Promise<Response> {
    return app.fetch(new Request(addressOf(path), init), this.env, createExecutionContext());
  }

  /** Sends one request and reads its whole answer; also returns a way to wait for the work behind it. */
  async open(
    path: string,
    init: RequestInit = {},
  ): Promise<{ response: Response; settled(): Promise<void> }> {
    const context = createExecutionContext();
    const request = new Request(addressOf(path), init);
    const response = await app.fetch(request, this.env, context);
    // Without readable settings there is no deployment.
    if (response.status !== 500) isolates.add(this.deployment);
    const body = response.body === null ? null : await response.arrayBuffer();
    return { response: new Response(body, response), settled: () => waitOnExecutionContext(context) };
  }

  /**
   * Publishes skills, given by folder name as texts of SKILL.md or as texts of files, each with the further files;
   * returns the catalog's id.
   */
  async publish(
    skills: Record<string, string | Record<string, string>>,
    further: Record<string, Uint8Array> = {},
    providers: KnownProviders = SHIPPED,
  ): Promise<string> {
    const files: TarFile[] = [];
    const cards = [];
    const manifests: Manifest[] = [];
    const modulesByName = new Map<string, Uint8Array>();
    const loaded: { slug: string; tools: SkillTool[] }[] = [];
    for (const [folder, given] of Object.entries(skills)) {
      const texts = Object.entries(typeof given === "string" ? { "SKILL.md": given } : given);
      const own = texts.map(([path, text]) => [path, new TextEncoder().encode(text)] as const);
      const contents = { ...Object.fromEntries(own), ...further };
      const sources = Object.entries(contents).map(([path, data]) => ({
        path,
        mode: 0o644 as const,
        bytes: new Uint8Array(data),
      }));
      const { skill, diagnostics } = await assembleSkill(sources, {
        folder,
        // Only a namespace can give a skill such a slug.
        ...(folder.includes("--") ? { slug: folder } : {}),
        file: `${folder}/SKILL.md`,
        providers,
        hooks: asTheyAre,
        workflows: readSkillGraph,
      });
      if (skill === null) throw new TypeError(JSON.stringify(diagnostics));
      const { digest, record, recordJson, pack, blob, modules } = skill;
      files.push(entry(`skill/${digest}`, new TextEncoder().encode(recordJson)));
      if (record.pack !== null) files.push(entry(`pack/${record.pack}`, pack));
      if (blob !== null) files.push(entry(`blob/${blob.sha256}`, blob.bytes));
      for (const { sha256, bytes } of modules) modulesByName.set(`module/${sha256}`, bytes);
      cards.push(skill.card);
      loaded.push({ slug: skill.card.slug, tools: record.tools ?? [] });
      manifests.push(record.manifest);
    }
    for (const [name, module] of modulesByName) files.push(entry(name, module));
    const overrides = overridesOf(loaded);
    const document = this.#documents ? documentWith(manifests, "test") : NO_DOCUMENT;
    const catalog = await makeCatalog(cards, JSON.stringify(document), manifests, sha256, { overrides });
    files.push(entry(`openapi/${catalog.openapi.digest}`, new TextEncoder().encode(catalog.openapi.text)));
    files.push(entry(`catalog/${catalog.id}`, new TextEncoder().encode(catalog.json)));
    // Several skills may contain the same objects.
    const uploaded = await this.upload([...new Map(files.map((file) => [file.path, file])).values()]);
    if (!uploaded.ok) throw new TypeError(await uploaded.text());
    await this.serve(catalog.id);
    return catalog.id;
  }

  /** Starts to serve a stored catalog. */
  async serve(id: string): Promise<void> {
    const moved = await this.post("/_hull/catalog", { id });
    if (!moved.ok) throw new TypeError(await moved.text());
    // Other isolates learn of it within seconds; tests do not wait for that.
    for (const { registry } of isolates) registry.pointerMoved(id);
  }

  async upload(files: TarFile[], digest?: string): Promise<Response> {
    const tar = packTar(files);
    return this.fetch(`/_hull/bundles/${digest ?? (await sha256(tar))}`, { method: "PUT", body: tar });
  }

  post(path: string, value: unknown): Promise<Response> {
    const headers = { "content-type": "application/json" };
    return this.fetch(path, { method: "POST", headers, body: JSON.stringify(value) });
  }
}

const addressOf = (path: string): string => (path.startsWith("http") ? path : `http://localhost:3000${path}`);

/** Hook modules that need no bundler. */
const asTheyAre: HookReader = async ({ bytes }) => {
  const exported = new TextDecoder().decode(bytes).matchAll(/^export const (\w+)/gm);
  return { bytes, exports: Array.from(exported, ([, name = ""]) => name).sort() };
};

export const entry = (path: string, bytes: Uint8Array): TarFile => ({ path, mode: 0o644, bytes });

/** A skill on the mock provider, so that a run needs neither key nor runner. */
export const mockSkill = (name: string, extra = ""): string =>
  `---\nname: ${name}\ndescription: The ${name} skill\nmode: llm\nprovider: mock\n${extra}---\nAnswer.\n`;
