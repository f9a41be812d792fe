/** The routes of a session's workspace. */
import { sessionFile } from "../run/answers.ts";
import type { JsonObject } from "../skill/manifest.ts";
import { answer, BINARY, header, pageOf, ref } from "./openapi-parts.ts";
import { fileAnswers, json, lists, type Operations, RANGED, removes, tagged } from "./operation.ts";
import { schemasOf } from "./shape-schema.ts";

const CONDITIONS = [
  header("If-Match", "The file must have one of these tags; `*`: the file must exist."),
  header("If-None-Match", "`*`: there has to be no file."),
];

export const SESSION_FILE_OPERATIONS = {
  listSessionFiles: lists("files", "The files of a session, in the order of their paths", "SessionFiles"),
  getSessionFile: {
    tag: "files",
    summary: "A file of a session",
    parameters: RANGED,
    answers: fileAnswers("content-disposition"),
    faults: [400, 416],
  },
  putSessionFile: {
    tag: "files",
    summary: "Stores a file of a session, up to 32 MiB: the body, unchanged",
    parameters: CONDITIONS,
    body: { required: true, content: { "*/*": { schema: BINARY } } },
    answers: {
      200: answer("The file is replaced", json("SessionFile"), tagged()),
      201: answer("The file is new", json("SessionFile"), tagged()),
    },
    faults: [409, 412],
    never: [422],
  },
  deleteSessionFile: removes("files", "Removes a file of a session", {
    parameters: CONDITIONS,
    faults: [400, 412],
  }),
} satisfies Operations;

export const sessionFileSchemas = (): JsonObject => ({
  ...schemasOf({ SessionFile: sessionFile }),
  SessionFiles: pageOf(ref("schemas", "SessionFile")),
});
