/** Tenants of a keyed deployment, who upload skills and call them. */
import { makeZip } from "../support/zip.ts";
import { Client, mockSkill } from "./served.ts";

export const ADMIN = "hull-admin-canary-0123456789";
export const keyed = new Client({ HULL_ADMIN_KEY: ADMIN });
/** The skills that are published while tenants upload skills. */
export const FOLDER = {
  cat: mockSkill("cat"),
  dog: mockSkill("dog", "route: /pets/dog\nmethod: GET\n"),
  deep: mockSkill("deep", "route: /skills/cellar/deep\n"),
};

type Init = RequestInit & { headers?: Record<string, string> };
export type Files = Record<string, string>;

/** A tenant's key, or no key. */
export class Tenant {
  readonly client: Client;
  readonly key: string;

  constructor(client: Client, key: string) {
    this.client = client;
    this.key = key;
  }

  fetch(path: string, init: Init = {}): Promise<Response> {
    const headers = { authorization: `Bearer ${this.key}`, ...init.headers };
    return this.client.fetch(path, { ...init, headers });
  }

  async put(
    slug: string,
    files: Files | Uint8Array<ArrayBuffer>,
    type = "application/zip",
  ): Promise<Response> {
    const entries = Object.entries(files).map(([name, content]) => ({ name, content, deflate: true }));
    const body = files instanceof Uint8Array ? files : await makeZip(entries);
    return this.fetch(`/_hull/skills/${slug}`, { method: "PUT", body, headers: { "content-type": type } });
  }

  run(path: string, init: Init = {}): Promise<Response> {
    return this.fetch(path, { method: "POST", body: "hi", ...init });
  }

  remove(slug: string): Promise<Response> {
    return this.fetch(`/_hull/skills/${slug}`, { method: "DELETE" });
  }

  async get<T>(path: string): Promise<T> {
    return (await this.fetch(path)).json<T>();
  }
}

export async function tenant(name: string, ...scopes: string[]): Promise<Tenant> {
  const operator = new Tenant(keyed, ADMIN);
  const body = JSON.stringify({ tenant: name, scopes });
  const made = await operator.fetch("/admin/keys", { method: "POST", body });
  return new Tenant(keyed, (await made.json<{ key: string }>()).key);
}

export const skill = (name: string, extra = "", body = "Answer."): Files => ({
  "SKILL.md": mockSkill(name, extra).replace("Answer.", body),
});
export const refusal = async (response: Response) => {
  const { code, detail, held_by, skill: holder } = await response.json<Record<string, string>>();
  return { status: response.status, code, detail, held_by, holder };
};
