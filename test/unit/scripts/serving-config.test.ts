import { tmpdir } from "node:os";
import { expect, test } from "vitest";
import { parseOptions } from "../../../container/options.ts";
import { eventsOf } from "../../../scripts/admin-client.ts";
import { loadConfig } from "../../../scripts/config.ts";
import { remoteAction } from "../../../scripts/remote-action.ts";
import { runnerFlags, servingConfig } from "../../../scripts/serving-config.ts";
import { movedSettings, servingSettings } from "../../../src/skill/serving-settings.ts";
import { folder } from "./folder.ts";

const config = await loadConfig(tmpdir());
const served = (changes: Partial<typeof config>) =>
  JSON.parse(
    servingConfig(
      {
        config: { ...config, ...changes },
        dir: "/a",
        roots: [],
        whole: true,
        models: { file: {}, root: {} },
      },
      { loopback: true, hosts: [] },
    ),
  );

test("a rate limit that hull.toml switches off is null, an absent one is left to the Worker", async () => {
  expect(served(await loadConfig(folder({ "hull.toml": 'rate_limit = "none"\n' }))).rate_limit).toBe(null);
  expect(served({})).not.toHaveProperty("rate_limit");
});

test("the Worker gets exactly the settings that it accepts, under its own names", async () => {
  const toml = `port = 1\nhook_timeout_ms = 5\n[runner]\ngrace_ms = 7\n[host_delegate]\nbinding = "HOST"
[daemons]\nwebhook_secrets = ["SIGNS"]\n[limits]\nanswer_ms = 9\n`;
  const accepted = Object.keys({ ...servingSettings(), ...movedSettings(), name: 1, loopback: 1 });
  const given = served(await loadConfig(folder({ "hull.toml": toml })));
  expect(accepted).toEqual(expect.arrayContaining(Object.keys(given)));
  expect(given).toMatchObject({
    hook_timeout_ms: 5,
    grace_ms: 7,
    host: { binding: "HOST" },
    webhook_secrets: ["SIGNS"],
    limits: { answer_ms: 9, code_timeout_ms: 120_000 },
  });
});

test("the runner's flags name what differs from its own defaults", () => {
  const { runner } = config;
  expect(runnerFlags(runner)).not.toContain("--network");
  const flags = runnerFlags({ ...runner, network: "open", installs: false, concurrency: 3 });
  expect(flags.slice(-6)).toEqual(["--network", "open", "--installs", "off", "--concurrency", "3"]);
});

test.each([
  ["concurrency", 1, 4096],
  ["queue", 0, 65_536],
  ["queue_timeout_ms", 1, 600_000],
  ["grace_ms", 0, 600_000],
  ["drain_ms", 0, 900_000],
  ["install_ms", 1, 3_600_000],
])("runner.%s of hull.toml is from %i to %i, which the runner accepts", async (name, least, most) => {
  const read = (value: number) => loadConfig(folder({ "hull.toml": `[runner]\n${name} = ${value}\n` }));
  for (const value of [least, most]) {
    const flags = runnerFlags((await read(value)).runner);
    expect(Object.values(parseOptions(["--state", "/state", ...flags], {}))).toContain(value);
  }
  await expect(read(least - 1)).rejects.toThrow(`runner.${name}: must be at least ${least}`);
  await expect(read(most + 1)).rejects.toThrow(`runner.${name}: must be at most ${most}`);
});

test("events keep characters that are cut between two pieces of an answer", async () => {
  const bytes = new TextEncoder().encode("event: delta\ndata: é\n\n");
  const answer = new Response(ReadableStream.from([bytes.slice(0, 20), bytes.slice(20)]));
  const events = await Array.fromAsync(eventsOf(answer));
  expect(events).toMatchObject([{ event: "delta", data: "é" }]);
});

test("only the actions that a command names need no id", () => {
  const actions = { add: 1, revoke: 2 };
  const usage = { question: "Which?", hint: "", alone: ["add"] };
  expect(remoteAction(actions, ["add"], usage)).toMatchObject({ name: "add", action: 1 });
  expect(remoteAction(actions, ["revoke", "k"], usage)).toMatchObject({ id: "k", action: 2 });
  expect(() => remoteAction(actions, ["add", "k"], usage)).toThrow("Which?");
  expect(() => remoteAction(actions, ["revoke"], usage)).toThrow("Which?");
});
