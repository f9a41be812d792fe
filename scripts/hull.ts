/** Entry of the `hull` command line. */
import { runCli } from "./cli.ts";

process.exitCode = await runCli(process.argv.slice(2));
