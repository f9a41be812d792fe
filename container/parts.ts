/** The parts of the runner that executions share: each opens its folder in the state directory. */
import { join } from "node:path";
import { Bundles } from "./bundles.ts";
import { Commands } from "./commands.ts";
import { Dependencies } from "./dependencies.ts";
import { EgressProxy } from "./egress-proxy.ts";
import { inheritedEnvironment, installerEnvironment } from "./environment.ts";
import type { RunnerServices } from "./execution.ts";
import { Handlers } from "./handlers.ts";
import { type Isolation, isolate } from "./isolation.ts";
import { Journal } from "./journal.ts";
import { JournalCipher } from "./journal-cipher.ts";
import { Launchers } from "./launchers.ts";
import { log } from "./log.ts";
import type { RunnerOptions } from "./options.ts";
import { Pipes } from "./pipes.ts";
import { ScratchRoot } from "./scratch.ts";
import { SkillFolders } from "./skill-folders.ts";
import { Workspaces } from "./workspaces.ts";

interface Parts {
  services: RunnerServices;
  enforced: Isolation["enforced"];
  /** Writes everything to disk. */
  close: () => Promise<void>;
}

/**
 * Opens everything, and ends the processes that an earlier runner left behind.
 * @param state the state directory
 * @param secret the secret of the runner, which may arrive after its start
 * @throws CannotIsolate
 */
export async function openParts(options: RunnerOptions, state: string, secret: () => Buffer): Promise<Parts> {
  const inherited = inheritedEnvironment(process.env);
  const commands = new Commands(inherited);
  const isolation = await isolate(options, commands, state);
  const { launcher, spawners, cgroups, group, enforced } = isolation;
  const limits = { bytes: options.journalBytes, ms: options.journalMs };
  const journal = await Journal.open(join(state, "journal"), limits, new JournalCipher(secret));
  const leftover = await launcher.killProcessesOf(new Set(journal.lost()));
  if (leftover > 0) log("warn", "leftover_processes_killed", { count: leftover });
  const openTree = (path: string) => launcher.openTree(path);
  const scratch = new ScratchRoot(join(state, "scratch"), group, openTree);
  const pipes = new Pipes(Pipes.directory(state, enforced.apart), group);
  const bundles = new Bundles(join(state, "bundles"), options.bundleBytes, group);
  const workspaces = new Workspaces(join(state, "workspaces"), options.workspaceBytes, group, openTree);
  const python =
    spawners === null
      ? await commands.resolve("python3", state)
      : { file: spawners.python, argv0: spawners.python };
  const dependencies = new Dependencies({
    dir: join(state, "packages"),
    network: options.installs,
    limitMs: options.installMs,
    bundles,
    cgroups,
    launcher,
    pipes,
    python,
    scratch,
    environment: installerEnvironment(process.env),
    networked: options.egress || !options.installs ? null : (spawners?.networked ?? null),
  });
  await pipes.prepare();
  const handlers = new Handlers({
    dir: join(state, "programs"),
    group,
    commands,
    dependencies,
    inherited,
    launchers: await launchersOf(options, isolation),
    limitsMemory: cgroups !== null && cgroups.memoryBytes !== null,
    python,
  });
  const skillFolders = new SkillFolders(join(state, "skills"), bundles, group);
  const folders = [scratch, bundles, workspaces, handlers, skillFolders];
  await Promise.all(folders.map((folder) => folder.prepare()));
  return {
    services: {
      bundles,
      cgroups,
      commands,
      handlers,
      inherited,
      journal,
      launcher,
      pipes,
      scratch,
      skillFolders,
      workspaces,
    },
    enforced,
    async close() {
      journal.close();
      await Promise.all([...folders, pipes, dependencies].map((part) => part.close()));
    },
  };
}

async function launchersOf(
  { egress, spawners: count }: RunnerOptions,
  { launcher, spawners, enforced }: Isolation,
): Promise<Launchers> {
  const gateway = enforced.declared_hosts ? (spawners?.listed?.gateway ?? null) : null;
  const egressProxy = gateway === null ? null : await EgressProxy.open(gateway, process.env);
  return new Launchers({ launcher, spawners, egress, egressProxy, count });
}
