/** Entry of the `hull` command line. */

import { runCli } from "./cli.ts";
import { EXIT } from "./command.ts";
import { useProxy } from "./proxy.ts";
import { reasonOf } from "./system-error.ts";

/**
 * Ends the command when nobody reads its output any more, as in `hull logs x | head`: through the command's own handler
 * of SIGTERM if it has one, as `hull dev` does.
 */
function endWithReader(): void {
  let ended = false;
  const onError = (error: NodeJS.ErrnoException): void => {
    if (ended) return;
    ended = true;
    if (error.code !== "EPIPE") {
      process.stderr.write(`hull: The output cannot be written: ${reasonOf(error)}.\n`);
      process.exit(EXIT.failed);
    }
    if (process.listenerCount("SIGTERM") > 0) process.kill(process.pid, "SIGTERM");
    else process.exit(EXIT.ok);
  };
  for (const stream of [process.stdout, process.stderr]) stream.on("error", onError);
}

endWithReader();
useProxy(process.env);
process.exitCode = await runCli(process.argv.slice(2));
