import { defineSkill, tool } from "hull";
import * as z from "zod";

const offer = z.object({
  name: z.string().describe("What the offer is called."),
  price: z.number().positive().describe("What it costs."),
  amount: z.number().positive().describe("How much of it there is, in kilograms or litres."),
});

export default defineSkill({
  name: "unit-price",
  description:
    "Compares offers by what a kilogram or a litre costs. Use when someone asks which package is cheaper.",
  tools: [
    tool({
      name: "compare_offers",
      description: "Sorts offers by their price per unit, the cheapest first.",
      input: z.object({ offers: z.array(offer).min(1).describe("The offers to compare.") }),
      output: z.object({ cheapest: z.string(), per_unit: z.record(z.string(), z.string()) }),
      config: z.object({
        currency: z.string().default("EUR").meta({ displayName: "Currency" }),
        decimals: z.int().min(0).max(4).default(2).meta({ displayName: "Decimals" }),
      }),
      idempotent: true,
      run({ offers }, { config }) {
        const sorted = offers.toSorted((a, b) => a.price / a.amount - b.price / b.amount);
        const shown = sorted.map(({ name, price, amount }): [string, string] => [
          name,
          `${(price / amount).toFixed(config.decimals)} ${config.currency}`,
        ]);
        return { cheapest: sorted[0]?.name ?? "", per_unit: Object.fromEntries(shown) };
      },
    }),
  ],
});
