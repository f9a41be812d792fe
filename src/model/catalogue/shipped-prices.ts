/**
 * List prices in USD per million tokens, in match order (agent-runtime.md §15.1). Prices of cached input where the
 * provider publishes them: https://docs.claude.com/en/docs/build-with-claude/prompt-caching (a tenth to read, five
 * quarters to write), https://platform.openai.com/docs/pricing (half), https://ai.google.dev/gemini-api/docs/pricing
 * (a quarter).
 */
import type { PriceRule } from "./definition.ts";
import type { Price } from "./layer.ts";

const claude = (input: number, out: number): Price => ({
  in: input,
  out,
  cache_read: input / 10,
  cache_write: input * 1.25,
});
const openai = (input: number, out: number): Price => ({ in: input, out, cache_read: input / 2 });
const gemini = (input: number, out: number): Price => ({ in: input, out, cache_read: input / 4 });

export const SHIPPED_PRICES: readonly PriceRule[] = [
  { contains: ["claude-3-5-haiku"], price: claude(0.8, 4) },
  { contains: ["claude-haiku-4"], price: claude(0.8, 4) },
  { contains: ["claude-3-5-sonnet"], price: claude(3, 15) },
  { contains: ["claude-sonnet-4"], price: claude(3, 15) },
  { contains: ["claude-3-opus"], price: claude(15, 75) },
  { contains: ["claude-opus-4"], price: claude(15, 75) },
  { contains: ["gpt-4o-mini"], price: openai(0.15, 0.6) },
  { contains: ["gpt-4o"], price: openai(2.5, 10) },
  { contains: ["gpt-4-turbo"], price: { in: 10, out: 30 } },
  { contains: ["o1-mini"], price: openai(3, 12) },
  { contains: ["o1"], start: true, price: openai(15, 60) },
  { contains: ["o3"], start: true, price: openai(15, 60) },
  { contains: ["llama", "70b"], price: { in: 0.59, out: 0.79 } },
  { contains: ["llama", "8b"], price: { in: 0.05, out: 0.08 } },
  { contains: ["mistral-large"], price: { in: 2, out: 6 } },
  { contains: ["mistral-small"], price: { in: 0.2, out: 0.6 } },
  { contains: ["gemini-2", "flash"], price: gemini(0.1, 0.4) },
  { contains: ["gemini-2", "pro"], price: gemini(1.25, 5) },
];
