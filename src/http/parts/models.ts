/** What the routes of models, providers, budgets and mocks do. */
import { deleteBudget, getBudget, getBudgets, putBudget } from "../budgets.ts";
import { deleteCapabilities, getCapabilities, putCapabilities } from "../llm/capabilities.ts";
import { deleteMocks, getMockCalls, postMocks } from "../llm/mocks.ts";
import { getCost, getInferred, getInfo, getModels, getPick, getResolved, getTier } from "../llm/models.ts";
import { getAvailableProviders, getProvider, getProviderHealth, getProviders } from "../llm/providers.ts";
import { getRateLimit, putRateLimit } from "../llm/rate-limit.ts";

import {
  deleteSoftBudget,
  getSessionCost,
  getSoftBudget,
  getTotalUsage,
  putSoftBudget,
} from "../llm/spending.ts";

export const HANDLERS = {
  getModelInfo: getInfo,
  listModels: getModels,
  resolveModel: getResolved,
  inferProvider: getInferred,
  tierOfModel: getTier,
  pickModel: getPick,
  priceTokens: getCost,
  getCapabilities,
  putCapabilities,
  deleteCapabilities,
  listProviders: getProviders,
  listAvailableProviders: getAvailableProviders,
  getProvider,
  checkProvider: getProviderHealth,
  listBudgets: getBudgets,
  getBudget,
  putBudget,
  deleteBudget,
  getTotalUsage,
  getSessionCost,
  getSoftBudget,
  putSoftBudget,
  deleteSoftBudget,
  getRateLimit,
  putRateLimit,
  queueMocks: postMocks,
  clearMocks: deleteMocks,
  listMockCalls: getMockCalls,
};
