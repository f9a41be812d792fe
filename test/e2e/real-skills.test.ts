/** Unedited agent skills at work: real workerd, a real runner, a provider whose turns are given. */
import { execFile } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { commonHull } from "../support/common-hull.ts";
import { blocks } from "../support/documents.ts";
import { formPdf } from "../support/form-pdf.ts";
import { json, REPO } from "../support/hull-dev.ts";
import { until } from "../support/runner.ts";
import { dataOf, readEvents } from "../support/sse.ts";

const PDF = join(REPO, "test/fixtures/real-skills/pdf");
const files = (folder: string, below = ""): [string, Uint8Array][] =>
  readdirSync(join(folder, below), { withFileTypes: true }).flatMap((entry) => {
    const path = below === "" ? entry.name : `${below}/${entry.name}`;
    return entry.isDirectory()
      ? files(folder, path)
      : [[`pdf/${path}`, readFileSync(join(folder, path))] as [string, Uint8Array]];
  });

const { hull, fake } = await commonHull({
  ...Object.fromEntries(files(PDF)),
  "tidy/SKILL.md":
    "---\nname: tidy\ndescription: Tidies repositories\nallowed-tools: Bash(git:*), Read\n---\nLook with `git status`.\n",
  "reader/SKILL.md":
    "---\nname: reader\ndescription: Reads things\nallowed-tools: Read\n---\nRead ../pdf/forms.md.\n",
  "chart/SKILL.md":
    "---\nname: chart\ndescription: Draws charts\noutput: file\nworkspace_tools: true\nmax_tool_rounds: 10\n---\nDraw.\n",
  "facts/SKILL.md":
    "---\nname: facts\ndescription: Tells facts\nallowed-tools: Bash(echo:*)\n---\nThe sum is !`echo 40 2`. Not this: !`rm -rf x` with [rm].\n",
  "quotes/SKILL.md": `---
name: quotes
description: Quotes what it is given
arguments: first second
workspace_tools: true
---
All: !\`echo "<$ARGUMENTS>" '$1' $0, \${1:-none} \${7:-none} "$ARGUMENTS[1]" '$second'\`. Then $second.
Note: !\`cat "\${CLAUDE_SKILL_DIR}/note.md"\`

\`\`\`!
echo block $0
echo of two
\`\`\`

\`\`\`markdown
So others write it: !\`rm -rf $1\`
\`\`\`
`,
  "quotes/note.md": "costs $1\n",
  "sums/note.md": "Of two.\n",
  "sums/SKILL.md":
    "---\nname: sums\ndescription: Tells sums\nallowed-tools: Bash(echo:*), Bash(cat ${CLAUDE_SKILL_DIR}/*)\n---\nThe sum is !`echo 40 2`. !`cat ${CLAUDE_SKILL_DIR}/note.md`\nFirst: $ARGUMENTS[0], all: $ARGUMENTS. In {baseDir}, beside ~/.claude/skills/pdf.\n",
});

interface Call {
  name: string;
  arguments: object;
}
const call = (name: string, args: object): Call => ({ name, arguments: args });
const bash = (command: string): Call => call("Bash", { command });
const sent = (n: number): string => JSON.stringify(fake.requests[n]?.body ?? {});
const last = (): string => sent(fake.requests.length - 1);

