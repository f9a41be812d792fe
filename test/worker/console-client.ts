/** What tests of the console's pages share: a client, the skills that it serves, and what a browser would send. */
import { Client, LOCAL, mockSkill } from "./served.ts";

export const client = new Client(LOCAL, { documents: true });
export const HTML = { accept: "text/html" };
export const EVIL = `<script>alert(1)</script>"'><img src=x onerror=alert(1)>`;
export const EVIL_SLUG = "evil-script-alert-1-script-img-src-x-onerror-alert-1";

/** Publishes the skills that the pages show. */
export const publishSkills = () =>
  client.publish({
    cat: mockSkill("cat"),
    artist: {
      "SKILL.md": mockSkill("artist"),
      "hooks.js": "export const draw = (given) => ({ __artifact__: true, ...given });",
    },
    evil: {
      "SKILL.md": `---\nname: ${JSON.stringify(`evil ${EVIL}`)}\ndescription: ${JSON.stringify(`[x](javascript:alert(1)) ${EVIL}`)}\nmode: static-file\nserve: page.txt\n---\n${EVIL}\n`,
      "page.txt": EVIL,
    },
    upstream:
      "---\nname: upstream\ndescription: Weather\nproxy: https://upstream.example/now\nmethod: GET\n---\n",
    shaped: mockSkill(
      "shaped",
      "input_schema: {type: object, required: [n], properties: {n: {type: integer, default: 3}}}\n",
    ),
  });

/** A page, and its text. */
export async function page(
  path: string,
  init: RequestInit = {},
): Promise<{ response: Response; text: string }> {
  const response = await client.fetch(path, { ...init, headers: HTML });
  return { response, text: await response.text() };
}

/** What a browser would send of a form. */
export function sent(fields: Record<string, string>): { method: string; body: FormData } {
  const body = new FormData();
  for (const [name, value] of Object.entries(fields)) body.set(name, value);
  return { method: "POST", body };
}
