/**
 * When vendors shut models down, as they announced it. Sources, read on 2026-11-22:
 * https://platform.claude.com/docs/en/about-claude/model-deprecations (and `DEPRECATED_MODELS` of @anthropic-ai/sdk),
 * https://developers.openai.com/api/docs/deprecations, https://ai.google.dev/gemini-api/docs/deprecations,
 * https://docs.x.ai/docs/migration/may-15-retirement, https://api-docs.deepseek.com/
 */
const RETIREMENTS: Record<string, Record<string, readonly string[]>> = {
  anthropic: {
    "2024-11-06": ["claude-1.3", "claude-instant-1.1", "claude-instant-1.2"],
    "2025-07-21": ["claude-2.0", "claude-2.1", "claude-3-sonnet-20240229"],
    "2025-10-22": ["claude-3-5-sonnet-20240620", "claude-3-5-sonnet-20241022", "claude-3-5-sonnet-latest"],
    "2026-01-05": ["claude-3-opus-20240229", "claude-3-opus-latest"],
    "2026-02-19": [
      "claude-3-7-sonnet-20250219",
      "claude-3-7-sonnet-latest",
      "claude-3-5-haiku-20241022",
      "claude-3-5-haiku-latest",
    ],
    "2026-06-15": [
      "claude-sonnet-4-20250514",
      "claude-sonnet-4-0",
      "claude-opus-4-20250514",
      "claude-opus-4-0",
    ],
    "2026-06-30": ["claude-mythos-preview"],
    "2026-11-30": ["claude-sonnet-4-5-20250929", "claude-sonnet-4-5"],
    "2027-01-22": ["claude-opus-4-5-20251101", "claude-opus-4-5"],
  },
  openai: {
    "2026-07-23": [
      "gpt-5-codex",
      "gpt-5.1-codex",
      "gpt-5.1-codex-max",
      "gpt-5.1-codex-mini",
      "gpt-5.2-codex",
    ],
    "2026-10-23": [
      "gpt-3.5-turbo",
      "gpt-3.5-turbo-0125",
      "gpt-4",
      "gpt-4-0613",
      "gpt-4-1106-preview",
      "gpt-4-turbo",
      "gpt-4-turbo-2024-04-09",
      "gpt-4o-2024-05-13",
      "gpt-4.1-nano",
      "gpt-4.1-nano-2025-04-14",
      "o1",
      "o1-2024-12-17",
      "o1-pro",
      "o1-pro-2025-03-19",
      "o3-mini",
      "o3-mini-2025-01-31",
      "o4-mini",
      "o4-mini-2025-04-16",
    ],
    "2026-12-11": [
      "gpt-5",
      "gpt-5-2025-08-07",
      "gpt-5-mini",
      "gpt-5-mini-2025-08-07",
      "gpt-5-nano",
      "gpt-5-nano-2025-08-07",
      "gpt-5-pro",
      "gpt-5-pro-2025-10-06",
      "o3",
      "o3-2025-04-16",
      "o3-pro",
      "o3-pro-2025-06-10",
    ],
    "2027-01-14": [
      "gpt-4o",
      "gpt-4o-2024-08-06",
      "gpt-4o-2024-11-20",
      "gpt-4o-mini",
      "gpt-4o-mini-2024-07-18",
      "gpt-4.1",
      "gpt-4.1-2025-04-14",
      "gpt-4.1-mini",
      "gpt-4.1-mini-2025-04-14",
    ],
    "2027-04-01": ["gpt-5.1", "gpt-5.1-2025-11-13"],
  },
  google: {
    "2025-09-29": ["gemini-1.5-pro", "gemini-1.5-pro-002", "gemini-1.5-flash", "gemini-1.5-flash-002"],
    "2026-03-09": ["gemini-3-pro-preview"],
    "2026-06-01": [
      "gemini-2.0-flash",
      "gemini-2.0-flash-001",
      "gemini-2.0-flash-lite",
      "gemini-2.0-flash-lite-001",
    ],
    "2026-10-16": ["gemini-2.5-flash", "gemini-2.5-pro", "gemini-2.5-flash-lite"],
  },
  xai: {
    "2026-05-15": [
      "grok-3",
      "grok-3-latest",
      "grok-4",
      "grok-4-0709",
      "grok-4-latest",
      "grok-4-fast-reasoning",
      "grok-4-fast-non-reasoning",
      "grok-4-1-fast-reasoning",
      "grok-4-1-fast-non-reasoning",
      "grok-code-fast-1",
    ],
  },
  deepseek: { "2026-07-24": ["deepseek-chat", "deepseek-reasoner"] },
};

/**
 * The day on which the provider shuts a model down, as YYYY-MM-DD; `null`: unknown. Other providers may keep the model.
 */
export function retirementOf(provider: string, model: string): string | null {
  const days = Object.hasOwn(RETIREMENTS, provider) ? RETIREMENTS[provider] : undefined;
  const id = model.toLowerCase();
  const found = Object.entries(days ?? {}).find(([, ids]) => ids.includes(id));
  return found?.[0] ?? null;
}

/** The last day, up to today, on which a vendor shut models down. @param today YYYY-MM-DD, as the result */
export const lastRetirement = (today: string): string =>
  Object.values(RETIREMENTS)
    .flatMap((days) => Object.keys(days).filter((day) => day <= today))
    .reduce((last, day) => (day > last ? day : last), "");
