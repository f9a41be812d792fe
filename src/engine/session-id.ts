/** The form of a session's id. */
import * as z from "zod/mini";

export const SESSION_ID = /^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$/;
/** The form of a session's id in words. */
export const SESSION_IDS = "1 to 128 of A-Za-z0-9._:-, the first a letter or digit";

export const sessionId = () => z.string().check(z.regex(SESSION_ID, SESSION_IDS));
