import { describe, expect, it, vi } from "vitest";
import { readSettings } from "../../src/env.ts";
import { Client } from "./served.ts";

const settingsOf = (variables: Record<string, string>) => readSettings(new Client(variables).env);

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
      runner: { origin: null, secret: null },
      workspace_tools: { enabled: "auto", network: false, env: [], image: "slim", allowed_tools: "approve" },
    });
  });

  it.each([
    [{ HULL_ADMIN_KEY: "short" }, "HULL_ADMIN_KEY must have 16 characters or more"],
    [{ HULL_ADMIN_KEY: "correct horse battery" }, "all of them ASCII without blanks"],
    [{ HULL_ADMIN_KEY: "0123456789abcdef\n" }, "all of them ASCII without blanks"],
    [{ HULL_ADMIN_KEY: "schlüssel-für-den-betrieb" }, "all of them ASCII without blanks"],
    [{ HULL_RUNNER_URL: "nowhere" }, "HULL_RUNNER_URL must be an address"],
    [{ HULL_RUNNER_URL: "ftp://runner" }, "HULL_RUNNER_URL must be an address"],
    [{ HULL_RUNNER_URL: "http://me:secret@runner" }, "without a user name"],
    [{ HULL_RUNNER_URL: "http://runner/path" }, "without a user name, path or query"],
    [{ HULL_ENV: "prod" }, 'HULL_ENV must be local or deployed, not "prod"'],
    [{ HULL_TRACE: "yes" }, 'HULL_TRACE must be 1, true, 0 or false, not "yes"'],
    [{ HULL_RUNNER_EGRESS: "Off" }, 'HULL_RUNNER_EGRESS must be on or off, not "Off"'],
    [{ HULL_LLM_STREAM: "off" }, 'HULL_LLM_STREAM must be 1, true, 0 or false, not "off"'],
    [{ HULL_LLM_TIMEOUT: "abc" }, 'HULL_LLM_TIMEOUT must be a number of seconds above 0, not "abc"'],
    [{ HARN_LLM_TIMEOUT: "0.0" }, 'HARN_LLM_TIMEOUT must be a number of seconds above 0, not "0.0"'],
    [{ HULL_SECRET_KEY: "short" }, "HULL_SECRET_KEY must be keys of 32 characters or more"],
    [
      { HULL_SECRET_KEY: `${"k".repeat(32)} short` },
      "put a longer one in place of a short one, and keep the others",
    ],
    [
      { HULL_RATE_LIMIT_MOCK: "ten" },
      'HULL_RATE_LIMIT_MOCK must be a whole number of calls a minute, or 0 for no limit, not "ten"',
    ],
    [{ HARN_RATE_LIMIT_OPENAI: "10/s" }, "HARN_RATE_LIMIT_OPENAI must be a whole number"],
    [{ HULL_CONFIG: '{"grace_ms":"2s"}' }, "expected number, received string\n  → at grace_ms"],
    [{ HULL_CONFIG: '{"limits":{"answer_ms":600001}}' }, "<=600000\n  → at limits.answer_ms"],
    [{ HULL_CONFIG: '{"allowed_origins":["https://a.test/"]}' }, "must be origins like"],
    [{ HULL_CONFIG: '{"host":{}}' }, "needs either url or binding\n  → at host"],
    [{ HULL_CONFIG: '{"grace":1}' }, 'HULL_CONFIG does not fit: ✖ Unrecognized key: "grace"'],
    [{ HULL_CONFIG: "{" }, "HULL_CONFIG is not JSON"],
    [{ HULL_CONFIG: '{"workspace_tools":{"env":["HULL_X"]}}' }, "none of Hull's own"],
    [{ HULL_CONFIG: '{"workspace_tools":{"env":["OPENAI_API_KEY"]}}' }, "which no process gets"],
    [{ HULL_LLM: "{" }, "HULL_LLM is not JSON"],
    [{ HULL_LLM: '{"llm":{"provider":{}}}' }, 'Unrecognized key: "provider"'],
    [{ HULL_LLM: "parts:2", HULL_LLM_1: '{"llm":' }, "HULL_LLM is not JSON"],
  ])("describe the fault of %j in words", (variables, words) => {
    const cause = expect.stringContaining(words);
    expect(() => settingsOf(variables)).toThrow(
      expect.objectContaining({ code: "setting_unreadable", operator: { cause } }),
    );
  });

  it.each([
    [{ HULL_CONFIG: '{"inner":"value"}' }, "HULL_CONFIG has a wrong value; the log says where."],
    [{ HULL_TRACE: "yes" }, 'HULL_TRACE must be 1, true, 0 or false, not "yes".'],
  ])("are an error if they cannot be read, and no cache stores it: %j", async (variables, words) => {
    const logged = vi.spyOn(console, "error").mockReturnValue();
    const response = await new Client(variables).fetch("/healthz", {
      headers: { "x-request-id": "asked-for-1" },
    });
    expect([response.status, response.headers.get("cache-control")]).toEqual([500, "no-store"]);
    const { code, detail, variable } = await response.json<Record<string, string>>();
    expect([code, variable]).toEqual(["setting_unreadable", Object.keys(variables)[0]]);
    expect(detail).toBe(`The variable ${words} Whoever runs this Hull must correct it.`);
    expect(response.headers.get("x-request-id")).toBe("asked-for-1");
    expect(JSON.stringify(logged.mock.calls)).toContain("asked-for-1");
    logged.mockRestore();
  });

  it("read the settings of hull.toml from one variable or several", () => {
    const parts = { HULL_CONFIG: "parts:2", HULL_CONFIG_1: '{"name":"kit', HULL_CONFIG_2: 'chen"}' };
    expect(settingsOf(parts).name).toBe("kitchen");
  });

  it("read the models of hull.toml from one variable or several, and their keys", () => {
    const text = JSON.stringify({ llm: { providers: { own: { rpm: 5 } } } });
    const whole = settingsOf({ HULL_LLM: text, OWN_API_KEY: "own-key-canary" });
    const parts = settingsOf({
      HULL_LLM: "parts:2",
      HULL_LLM_1: text.slice(0, 9),
      HULL_LLM_2: text.slice(9),
      HULL_LLM_3: "left from an earlier deployment",
    });
    expect(whole.models).toEqual([{ llm: { providers: { own: { rpm: 5 } } } }]);
    expect(settingsOf({ HULL_LLM: `[${text}]` }).models).toEqual(whole.models);
    expect(parts.models).toEqual(whole.models);
    expect(whole.providerKeys.has("OWN_API_KEY") && whole.providerKeys.has("OPENAI_API_KEY")).toBe(true);
    expect(whole.redactor.text("it is own-key-canary")).toBe("it is [redacted]");
    const blanks = settingsOf({ OPENAI_API_KEY: " blank-key-canary\n" });
    expect(blanks.redactor.text("it is blank-key-canary")).toBe("it is [redacted]");
    expect(settingsOf({ HULL_LLM: "" }).models).toEqual([]);
  });

  it("remove the secret of the host delegate, whatever its name", () => {
    const host = { url: "https://host.example", secret_env: "SIGNS_CALLS" };
    const signing = settingsOf({ HULL_CONFIG: JSON.stringify({ host }), SIGNS_CALLS: "signing-key-canary" });
    expect(signing.redactor.text("it is signing-key-canary")).toBe("it is [redacted]");
  });

  it("fall back to Harn's own names, and to no others", () => {
    const { read, adminKey, logsSpans } = settingsOf({
      HARN_LLM_MODEL: "a",
      HARN_LLM_PROVIDER: "b",
      HULL_LLM_PROVIDER: "c",
      HARN_RATE_LIMIT_OPENAI: "5",
      HARN_ADMIN_KEY: "hull-admin-canary-0123456789",
      HARN_TRACE: "1",
      HARN_LLM_MOCKS: "on",
    });
    const names = ["HULL_LLM_MODEL", "HULL_LLM_PROVIDER", "HULL_RATE_LIMIT_OPENAI"];
    expect(names.map(read)).toEqual(["a", "c", "5"]);
    const others = ["HULL_ADMIN_KEY", "HULL_TRACE", "HULL_LLM_MOCKS", "LLM_MODEL"];
    expect(others.map(read)).toEqual(others.map(() => undefined));
    expect([adminKey, logsSpans]).toEqual([null, false]);
  });

  it("count an empty value as unset, and Harn's name only where Hull's is unset", () => {
    const names = ["ADMIN_KEY", "SECRET_KEY", "LOG", "ENV", "GRANTS", "RUNNER_SECRET", "RATE_LIMIT_MOCK"];
    const empty = Object.fromEntries(names.map((name) => [`HULL_${name}`, ""]));
    expect(settingsOf(empty)).toMatchObject({ adminKey: null, secretKeys: [], local: false, logsAll: true });
    expect(settingsOf({ HULL_LLM_TIMEOUT: "5", HARN_LLM_TIMEOUT: "x" }).read("HULL_LLM_TIMEOUT")).toBe("5");
  });
});
