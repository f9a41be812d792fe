/** `hull publish`: sends the skills of a project to a running Hull. */

import { counted } from "../../src/plural.ts";
import { SERVER_FLAGS, target } from "../admin-client.ts";
import { BuildCache } from "../build/cache.ts";
import { printDiagnostics } from "../build/print.ts";
import { defineCommand, EXIT, SWITCH } from "../command.ts";
import { buildOptionsOf, openProject } from "../project.ts";
import { buildKeeping, keptLines } from "../publish/last-published.ts";
import { RegistryClient } from "../publish/registry-client.ts";

export const command = defineCommand({
  name: "publish",
  summary: "Send the skills to a running Hull",
  usage: `
Usage: hull publish [dir] [--url URL] [--key KEY] [--keep-going] [--empty]
       hull publish --rollback [--url URL] [--key KEY]

  --url URL     the Hull to publish to, e.g. https://hull.example.workers.dev (default: $HULL_URL, then the hull dev of this project)
  --key KEY     its API key (default: $HULL_API_KEY, then $HULL_ADMIN_KEY)
  --keep-going  keep the published version of broken skills, marked as stale, instead of publishing nothing; without one
                leave them out
  --empty       publish a project without skills, which removes all that are published
  --rollback    serve the previous catalog again

Sends missing objects first and switches the catalog last, so that an interrupted publish changes nothing. If somebody else
publishes meanwhile, it changes nothing either and says so.
`,
  flags: { ...SERVER_FLAGS, "keep-going": SWITCH, empty: SWITCH, rollback: SWITCH },
  words: 1,
  exclude: [
    ["rollback", "keep-going"],
    ["rollback", "empty"],
  ],
  async run({ values, positionals }) {
    const { url, key } = await target(values, "hull publish --url https://…");
    const registry = new RegistryClient(url, key);
    if (values.rollback === true) {
      const id = await registry.rollback();
      process.stdout.write(`${url} serves catalog ${id.slice(0, 12)} again.\n`);
      return EXIT.ok;
    }
    const project = await openProject(positionals[0]);
    const keepGoing = values["keep-going"] === true;
    // What somebody publishes from now on, this publish does not know and must not replace.
    const served = registry.served();
    served.catch(() => {});
    const cache = await BuildCache.open(project.dir);
    const options = { ...buildOptionsOf(project), keepGoing, cache };
    const result = await buildKeeping(project, options, () => registry);
    printDiagnostics(result.diagnostics);
    if (result.catalog === null) {
      process.stderr.write("Nothing was published: the skills above have errors.\n");
      return EXIT.failed;
    }
    if (result.skills.length === 0 && values.empty !== true) {
      process.stderr.write(
        `Nothing was published: that would remove all skills of ${url}. Publish from the folder with hull.toml or skills/, or remove them all with --empty.\n`,
      );
      return EXIT.failed;
    }
    const sent = await registry.publish(result, await served);
    await cache.save();
    process.stderr.write(keptLines(result.skills));
    process.stdout.write(
      `Published ${counted(result.skills.length, "skill")} to ${url} as catalog ${result.catalog.id.slice(0, 12)} (${counted(sent, "object")} sent).\n`,
    );
    return EXIT.ok;
  },
});
