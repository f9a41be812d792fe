/** The routes of uploaded skills, and of versions. */
import { namedSkillBody } from "./bodies/publishing.ts";
import { answer, BINARY, LOCATED, query, TEXT } from "./openapi-parts.ts";
import { json, lists, type Operations, removes } from "./operation.ts";
import { schemaOf } from "./shape-schema.ts";

export const UPLOAD_OPERATIONS = {
  listVersions: lists("skills", "What was published or uploaded as this skill, the newest first", "Versions"),
  listUploads: lists("publishing", "The uploaded skills of the key's tenant, sorted by slug", "Uploads", {
    parameters: [query("tenant", "Another tenant's; for the operator.", TEXT)],
  }),
  putSkill: {
    tag: "publishing",
    summary:
      "Uploads a skill's folder as a zip or tar, or names a stored skill or an earlier version, and serves it to the key's tenant",
    body: {
      required: true,
      content: {
        "application/zip": { schema: BINARY },
        "application/x-tar": { schema: BINARY },
        ...json(schemaOf(namedSkillBody)),
      },
    },
    answers: {
      200: answer("It is replaced", json("UploadResult")),
      201: answer("It is served now", json("UploadResult"), LOCATED),
    },
    faults: [409],
  },
  deleteSkill: removes("publishing", "Removes an uploaded skill"),
} satisfies Operations;
