/** `hull remove`: removes an uploaded skill from a running Hull. */
import { SERVER_FLAGS, serverOf } from "../admin-client.ts";
import { defineCommand, EXIT, usageError } from "../command.ts";

export const command = defineCommand({
  name: "remove",
  summary: "Remove an uploaded skill from a running Hull",
  usage: `
Usage: hull remove <slug> [--url URL] [--key KEY]

  --url URL  the Hull that serves it (default: $HULL_URL, then the hull dev of this project)
  --key KEY  an API key of its tenant with the scope publish (default: $HULL_API_KEY, then $HULL_ADMIN_KEY)

Runs that are under way finish. To remove a skill that hull publish published, publish again without it.
`,
  flags: SERVER_FLAGS,
  words: 1,
  async run({ values, positionals }) {
    const [slug] = positionals;
    const server = await serverOf(values, "hull remove <slug> --url https://…");
    if (slug === undefined) {
      throw usageError("bad_arguments", "Remove which skill?", "hull remove <slug> --url https://…");
    }
    await server.ask("DELETE /_hull/skills/{slug}", { path: { slug } });
    process.stdout.write(`Removed ${slug}.\n`);
    return EXIT.ok;
  },
});
