/** The model routes below `/v1`. */
import type { App } from "../context.ts";
import { mount } from "../routes.ts";
import { postChatCompletions } from "./chat.ts";
import { postCountTokens, postMessages } from "./messages.ts";
import { getModel, getModelList } from "./models.ts";

export function mountV1Models(app: App): void {
  mount(app, "/v1/messages", { scope: "invoke", methods: { POST: postMessages } });
  mount(app, "/v1/messages/count_tokens", { scope: "invoke", methods: { POST: postCountTokens } });
  mount(app, "/v1/chat/completions", { scope: "invoke", methods: { POST: postChatCompletions } });
  mount(app, "/v1/models", { scope: "invoke", methods: { GET: getModelList } });
  mount(app, "/v1/models/:id{.+}", { scope: "invoke", methods: { GET: getModel } });
}