/** The folder of the pdf skill, as its text names it to the model. */
async function folderOf(path: string): Promise<string> {
  fake.script([{ text: "ok" }]);
  await (await hull.call(path, form("hello"))).text();
  const found = /Base directory for this skill: ([^\\"]+)/.exec(sent(fake.requests.length - 1))?.[1];
  fake.requests.length = 0;
  return found ?? expect.fail("no base directory");
}

function form(prompt: string, file?: Uint8Array<ArrayBuffer>): FormData {
  const made = new FormData();
  made.set("prompt", prompt);
  if (file !== undefined) made.set("file", new File([file], "form.pdf", { type: "application/pdf" }));
  return made;
}

const turnsOf = (dir: string) => [
  { tool_calls: [call("read_skill_resource", { skill: "pdf", path: "FORMS.md" })] },
  {
    tool_calls: [
      bash(`cd ${dir} && python3 scripts/check_fillable_fields.py "$OLDPWD/form.pdf"; cd "$OLDPWD"`),
    ],
  },
  {
    tool_calls: [
      bash(`python3 ${dir}/scripts/extract_form_fields.py form.pdf fields.json && cat fields.json`),
    ],
  },
  {
    tool_calls: [call("Write", { file_path: "field_values.json", content: '{"full_name": "Ada (Byron)"}' })],
  },
  {
    tool_calls: [
      bash(
        `python3 ${dir}/scripts/fill_fillable_fields.py form.pdf field_values.json filled.pdf; rm fields.json field_values.json`,
      ),
    ],
  },
  { text: "The form is filled in: filled.pdf." },
];

test("R1, R2: a form goes in with multipart, the unedited skill fills it in, and the answer carries it", async () => {
  const dir = await folderOf("/skills/pdf");
  fake.script(turnsOf(dir));
  const response = await hull.call("/skills/pdf", form("Fill the form for Ada.", formPdf()), {
    method: "POST",
    body: form("Fill the form for Ada.", formPdf()),
    headers: { accept: "multipart/mixed" },
  });
  const body = await response.text();
  expect([response.status, response.headers.get("content-type")], body).toEqual([
    200,
    expect.stringContaining("multipart/mixed; boundary="),
  ]);
  expect(body).toContain("The form is filled in: filled.pdf.");
  expect(body).toContain("/V (Ada \\(Byron\\))");
  expect(response.headers.get("x-hull-files")).toMatch(
    /^file_[0-9a-f]{32};path="filled\.pdf";size=\d+;type="application\/pdf";sha256="[0-9a-f]{64}"$/,
  );
  expect(sent(1)).toContain("Do these steps in this order");
  expect(sent(2)).toContain("This PDF has fillable form fields");
  expect(sent(3)).toContain("full_name");
  expect(sent(0)).toContain("form.pdf");
});

test("the answer as the caller wants it: JSON with the list, one file, ids in a header, events", async () => {
  const dir = await folderOf("/skills/pdf");
  const ask = (path: string, headers: Record<string, string> = {}) => {
    fake.script(turnsOf(dir));
    return hull.call(path, undefined, { method: "POST", body: form("Fill it.", formPdf()), headers });
  };
  const listed = await json<{ text: string; files: { id: string; path: string; size: number }[] }>(
    await ask("/skills/pdf", { accept: "application/json" }),
  );
  expect(listed).toMatchObject({
    text: "The form is filled in: filled.pdf.",
    files: [{ path: "filled.pdf", mime_type: "application/pdf" }],
  });
  const fetched = await hull.call(`/files/${listed.files[0]?.id}`);
  expect((await fetched.arrayBuffer()).byteLength).toBe(listed.files[0]?.size);
  const one = await ask("/skills/pdf?file=filled.pdf");
  expect([one.status, one.headers.get("content-type")]).toEqual([200, "application/pdf"]);
  expect(await one.text()).toContain("Ada");
  const other = await ask("/skills/pdf?file=other.pdf");
  expect([other.status, await json(other)]).toMatchObject([
    404,
    { path: "other.pdf", detail: 'The run made no file "other.pdf". It made "filled.pdf".' },
  ]);
  const events = await readEvents(await ask("/skills/pdf", { accept: "text/event-stream" }));
  expect(dataOf(events, "done")[0]).toMatchObject({ ok: true, files: [{ path: "filled.pdf" }] });
  const raw = await hull.call("/skills/pdf?prompt=hi", undefined, {
    method: "POST",
    body: formPdf(),
    headers: { "content-type": "application/pdf" },
  });
  expect(raw.status).toBe(200);
  expect(last()).toContain("input.pdf");
});

test.each<[type: string, body: string, listed: string[]]>([
  ["text/csv", "a,b", ["- input.csv"]],
  ["application/json", '{"input": "no"}', ["- input.json"]],
  ["text/plain", "a", ["- input.txt"]],
  ["application/x-www-form-urlencoded", "", []],
])("with a prompt in the query the body is a file, also of type %s", async (type, body, listed) => {
  fake.script([{ text: "ok" }]);
  const init = { method: "POST", body, headers: { "content-type": type } };
  const response = await hull.call("/skills/pdf?prompt=Sum+it+up.", undefined, init);
  expect([response.status, await response.text()]).toEqual([200, "ok"]);
  const said = fake.requests.at(-1)?.text.split("\n") ?? [];
  expect([said[0], said.filter((line) => line.startsWith("- "))]).toEqual(["Sum it up.", listed]);
});

test("a path that is relative to the skill's folder: the error names the file there", async () => {
  const dir = await folderOf("/skills/pdf");
  fake.script([{ tool_calls: [call("Read", { file_path: "FORMS.md" })] }, { text: "ok" }]);
  await (await hull.call("/skills/pdf", form("Go."))).text();
  expect(last()).toContain(`There is no file FORMS.md. In the folder of a skill there is: ${dir}/forms.md.`);
});

test("a client that refuses multipart/mixed gets the text", async () => {
  fake.script([{ tool_calls: [bash("echo 1 > a.txt")] }, { text: "made" }]);
  const headers = { accept: "multipart/mixed;q=0, */*" };
  const response = await hull.call("/skills/pdf", undefined, { method: "POST", body: form("Go."), headers });
  expect(await response.text()).toBe("made");
});

test("over MCP, files go in and come out too: as links, and images as images", async () => {
  const spoken = { accept: "application/json", "mcp-protocol-version": "2025-11-25" };
  const post = async (method: string, params: object) =>
    json<{ result: { content: { uri?: string }[]; tools: object[] } }>(
      await hull.post("/mcp", { jsonrpc: "2.0", id: 1, method, params }, spoken),
    );
  const dot = "printf '\\x89PNG' > dot.png";
  const turns = (input: string) => [
    { tool_calls: [bash(`cat ${input} > out.csv; ${dot}; printf '<b>' > page.html`)] },
    { text: "Done." },
  ];
  const called = async (files: unknown[]) => {
    fake.script(turns("in.csv"));
    const args = { input: "Copy it.", files };
    return (await post("tools/call", { name: "pdf", arguments: args })).result.content;
  };
  const { tools } = (await post("tools/list", {})).result;
  expect(tools.find((tool) => "name" in tool && tool.name === "pdf")).toMatchObject({
    inputSchema: { properties: { input: {}, files: { type: "array" } }, required: ["input"] },
  });
  const content = await called([{ mime_type: "text/csv", filename: "in.csv", data: btoa("a,b") }]);
  expect(content).toMatchObject([
    { type: "text", text: "Done." },
    { type: "image", data: btoa("\x89PNG"), mimeType: "image/png" },
    { type: "resource_link", name: "out.csv", size: 3 },
    { type: "resource_link", name: "page.html" },
  ]);
  expect(await (await fetch(content[2]?.uri ?? "")).text()).toBe("a,b");
  const stored = await hull.call("/files?filename=in.csv", "c,d");
  const { id } = await json<{ id: string }>(stored);
  expect((await called([id]))[2]).toMatchObject({ type: "resource_link", name: "out.csv", size: 3 });
});

test("output: file answers the file that the run made, with its type, and its events; max_tool_rounds: 10 is ten", async () => {
  const make = (command: string) => [{ tool_calls: [bash(command)] }, { text: "Drawn." }];
  fake.script(make("echo '<svg/>' > chart.svg"));
  const one = await hull.call("/skills/chart", form("Draw."));
  expect([one.status, one.headers.get("content-type"), await one.text()]).toEqual([
    200,
    "image/svg+xml",
    "<svg/>\n",
  ]);
  fake.script(make("echo '<svg/>' | tee a.svg > b.svg"));
  const two = await hull.call("/skills/chart", form("Draw."));
  expect([two.headers.get("content-type"), await two.text()]).toEqual([
    "text/plain; charset=utf-8",
    "Drawn.",
  ]);
  fake.script([{ text: "I cannot." }]);
  expect(await json(await hull.call("/skills/chart", form("Draw.")))).toMatchObject({
    status: 500,
    code: "output_missing",
  });
  fake.script(make("echo '<svg/>' > chart.svg"));
  const events = await readEvents(
    await hull.call("/skills/chart", form("Draw."), { headers: { accept: "text/event-stream" } }),
  );
  expect(dataOf(events, "done")[0]).toMatchObject({ ok: true, files: [{ path: "chart.svg" }] });
  fake.requests.length = 0;
  fake.script([...Array.from({ length: 10 }, () => ({ tool_calls: [bash("true")] })), { text: "Enough." }]);
  const none = await hull.call("/skills/chart?file=none", form("Draw."));
  expect(await json(none)).toMatchObject({
    status: 404,
    detail: 'The run made no file "none". It made no file at all.',
  });
  fake.script(make("for n in $(seq 100) z; do echo $n > $n.txt; done"));
  expect(await json(await hull.call("/skills/chart?file=z.txt", form("Draw.")))).toMatchObject({
    status: 404,
    detail: 'An answer has at most 100 files of a run, the first by path: "z.txt" is not among them.',
  });
  expect(fake.requests).toHaveLength(13);
  expect(fake.requests[10]?.body).toMatchObject({ tool_choice: { type: "none" } });
});

test("Idempotency-Key and respond-async work as everywhere, and keep the files", async () => {
  const dir = await folderOf("/skills/pdf");
  fake.script(turnsOf(dir));
  const ask = (headers: Record<string, string>) =>
    hull.call("/skills/pdf", undefined, { method: "POST", body: form("Fill it.", formPdf()), headers });
  const first = await ask({ "idempotency-key": "one", accept: "application/json" });
  const told = await json<{ files: object[] }>(first);
  expect([first.status, told.files.length], JSON.stringify(told)).toEqual([200, 1]);
  const again = await ask({ "idempotency-key": "one", accept: "application/json" });
  expect(await json(again)).toEqual(told);
  expect(again.headers.get("x-hull-replayed")).toBe("1");
  fake.script(turnsOf(dir));
  const later = await ask({ prefer: "respond-async" });
  expect(later.status).toBe(202);
  const { id } = await json<{ id: string }>(later);
  const status = async () => (await json<{ status: string }>(await hull.call(`/executions/${id}`))).status;
  expect(await until(status, (now) => now !== "running")).toBe("done");
  expect((await hull.call(`/executions/${id}/result`)).headers.get("x-hull-files")).toContain("filled.pdf");
});

const ASKED = { approval_policy: { require_risk: "dangerous" } };
const OPTIONS = { provider: "anthropic", model: "claude-haiku-4-5-20251001", llm_retries: 0 };
const inSession = async (options: object, turns: { text?: string; tool_calls?: Call[] }[], prompt = "go") => {
  const { id } = await json<{ id: string }>(await hull.post("/sessions", {}));
  fake.script(turns);
  const response = await hull.post(
    `/sessions/${id}/runs`,
    { prompt, options: { ...OPTIONS, ...options } },
    {
      prefer: "respond-async",
    },
  );
  const { run_id } = await json<{ run_id: string }>(response);
  const settled = () =>
    until(
      async () => json<{ status: string }>(await hull.call(`/sessions/${id}/runs/${run_id}`)),
      ({ status }) => status !== "running",
    );
  return { id, run_id, settled };
};

test("R4: Bash(git:*) approves git status beforehand, and not git status; rm x", async () => {
  const run = await inSession({ skill: "tidy", ...ASKED }, [
    { tool_calls: [bash("git status")] },
    { tool_calls: [bash("git status; rm x")] },
    { text: "Done." },
  ]);
  expect((await run.settled()).status).toBe("awaiting_approval");
  const { data } = await json<{
    data: { id: string; arguments: object; arguments_digest: string; risk: string }[];
  }>(await hull.call(`/sessions/${run.id}/approvals`));
  expect(data).toMatchObject([{ arguments: { command: "git status; rm x" }, risk: "dangerous" }]);
  const [asked] = data;
  await hull.post(`/sessions/${run.id}/approvals/${asked?.id}`, {
    decision: "deny",
    scope: "once",
    arguments_digest: asked?.arguments_digest,
  });
  expect((await run.settled()).status).toBe("done");
  expect(last()).toContain("git");
});

test("R3: a skill with allowed-tools: Read has a client's tool together with the workspace tools", async () => {
  const tools = [{ name: "ask_user", description: "Asks.", parameters: { q: { type: "string" } } }];
  const run = await inSession({ skill: "reader", tools, workspace_tools: true }, [{ text: "Done." }]);
  expect((await run.settled()).status).toBe("done");
  const offered = JSON.stringify(fake.requests[0]?.body.tools);
  for (const name of ["ask_user", "Bash", "Read", "Write"]) expect(offered).toContain(`"name":"${name}"`);
});

test("R15: commands in a published skill's text run before it is shown, where Bash needs no approval", async () => {
  const run = await inSession({ skills: ["sums", "pdf"], ...ASKED }, [{ text: "Done." }], "/sums one two");
  expect((await run.settled()).status).toBe("done");
  expect(last()).toContain("The sum is 40 2. Of two.");
  expect(last()).toMatch(
    /First: one, all: one two\. In \/\S+\/skills\/[0-9a-f]{16}\/sums, beside \/\S+\/pdf\./,
  );
  const other = await inSession({ skills: ["facts"], ...ASKED }, [{ text: "Done." }], "/facts");
  expect((await other.settled()).status).toBe("done");
  expect(last()).toContain("!`echo 40 2`");
  expect(last()).toContain("were not run");
});

test("commands in a skill's text get what it was called with, never as commands; blocks run, examples do not", async () => {
  const given = 'one "two words" $(echo x); echo y';
  const shown = [
    `All: <${given}> $1 one, two words none two words two words. Then two words.`,
    "Note: costs $1",
    "",
    "block one",
    "of two",
    "",
    "```markdown",
    "So others write it: !`rm -rf two words`",
  ];
  const run = await inSession({ skills: ["quotes"] }, [{ text: "Done." }], `/quotes ${given}`);
  expect((await run.settled()).status).toBe("done");
  expect(last()).toContain(JSON.stringify(shown.join("\n")).slice(1, -1));
  const own = await inSession({ skill: "quotes" }, [{ text: "Done." }], given);
  expect((await own.settled()).status).toBe("done");
  expect(last()).toContain(JSON.stringify(shown.join("\n")).slice(1, -1));
  expect(last()).not.toContain("were not run");
});

test("skills of a run are sibling folders: a path from one leads to another", async () => {
  const run = await inSession({ skills: ["reader", "pdf"] }, [
    { tool_calls: [call("load_skill", { name: "reader" })] },
    { tool_calls: [call("read_skill_resource", { skill: "reader", path: "../pdf/FORMS.md" })] },
    { text: "Done." },
  ]);
  expect((await run.settled()).status).toBe("done");
  expect(last()).toContain("Do these steps in this order");
});

test("session_id: a call uses the session's files, and its history counts", async () => {
  const { id } = await json<{ id: string }>(await hull.post("/sessions", {}));
  fake.script([{ tool_calls: [bash("cp form.pdf copy.pdf")] }, { text: "Copied." }, { text: "Again." }]);
  const body = form("Copy it.", formPdf());
  body.set("session_id", id);
  const first = await hull.call("/skills/pdf", undefined, { method: "POST", body });
  expect([first.status, await first.text()]).toEqual([200, "Copied."]);
  expect(first.headers.get("x-hull-files")).toContain('path="copy.pdf"');
  expect((await hull.call(`/sessions/${id}/files/copy.pdf`)).status).toBe(200);
  const second = await hull.call(`/skills/pdf?session_id=${id}`, form("And now?"));
  expect([await second.text(), second.headers.get("x-hull-files")]).toEqual(["Again.", null]);
  expect(last()).toContain("Copy it.");
  // In a stream of events, the last one has the files, also for a skill whose whole answer would be one file.
  for (const slug of ["pdf", "chart"]) {
    fake.script([{ tool_calls: [bash(`echo "${slug} é" > ${slug}.txt`)] }, { text: "Done." }]);
    const headers = { accept: "text/event-stream" };
    const third = await hull.call(`/skills/${slug}?session_id=${id}`, form("Write."), { headers });
    const events = await readEvents(third);
    const done = events.at(-1);
    expect([done?.event, done?.data]).toMatchObject([
      "done",
      { ok: true, status: "done", files: [{ path: `${slug}.txt`, size: slug.length + 4 }] },
    ]);
    const [file] = Array.isArray(done?.data.files) ? done.data.files : [];
    expect(await (await hull.call(`/files/${file?.id}`)).text()).toBe(`${slug} é\n`);
    expect(events.at(-2)?.event).not.toBe("error");
  }
});

test("session_id: a repeated call with its key does not change the session's files", async () => {
  const { id } = await json<{ id: string }>(await hull.post("/sessions", {}));
  fake.script([{ text: "Read." }]);
  const ask = () =>
    hull.call(`/skills/pdf?session_id=${id}`, form("Read it.", formPdf()), {
      headers: { "idempotency-key": "read" },
    });
  const at = `/sessions/${id}/files/form.pdf`;
  expect(await (await ask()).text()).toBe("Read.");
  expect((await hull.call(at, "changed", { method: "PUT" })).status).toBe(200);
  const again = await ask();
  expect([await again.text(), again.headers.get("x-hull-replayed")]).toEqual(["Read.", "1"]);
  expect(await (await hull.call(at)).text()).toBe("changed");
});

test("session_id: a repeated call with its key gets the files of the first one", async () => {
  const { id } = await json<{ id: string }>(await hull.post("/sessions", {}));
  fake.script([{ tool_calls: [bash("echo 1 > made.txt")] }, { text: "Made." }]);
  const ask = (query = "", accept = "*/*") =>
    hull.call(`/skills/pdf?session_id=${id}${query}`, form("Make it."), {
      headers: { "idempotency-key": "make", accept },
    });
  const first = (await ask()).headers.get("x-hull-files");
  expect(first).toContain('path="made.txt"');
  expect((await hull.call(`/sessions/${id}/files/later.txt`, "x", { method: "PUT" })).status).toBe(201);
  const again = await ask();
  expect([await again.text(), again.headers.get("x-hull-files")]).toEqual(["Made.", first]);
  expect(await (await ask("&file=made.txt")).text()).toBe("1\n");
  const done = (await readEvents(await ask("", "text/event-stream"))).at(-1);
  expect(done?.data.files).toMatchObject([{ path: "made.txt", size: 2 }]);
});

test("docs/real-skills.md: what curl prints", async () => {
  const dir = await folderOf("/skills/pdf");
  await writeFile(join(hull.root, "form.pdf"), formPdf());
  const document = readFileSync(join(REPO, "docs/real-skills.md"), "utf8");
  const [script = ""] = blocks(document).flatMap(({ language, text }) => (language === "bash" ? [text] : []));
  const calls = Array.from(script.matchAll(/^(curl .*)\n# (.*)$/gm));
  expect(calls).toHaveLength(4);
  for (const [, command = "", comment = ""] of calls) {
    fake.script(turnsOf(dir));
    const here = command.replace("localhost:3000", hull.url.replace("http://", ""));
    const { stdout } = await promisify(execFile)("bash", ["-c", here], {
      cwd: hull.root,
      encoding: "latin1",
    });
    const parts = comment.split("…").map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
    expect(stdout, command).toMatch(new RegExp(parts.join("[^]*")));
  }
});
