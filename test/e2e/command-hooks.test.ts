/** Command hooks of skills: real workerd, a real runner, a provider whose turns are given. */
import { expect, test } from "vitest";
import { commonHull } from "../support/common-hull.ts";
import { json } from "../support/hull-dev.ts";
import { until } from "../support/runner.ts";

/** A skill with hooks that its folder's scripts carry out. */
const guarded = (name: string, hooks: string, scripts: Record<string, string> = {}) => ({
  [`${name}/SKILL.md`]: `---\nname: ${name}\ndescription: Works with care.\nworkspace_tools: true\nhooks:\n${hooks}\n---\nWork.\n`,
  ...Object.fromEntries(Object.entries(scripts).map(([path, text]) => [`${name}/${path}`, text])),
});

const CHECK = `#!/usr/bin/env python3
import json, os, sys
call = json.load(sys.stdin)
print(json.dumps(call), file=open(os.path.join(call["cwd"], "seen.jsonl"), "a"))
command = call["tool_input"].get("command", "")
if "rm" in command:
    print("Nothing is removed here.", file=sys.stderr)
    sys.exit(2)
if "push" in command:
    print(json.dumps({"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "ask", "permissionDecisionReason": "It goes out."}}))
if "hello" in command:
    print(json.dumps({"hookSpecificOutput": {"hookEventName": "PreToolUse", "updatedInput": {"command": "echo changed"}, "additionalContext": "It was changed."}}))
if "odd" in command:
    sys.exit(1)
`;

const { hull, fake } = await commonHull({
  ...guarded(
    "careful",
    `  PreToolUse:
    - matcher: Bash
      hooks:
        - type: command
          command: python3 "\${CLAUDE_SKILL_DIR}/check.py"
          timeout: 20
  PostToolUse:
    - matcher: "Write|Edit"
      hooks:
        - type: command
          command: |
            cat > after.json
            echo "lint: \${CLAUDE_PROJECT_DIR##*/} is $(pwd | sed 's|.*/||')" >&2; exit 2
  PostToolUseFailure:
    - hooks:
        - type: command
          command: echo '{"additionalContext":"Try again."}'`,
    { "check.py": CHECK },
  ),
  ...guarded(
    "first",
    `  PreToolUse:
    - matcher: ".*"
      command: echo '{"hookSpecificOutput":{"additionalContext":"Read the plan."}}'
      once: true`,
  ),
  ...guarded(
    "gated",
    `  UserPromptSubmit:
    - hooks:
        - type: command
          command: python3 "\${CLAUDE_SKILL_DIR}/prompt.py"
  Stop:
    - hooks:
        - type: command
          command: test -e done.txt || { echo "There is no done.txt." >&2; exit 2; }`,
    {
      "prompt.py":
        "import json, sys\nprompt = json.load(sys.stdin)['prompt']\nif 'bad' in prompt: sys.exit('No.' if 'odd' in prompt else print('No such words.', file=sys.stderr) or 2)\nprint('Asked: ' + prompt)\n",
    },
  ),
  "helper/SKILL.md":
    "---\nname: helper\ndescription: Helps.\ncontext: fork\nworkspace_tools: true\n---\nHelp.\n",
  ...guarded("slow", "  PreToolUse:\n    - hooks: [{type: command, command: sleep 60, timeout: 0.2}]"),
});

interface Call {
  name: string;
  arguments: object;
}
const call = (name: string, args: object): Call => ({ name, arguments: args });
const bash = (command: string): Call => call("Bash", { command });

const OPTIONS = { provider: "anthropic", model: "claude-haiku-4-5", max_tokens: 500 };
async function inSession(options: object, turns: Parameters<typeof fake.script>[0]) {
  fake.script(turns);
  fake.requests.length = 0;
  const { id } = await json<{ id: string }>(await hull.post("/sessions", {}));
  const body = { prompt: "Do it.", options: { ...OPTIONS, ...options } };
  const response = await hull.post(`/sessions/${id}/runs`, body, { prefer: "respond-async" });
  const { run_id } = await json<{ run_id: string }>(response);
  const settled = () =>
    until(
      async () =>
        json<{ status: string; result?: object }>(await hull.call(`/sessions/${id}/runs/${run_id}`)),
      ({ status }) => status !== "running",
    );
  const file = async (path: string): Promise<string> =>
    (await hull.call(`/sessions/${id}/files/${path}`)).text();
  return { id, settled, file };
}
const results = (): string[] =>
  fake.requests.slice(1).map(({ body }) => {
    const { messages } = body;
    return JSON.stringify(Array.isArray(messages) ? messages.at(-1) : null);
  });

test("a hook before a call refuses it, changes it, asks a person about it, or lets it pass", async () => {
  const run = await inSession({ skill: "careful" }, [
    { tool_calls: [bash("rm -rf x")] },
    { tool_calls: [bash("echo hello")] },
    { tool_calls: [bash("echo odd")] },
    { tool_calls: [bash("echo push")] },
    { tool_calls: [bash("echo push")] },
    { text: "Done." },
  ]);
  expect((await run.settled()).status).toBe("awaiting_approval");
  const [refused, changed, odd] = results();
  expect(refused).toContain("Nothing is removed here.");
  expect(changed).toContain("changed\\n[hook careful#PreToolUse.0: It was changed.]");
  expect(changed).not.toContain("hello");
  expect(odd).toContain("odd");
  const { data } = await json<{ data: { id: string; cause: string; arguments_digest: string }[] }>(
    await hull.call(`/sessions/${run.id}/approvals`),
  );
  expect(data).toMatchObject([{ cause: "It goes out.", tool: "Bash", arguments: { command: "echo push" } }]);
  const [asked] = data;
  await hull.post(`/sessions/${run.id}/approvals/${asked?.id}`, {
    decision: "approve",
    scope: "session",
    arguments_digest: asked?.arguments_digest,
  });
  expect((await run.settled()).status).toBe("done");
  expect(results().at(-1)).toContain("push");
  const [first] = (await run.file("seen.jsonl")).split("\n");
  expect(JSON.parse(first ?? "")).toEqual({
    session_id: run.id,
    cwd: expect.stringMatching(/^\/.*\/files$/),
    permission_mode: "default",
    hook_event_name: "PreToolUse",
    tool_name: "Bash",
    tool_input: { command: "rm -rf x" },
    tool_use_id: expect.any(String),
  });
});

