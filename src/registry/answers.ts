/** Catalogs and versions of skills as the API shows them: shapes, of which the Worker uses only the types. */
import * as z from "zod/mini";
import { about, digest, flag, text, time } from "../answer-shape.ts";

export type ServedCatalog = z.infer<typeof servedCatalogShape>;
export const servedCatalogShape = z.object({
  id: about(z.nullable(digest()), "`null`: no catalog is served."),
  previous: about(z.nullable(digest()), "What a rollback serves; `null`: there is none."),
  published_at: about(z.nullable(time()), "`null`: the deployment came with it."),
  published_by: about(
    z.nullable(text()),
    "Id of the key; `null`: none was needed, or Hull did not store it.",
  ),
});

export type Version = z.infer<typeof versionShape>;
export const versionShape = z.object({
  digest: digest(),
  published_at: about(
    z.nullable(time()),
    "`null`: of a catalog that a deployment pins and that was never published.",
  ),
  current: about(flag(), "Whether this version is served."),
});

export type McpServerEntry = z.infer<typeof mcpServerShape>;
export const mcpServerShape = z.object({
  name: text(),
  url: text(),
  login: about(
    z.enum(["none", "stored", "client_credentials", "header"]),
    "`stored`: somebody logged in with `hull mcp login`. `header`: hull.toml has a header `authorization`.",
  ),
  needs_login: about(flag(), "Whether its tools need a login that is missing or has ended."),
  expires_at: about(z.nullable(time()), "When the stored access token ends; `null`: it is not known."),
  renewable: about(flag(), "Whether Hull renews the token by itself."),
  failure: about(z.nullable(text()), "Why the last use or renewal failed; `null`: it did not."),
  failed_at: z.nullable(time()),
});
