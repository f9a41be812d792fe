/** What the routes of models, providers, budgets and mocks do. */
import * as budgets from "../budgets.ts";
import * as capabilities from "../llm/capabilities.ts";
import * as mocks from "../llm/mocks.ts";
import * as models from "../llm/models.ts";
import * as providers from "../llm/providers.ts";
import * as rateLimit from "../llm/rate-limit.ts";
import * as spending from "../llm/spending.ts";

export const HANDLERS = {
  ...budgets,
  ...capabilities,
  ...mocks,
  ...models,
  ...providers,
  ...rateLimit,
  ...spending,
};