test("a hook after a call reads its result, and its words follow it", async () => {
  const run = await inSession({ skill: "careful" }, [
    { tool_calls: [call("Write", { file_path: "a.txt", content: "it's <b>\n'END_OF_INPUT'\n$(x)" })] },
    { tool_calls: [call("Read", { file_path: "none.txt" })] },
    { text: "Done." },
  ]);
  expect((await run.settled()).status).toBe("done");
  const [written, failed] = results();
  expect(written).toMatch(/\[hook careful#PostToolUse\.1: lint: files is files\]/);
  expect(failed).toContain("[hook careful#PostToolUseFailure.2: Try again.]");
  expect(JSON.parse(await run.file("after.json"))).toMatchObject({
    hook_event_name: "PostToolUse",
    tool_name: "Write",
    tool_input: { file_path: "a.txt", content: "it's <b>\n'END_OF_INPUT'\n$(x)" },
    tool_response: { status: "ok", content: expect.any(String) },
  });
});

test("the hooks of a skill apply while it is active, and those with once to one call", async () => {
  const run = await inSession({ skills: ["first", "careful"], workspace_tools: true }, [
    { tool_calls: [bash("rm -f before")] },
    { tool_calls: [call("load_skill", { name: "first" })] },
    { tool_calls: [bash("echo one")] },
    { tool_calls: [bash("echo two")] },
    { text: "Done." },
  ]);
  expect((await run.settled()).status).toBe("done");
  const [before, , one, two] = results();
  expect(before).not.toContain("removed here");
  expect(one).toContain("[hook first#PreToolUse.0: Read the plan.]");
  expect(two).not.toContain("Read the plan");
});

test("a call of the skill's own route has its hooks; a hook that does not end refuses the call", async () => {
  fake.script([{ tool_calls: [bash("echo ran > made.txt")] }, { text: "Done." }]);
  fake.requests.length = 0;
  const answer = await hull.call("/skills/slow", "Go.", { method: "POST" });
  expect([answer.status, await answer.text()]).toEqual([200, "Done."]);
  expect(results()[0]).toMatch(/permission_denied.*A hook of the skill did not end/);
  expect(answer.headers.get("x-hull-files")).toBeNull();
});

test("a hook reads the request, and one sends a run on that would end", async () => {
  fake.script([{ text: "Early." }, { tool_calls: [bash("touch done.txt")] }, { text: "Done." }]);
  fake.requests.length = 0;
  const answer = await hull.call("/skills/gated", "Do it.", { method: "POST" });
  expect([answer.status, await answer.text()]).toEqual([200, "Done."]);
  expect(fake.requests).toHaveLength(3);
  expect(JSON.stringify(fake.requests[0]?.body)).toContain('UserPromptSubmit\\">Asked: Do it.<');
  expect(results()[0]).toContain('Stop\\">There is no done.txt.<');
});

test("a hook refuses a request: the run fails with its reason, before a model call", async () => {
  fake.script([{ text: "Not this." }]);
  fake.requests.length = 0;
  const answer = await hull.call("/skills/gated", "bad words", { method: "POST" });
  expect([answer.status, await json(answer)]).toMatchObject([
    422,
    {
      type: "urn:hull:problem:hook_refused",
      detail: "The skill's hook gated#UserPromptSubmit.0 refused the request: No such words.",
    },
  ]);
  expect(fake.requests).toEqual([]);
});

test("they watch the calls of sub-agents too, whatever skill those carry out", async () => {
  const run = await inSession({ skill: "careful", skills: ["helper"], sub_agents: true }, [
    { tool_calls: [call("sub_agent", { task: "Remove it." })] },
    { tool_calls: [bash("rm -f one")] },
    { text: "Refused." },
    { tool_calls: [call("load_skill", { name: "helper", task: "Remove it." })] },
    { tool_calls: [bash("rm -f two")] },
    { text: "Refused again." },
    { text: "Done." },
  ]);
  expect((await run.settled()).status).toBe("done");
  expect(results().filter((text) => text.includes("Nothing is removed here."))).toHaveLength(2);
  const seen = (await run.file("seen.jsonl")).trim().split("\n");
  expect(seen.map((line) => JSON.parse(line).tool_input.command)).toEqual(["rm -f one", "rm -f two"]);
});

test("hooks that Bash may not run without an approval do not run, and a warning says so", async () => {
  for (const more of [
    { workspace_tools: ["Read", "Write"] },
    { approval_policy: { require_approval: ["Bash"] } },
  ]) {
    const run = await inSession({ skill: "careful", ...more }, [{ text: "Done." }]);
    const message = expect.stringContaining("hooks that do not run: careful.");
    expect(await run.settled()).toMatchObject({
      status: "done",
      result: { warnings: [{ code: "hook_not_run", message }] },
    });
  }
});
