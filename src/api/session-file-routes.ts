/** The routes of a session's workspace. */
import { sessionFile } from "../run/answers.ts";
import type { JsonObject } from "../skill/manifest.ts";
import { answer, BINARY, header, inPath, pageOf, query, ref } from "./openapi-parts.ts";
import { cursor, json, NO_MATCH, type Operations, schema, tagged, UNCHANGED } from "./operation.ts";
import { schemasOf } from "./shape-schema.ts";

const CONDITIONS = [
  header("If-Match", "The file must have one of these tags; `*`: the file must exist."),
  header("If-None-Match", "`*`: there has to be no file."),
];
const NAMED = [
  inPath("id"),
  inPath("path", { type: "string", minLength: 1, description: "Relative, with `/` between segments." }),
];

export const SESSION_FILE_OPERATIONS = {
  listSessionFiles: {
    tag: "files",
    summary: "The files of a session, in the order of their paths",
    parameters: [
      inPath("id"),
      query("limit", "Files per page.", { type: "integer", minimum: 1, maximum: 1000, default: 20 }),
      cursor,
    ],
    answers: { 200: answer("Files", json(schema("SessionFiles"))) },
    faults: [400, 404],
  },
  getSessionFile: {
    tag: "files",
    summary: "A file of a session",
    parameters: [...NAMED, NO_MATCH, ref("parameters", "range"), ref("parameters", "if-range")],
    answers: {
      200: answer("The file", { "*/*": {} }, tagged("content-disposition")),
      206: answer("A range of the file", { "*/*": {} }, tagged("content-disposition")),
      304: UNCHANGED,
    },
    faults: [400, 404, 416],
  },
  putSessionFile: {
    tag: "files",
    summary: "Stores a file of a session, up to 32 MiB: the body, unchanged",
    parameters: [...NAMED, ...CONDITIONS],
    body: { required: true, content: { "*/*": { schema: BINARY } } },
    answers: {
      200: answer("The file is replaced", json(schema("SessionFile")), tagged()),
      201: answer("The file is new", json(schema("SessionFile")), tagged()),
    },
    faults: [400, 404, 408, 409, 412, 413],
  },
  deleteSessionFile: {
    tag: "files",
    summary: "Removes a file of a session",
    parameters: [...NAMED, ...CONDITIONS],
    answers: { 204: answer("It is removed", null) },
    faults: [400, 404, 412],
  },
} satisfies Operations;

export const sessionFileSchemas = (): JsonObject => ({
  ...schemasOf({ SessionFile: sessionFile }),
  SessionFiles: pageOf(ref("schemas", "SessionFile")),
});
