import { describe, expect, it, vi } from "vitest";
import { settings } from "../../src/env.ts";
import { Client } from "./served.ts";

const settingsOf = (variables: Record<string, string>) => settings(new Client(variables).env);

describe("settings", () => {
  it("have a default for everything that is not set", () => {
    expect(settingsOf({})).toMatchObject({
      name: "hull",
      local: false,
      public: false,
      adminKey: null,
      auth: "keys",
      cors_origins: [],
      max_body_bytes: 52_428_800,
      runner: { url: null, secret: null },
    });
  });

  it.each([
    [
      { HULL_ADMIN_KEY: "short" },
      "Too small: expected string to have >=16 characters\n  → at HULL_ADMIN_KEY",
    ],
    [{ HULL_RUNNER_URL: "nowhere" }, "Invalid URL\n  → at HULL_RUNNER_URL"],
    [{ HULL_ENV: "prod" }, 'Invalid option: expected one of "local"|"deployed"'],
    [{ HULL_CONFIG: '{"grace_ms":"2s"}' }, "expected number, received string\n  → at grace_ms"],
    [{ HULL_CONFIG: '{"grace":1}' }, 'Unrecognized key: "grace"'],
    [{ HULL_CONFIG: "{" }, "HULL_CONFIG is not JSON"],
  ])("say in words what is wrong with %j", (variables, words) => {
    const cause = expect.stringContaining(words);
    expect(() => settingsOf(variables)).toThrow(
      expect.objectContaining({ code: "internal", operator: { cause } }),
    );
  });

  it("that cannot be read are 500 for a caller, and say why to the operator only", async () => {
    const log = vi.spyOn(console, "error").mockImplementation(() => {});
    const response = await new Client({ HULL_ENV: "prod" }).fetch("/healthz");
    expect(response.status).toBe(500);
    expect(await response.json()).toMatchObject({ code: "internal" });
    expect(String(log.mock.calls[0])).toContain("expected one of");
    log.mockRestore();
  });
});
