/** What the routes of published and uploaded skills do, and of their configuration. */
import * as publish from "../publish.ts";
import * as config from "../skills/config.ts";
import * as uploads from "../uploads.ts";

export const HANDLERS = { ...config, ...publish, ...uploads };
