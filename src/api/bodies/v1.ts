/** The bodies of requests below `/v1` that only their handlers read. */
import * as z from "zod/mini";
import { object, requiredText } from "../../llm/members.ts";
import { metadata } from "../../llm/openai-api/response-request.ts";
import { containerTerms } from "../../llm/openai-api/shell-environment.ts";

/** Fields of the form with a skill's files. Hull reads no others. */
export const SKILL_FIELDS: readonly string[] = [
  "display_name",
  "display_title",
  "default",
  "custom_llm_provider",
];

/** Fields of the form with a file that say for how many seconds it stays: Anthropic's, and OpenAI's. */
export const EXPIRY_FIELDS = {
  expires_in_seconds: { minimum: 3600, maximum: 7_776_000 },
  "expires_after[seconds]": { minimum: 3600, maximum: 2_592_000 },
};

/** Most minutes until an unused container expires. */
const MAX_MINUTES = 30 * 24 * 60;
/** Most items of one request. */
const MOST_ITEMS = 20;

export const containerBody = z.lazy(() => {
  const minutes = `a whole number from 1 to ${MAX_MINUTES} is expected`;
  return z.object({
    name: requiredText(),
    ...containerTerms(),
    expires_after: z.nullish(
      z.object({
        anchor: z.literal("last_active_at", "last_active_at is expected"),
        minutes: z.int(minutes).check(z.minimum(1, minutes), z.maximum(MAX_MINUTES, minutes)),
      }),
    ),
  });
});

/** In place of the form with the file. */
export const containerFileBody = z.lazy(() =>
  z.object({ file_id: requiredText("the id of a file, or a form with the part file, is required") }),
);

const items = (words: string) =>
  z.array(object("an item is an object"), words).check(
    z.maxLength(MOST_ITEMS, {
      error: ({ input }) => `${input?.length} items; at most ${MOST_ITEMS} at once are accepted`,
    }),
  );
export const conversationBody = z.lazy(() =>
  z.object({ items: z.nullish(items("a list is expected")), metadata: metadata() }),
);
export const conversationChangeBody = z.lazy(() => z.object({ metadata: metadata() }));
export const newItemsBody = z.lazy(() => {
  const words = "a list with at least one item is required";
  return z.object({ items: items(words).check(z.minLength(1, words)) });
});
