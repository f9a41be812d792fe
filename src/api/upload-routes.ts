/** The routes of uploaded skills, and of versions. */
import { namedSkillBody } from "./bodies/publishing.ts";
import { answer, answerHeaders, BINARY, query, TEXT } from "./openapi-parts.ts";
import { cursor, json, type Operations, schema, slug } from "./operation.ts";
import { schemaOf } from "./shape-schema.ts";

const limit = query("limit", "Items per page.", { type: "integer", minimum: 1, maximum: 1000, default: 20 });

export const UPLOAD_OPERATIONS = {
  listVersions: {
    tag: "skills",
    summary: "What was published or uploaded as this skill, the newest first",
    parameters: [slug, limit, cursor],
    answers: { 200: answer("Versions", json(schema("Versions"))) },
    faults: [400, 404],
  },
  listUploads: {
    tag: "publishing",
    summary: "The uploaded skills of the key's tenant, sorted by slug",
    parameters: [limit, cursor, query("tenant", "Another tenant's; for the operator.", TEXT)],
    answers: { 200: answer("Uploaded skills", json(schema("Uploads"))) },
    faults: [400],
  },
  putSkill: {
    tag: "publishing",
    summary:
      "Uploads a skill's folder as a zip or tar, or names a stored skill or an earlier version, and serves it to the key's tenant",
    parameters: [slug],
    body: {
      required: true,
      content: {
        "application/zip": { schema: BINARY },
        "application/x-tar": { schema: BINARY },
        ...json(schemaOf(namedSkillBody)),
      },
    },
    answers: {
      200: answer("It is replaced", json(schema("UploadResult"))),
      201: answer("It is served now", json(schema("UploadResult")), {
        ...answerHeaders(),
        Location: { schema: { type: "string", format: "uri-reference" } },
      }),
    },
    faults: [400, 404, 408, 409, 413, 415, 422],
  },
  deleteSkill: {
    tag: "publishing",
    summary: "Removes an uploaded skill",
    parameters: [slug],
    answers: { 204: answer("It is removed", null) },
    faults: [404],
  },
} satisfies Operations;
