import { defineSkill, tool } from "hullrun";
import * as z from "zod";

export default defineSkill({
  name: "page-address",
  description:
    "Makes the address of a page from its title. Use when someone needs a short name for a URL or a file.",
  tools: [
    tool({
      name: "make_address",
      description: "Makes a title into lower-case words without accents, joined by a sign.",
      input: z.object({
        title: z.string().trim().min(1).describe("The title of the page."),
        words: z.int().min(1).default(8).describe("Most words to keep."),
      }),
      output: z.object({ address: z.string() }),
      config: z.object({
        separator: z.enum(["-", "_"]).default("-").meta({ displayName: "Between words" }),
        maxLength: z
          .int()
          .min(10)
          .max(200)
          .default(60)
          .meta({ displayName: "Longest", unit: "characters" }),
      }),
      idempotent: true,
      run({ title, words }, { config }) {
        const plain = title.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();
        const kept = (plain.match(/[\p{L}\p{N}]+/gu) ?? []).slice(0, words);
        return { address: kept.join(config.separator).slice(0, config.maxLength) };
      },
    }),
  ],
});
