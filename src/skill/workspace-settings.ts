/** The settings of the workspace tools in hull.toml. */
import * as z from "zod/mini";
import { PROVIDER_KEY_VARIABLES } from "../secrets.ts";

/** What `image` may name: a target of container/Dockerfile. */
export const IMAGES = ["slim", "office", "browser"] as const;

/** The entry of `HULL_GRANTS` for an uploaded skill whose runs may have the workspace tools. */
export const WORKSPACE_GRANT = "workspace_tools";

/** `[workspace_tools]` of hull.toml. */
export const workspaceToolsShape = z.lazy(() =>
  z.strictObject({
    /** `auto`: in runs with a skill that wants them. `never`: nothing overrides it. */
    enabled: z._default(z.enum(["auto", "always", "never"]), "auto"),
    /**
     * The network that `Bash` reaches: nothing, anything public, or these hosts (`*.example.com` for all hosts below
     * one).
     */
    network: z._default(
      z.union(
        [
          z.boolean(),
          z.array(
            z
              .string()
              .check(
                z.regex(
                  /^(?:\*\.)?[a-z0-9-]+(?:\.[a-z0-9-]+)*$/i,
                  'must be a host such as "api.example.com" or "*.example.com"',
                ),
              ),
          ),
        ],
        'must be true, false or a list of hosts such as "api.example.com" and "*.example.com"',
      ),
      false,
    ),
    /** Names of variables that `Bash` sees in addition to those of every process. */
    env: z._default(
      z.array(
        z.string().check(
          z.regex(
            /^(?!HULL_|HUSK_|HARN_)[A-Za-z_][A-Za-z0-9_]*$/,
            "must be names of variables, none of Hull's own",
          ),
          z.refine(
            (name) => !PROVIDER_KEY_VARIABLES.includes(name),
            "has a model provider's key, which no process gets",
          ),
        ),
      ),
      [],
    ),
    image: z._default(z.enum(IMAGES), "slim"),
    /** What `allowed-tools` of a SKILL.md does: approve calls beforehand, or take the other tools away. */
    allowed_tools: z._default(z.enum(["approve", "restrict"]), "approve"),
  }),
);

/** Whether commands may reach a host, or all hosts of a pattern such as `*.example.com`. @param network of the settings */
export const reaches = (network: boolean | readonly string[], host: string): boolean =>
  typeof network === "boolean"
    ? network
    : network.some((own) => covers(own.toLowerCase(), host.toLowerCase()));

/** Whether the entry `own` includes every host that `host` means. */
const covers = (own: string, host: string): boolean =>
  own === host || (own.startsWith("*.") && host.replace(/^\*\./, ".").endsWith(own.slice(1)));

export type WorkspaceToolSettings = z.infer<typeof workspaceToolsShape>;
