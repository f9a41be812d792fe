/** What the routes of published and uploaded skills, of their configuration and of API keys do. */
import * as keys from "../keys.ts";
import * as mcpLogins from "../mcp-logins.ts";
import * as publish from "../publish.ts";
import * as config from "../skills/config.ts";
import * as uploads from "../uploads.ts";

export const HANDLERS = { ...config, ...keys, ...mcpLogins, ...publish, ...uploads };
