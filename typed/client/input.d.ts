// `npm run docs` writes this file from src/client.
/** What a skill is given, as the body of a call. */
import type { Call } from "./transport.ts";
/**
 * Text and bytes are sent as they are, a form too. Any other value is JSON: `{input: value}`.
 */
export type SkillInput = string | Blob | FormData | ArrayBuffer | Uint8Array<ArrayBuffer> | {
    readonly [name: string]: unknown;
} | readonly unknown[] | number | boolean | undefined;
/** @param files ids of stored files that the run gets too */
export declare function inputBody(input: SkillInput, files?: readonly string[]): Pick<Call, "json" | "body" | "headers">;
/** The same for a route that answers GET. */
export declare function inputQuery(input: SkillInput): Pick<Call, "query" | "headers">;
