/** What the routes of `/v1` do. */
import { keyed } from "../keyed.ts";
import * as chat from "../v1/chat.ts";
import * as containers from "../v1/containers/routes.ts";
import * as conversations from "../v1/conversations/routes.ts";
import * as files from "../v1/files/routes.ts";
import * as messages from "../v1/messages.ts";
import * as models from "../v1/models.ts";
import * as compact from "../v1/responses/compact.ts";
import * as create from "../v1/responses/create.ts";
import * as stored from "../v1/responses/stored.ts";
import * as skills from "../v1/skills/routes.ts";

export const HANDLERS = {
  ...chat,
  ...compact,
  ...containers,
  ...conversations,
  ...files,
  ...messages,
  ...models,
  ...skills,
  ...stored,
  // The run of a response that is kept has the key.
  createResponse: keyed(create.createResponse, { ownKeys: create.keepsResponse }),
};
