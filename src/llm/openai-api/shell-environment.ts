/** The `environment` of a shell tool: where its commands run, and its skills. */
import * as z from "zod/mini";
import { isObject } from "../../skill/json.ts";
import type { Json } from "../../skill/manifest.ts";
import { listOf, loosely, requiredText } from "../members.ts";
import { MOST_SKILLS } from "../vendor-limits.ts";

const SOURCE = "a source of type base64 with media_type application/zip and data is required";
const SECRETS = "secrets of domains are not carried";
const HOST = "the name of a host is expected";
const LOCAL = "name, description and path are strings";

const containerSkill = () =>
  z.discriminatedUnion(
    "type",
    [
      z.object({
        type: z.literal("skill_reference"),
        skill_id: requiredText("the id of a skill is required"),
        version: z.nullish(z.union([z.string(), z.number()], "a version is a string or a number")),
      }),
      z.object({
        type: z.literal("inline"),
        name: requiredText(),
        description: requiredText(),
        source: z.object(
          {
            type: z.literal("base64", SOURCE),
            media_type: z.literal("application/zip", SOURCE),
            data: z.string(SOURCE),
          },
          SOURCE,
        ),
      }),
    ],
    {
      error: ({ input }) => {
        if (!isObject(input)) return "a skill is an object with a type";
        const known = "skill_reference or inline is expected";
        return "path" in input ? `${known}: Hull does not see the client's folders` : known;
      },
    },
  );
export type ContainerSkill = z.infer<ReturnType<typeof containerSkill>>;

/** Members of a new container: its skills, the stored files of its input folder, the hosts that its commands may reach. */
export const containerTerms = () => ({
  skills: z.nullish(
    z.array(containerSkill(), "a list is expected").check(
      z.maxLength(MOST_SKILLS, {
        error: ({ input }) => `${input?.length} skills; at most ${MOST_SKILLS} are accepted`,
      }),
    ),
  ),
  file_ids: listOf(z.string("the id of a file is expected")),
  /** Containers share the runner's memory. */
  memory_limit: z.nullish(z.enum(["1g", "4g", "16g", "64g"], "1g, 4g, 16g or 64g is expected")),
  network_policy: z.nullish(
    loosely(
      z.discriminatedUnion(
        "type",
        [
          z.object({ type: z.literal("disabled") }),
          z.object({
            type: z.literal("allowlist"),
            domain_secrets: z.nullish(z.array(z.custom<Json>(), SECRETS).check(z.maxLength(0, SECRETS))),
            allowed_domains: listOf(
              z
                .string(HOST)
                .check(z.regex(/^(?:\*\.)?[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+$/, HOST), z.toLowerCase()),
            ),
          }),
        ],
        "disabled or allowlist is expected",
      ),
    ),
  ),
});
export type ContainerTerms = z.infer<z.ZodMiniObject<ReturnType<typeof containerTerms>>>;

export const shellEnvironment = z.lazy(() =>
  loosely(
    z.discriminatedUnion(
      "type",
      [
        z.object({ type: z.literal("container_auto"), ...containerTerms() }),
        z.object({
          type: z.literal("container_reference"),
          container_id: requiredText("the id of a container is required"),
        }),
        z.object({
          type: z.literal("local"),
          skills: listOf(
            z.object({ name: z.string(LOCAL), description: z.string(LOCAL), path: z.string(LOCAL) }, LOCAL),
          ),
        }),
      ],
      "container_auto, container_reference or local is expected",
    ),
  ),
);
export type ShellEnvironment = z.infer<typeof shellEnvironment>;
