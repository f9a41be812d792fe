/** `hull remove`: removes an uploaded skill from a running Hull. */
import { AdminClient, pathOf, target } from "../admin-client.ts";
import { type Command, CommandError, EXIT, parseFlags } from "../command.ts";

export const command: Command = {
  name: "remove",
  summary: "Remove an uploaded skill from a running Hull",
  usage: `
Usage: hull remove <slug> [--url URL] [--key KEY]

  --url URL  the Hull that serves it (default: $HULL_URL, then the hull dev of this project)
  --key KEY  an API key of its tenant with the scope publish (default: $HULL_API_KEY, then $HULL_ADMIN_KEY)

Runs that are under way finish. To remove a skill that hull publish published, publish again without it.
`,
  async run(argv) {
    const { values, positionals } = parseFlags(argv, { url: { type: "string" }, key: { type: "string" } }, 1);
    const [slug] = positionals;
    const { url, key } = await target(values, "hull remove <slug> --url https://…");
    if (slug === undefined) {
      throw new CommandError(
        EXIT.usage,
        "bad_arguments",
        "Remove which skill?",
        "hull remove <slug> --url https://…",
      );
    }
    await new AdminClient(url, key).send("DELETE", pathOf("/_hull/skills", slug));
    process.stdout.write(`Removed ${slug}.\n`);
    return EXIT.ok;
  },
};
