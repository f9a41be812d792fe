// `npm run docs` writes this file from src/client.
/** The input of a skill, as the body of a call. */
import { type Bytes, type Call } from "./transport.ts";
/** Text, bytes and forms are sent unchanged. Any other value is JSON: `{input: value}`. `object` takes interfaces, too. */
export type SkillInput = string | Bytes | object | number | boolean | null | undefined;
/**
 * @param files ids of stored files for the run
 * @throws TypeError for files together with bytes or a form, which Hull could not take, and for what is neither of these
 *   nor JSON, such as a stream or a `Map`
 */
export declare function inputBody(input: SkillInput, files?: readonly string[]): Pick<Call, "json" | "body" | "headers">;
/** The same for a route that answers GET, which takes neither bytes nor files. */
export declare function inputQuery(input: SkillInput, files?: readonly string[]): Pick<Call, "query" | "headers">;
