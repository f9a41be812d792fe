/** A curl command that calls a skill, for people to copy. Pure. */
import type { Manifest } from "../../src/skill/manifest.ts";

/** @param url origin of the server, e.g. `http://localhost:3000` */
export function curlFor(manifest: Manifest, url: string): string {
  const target = `${url}${manifest.route}`;
  if (manifest.method === "GET") {
    return manifest.input === "none" ? `curl ${target}` : `curl -G ${target} --data-urlencode 'input=world'`;
  }
  const method = manifest.method === "POST" ? "" : ` -X ${manifest.method}`;
  if (manifest.input === "none") return `curl -X ${manifest.method} ${target}`;
  if (manifest.input === "file") return `curl${method} ${target} -F file=@FILE`;
  return `curl${method} ${target} --data 'world'`;
}
