// `npm run docs` writes this file from src/client.
/** The input of a skill, as the body of a call. */
import type { Call } from "./transport.ts";
/** Text, bytes and forms are sent unchanged. Any other value is JSON: `{input: value}`. */
export type SkillInput = string | Blob | FormData | ArrayBuffer | Uint8Array<ArrayBuffer> | {
    readonly [name: string]: unknown;
} | readonly unknown[] | number | boolean | undefined;
/**
 * @param files ids of stored files for the run
 * @throws TypeError for files together with bytes or a form, which Hull could not take
 */
export declare function inputBody(input: SkillInput, files?: readonly string[]): Pick<Call, "json" | "body" | "headers">;
/** The same for a route that answers GET. */
export declare function inputQuery(input: SkillInput): Pick<Call, "query" | "headers">;
