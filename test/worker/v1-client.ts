/** What tests of `/v1/skills` send: forms, and requests of two tenants, in each dialect. */
import { beforeAll, beforeEach, expect } from "vitest";
import { makeZip, type ZipEntry } from "../support/zip.ts";
import { Client } from "./served.ts";
import { ADMIN, FOLDER, Tenant, tenant } from "./tenant.ts";

export const GA = { "anthropic-version": "2026-10-21" };
export const LEGACY = { ...GA, "anthropic-beta": "skills-2025-10-02" };
export const OPENAI = {};
export type Headers = Record<string, string>;
export type Content = string | Uint8Array<ArrayBuffer>;

export const skill = (name = "fox", extra = "", body = "Do it."): string =>
  `---\nname: ${name}\ndescription: The ${name} skill\n${extra}---\n${body}\n`;
export const FOX: [string, string][] = [
  ["fox/SKILL.md", skill()],
  ["fox/a.py", "print(1)\n"],
];

export function form(files: [string, Content, string?][], fields: Record<string, string> = {}): FormData {
  const data = new FormData();
  for (const [name, value] of Object.entries(fields)) data.append(name, value);
  for (const [name, content, type] of files) {
    data.append("files[]", new File([content], name, { type: type ?? "application/octet-stream" }), name);
  }
  return data;
}
export const zipForm = async (entries: ZipEntry[], type = "application/zip"): Promise<FormData> =>
  form([["fox.zip", await makeZip(entries), type]]);

/** A deployment without a rate limit. */
export const UNCOUNTED = { HULL_ADMIN_KEY: ADMIN, HULL_CONFIG: '{"rate_limit":null}' };
const open = new Client(UNCOUNTED);
export const user = async (name: string, ...scopes: string[]): Promise<Tenant> =>
  new Tenant(open, (await tenant(name, ...scopes)).key);

export let red: Tenant;
export let blue: Tenant;

/** Gives the tests of a file two tenants, which have no stored skills when a test begins. */
export function useTenants(): void {
  beforeAll(async () => {
    await new Client().publish(FOLDER);
    red = await user("red", "invoke", "publish");
    blue = await user("blue", "invoke", "publish");
  });
  beforeEach(async () => {
    for (const owner of [red, blue]) {
      for (const { id } of await list(owner, GA)) await send(owner, "DELETE", `/v1/skills/${id}`, GA);
      for (const { id } of await list(owner, LEGACY)) await send(owner, "DELETE", `/v1/skills/${id}`, LEGACY);
    }
  });
}

export async function list(of: Tenant, headers: Headers): Promise<{ id: string }[]> {
  const response = await of.fetch("/v1/skills?limit=100", { headers });
  return (await response.json<{ data: { id: string }[] }>()).data;
}
export const send = (of: Tenant, method: string, path: string, headers: Headers, body?: BodyInit) =>
  of.fetch(path, { method, headers, ...(body === undefined ? {} : { body }) });
export const create = (body: FormData | string, headers: Headers = GA, of = red): Promise<Response> =>
  send(of, "POST", "/v1/skills", headers, body);
export async function created(body: FormData, headers: Headers = GA, of = red): Promise<string> {
  const response = await create(body, headers, of);
  expect(response.status).toBe(200);
  return (await response.json<{ id: string }>()).id;
}
export const messageOf = async (response: Response): Promise<string> =>
  (await response.json<{ error: { message: string } }>()).error.message;
