/** What the route of the MCP server does. */
import { postMcp } from "../mcp/endpoint.ts";

export const HANDLERS = {
  mcp: postMcp,
};
