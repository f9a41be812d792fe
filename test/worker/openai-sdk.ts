/** OpenAI's own SDK as the client of a deployment whose model is a mock. */
import OpenAI from "openai";
import { Client } from "./served.ts";

export const open = new Client({
  HULL_ENV: "local",
  HULL_LLM: '{"llm":{"mock_routes":true,"aliases":{"mocked":{"id":"m","provider":"mock"}}}}',
});
export const client = new OpenAI({
  apiKey: "any",
  baseURL: "http://localhost:3000/v1",
  maxRetries: 0,
  fetch: (input, init) => open.fetch(String(input), init),
});
export const MODEL = "mocked";
