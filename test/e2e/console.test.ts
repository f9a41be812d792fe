/** The console in a real Chromium, against a real `hull dev`. Screenshots: `HULL_SCREENSHOTS=<folder>`. */
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Frame, Page } from "puppeteer-core";
import { afterAll, describe, expect, onTestFinished, test } from "vitest";
import { faultsOf, look, type Opened, openPage, startBrowser } from "../support/browser.ts";
import { ADMIN, commonHull } from "../support/common-hull.ts";
import { json } from "../support/hull-dev.ts";
import { until } from "../support/runner.ts";
import { kill, sharedHull } from "../support/shared.ts";

const marks = await mkdtemp(join(tmpdir(), "hull-console-"));
const EVIL = "<img src=x onerror=document.title=1>";

const hull = await sharedHull({
  args: ["--direct", "--demo"],
  skills: {
    "echo/SKILL.md":
      "---\nname: echo\ndescription: Says how many words it got\nmode: llm\nprovider: mock\n---\nAnswer.\n",
    // Its tool ends when the test lets it go.
    "agent/SKILL.md":
      "---\nname: agent\ndescription: Works\nmode: llm\nprovider: mock\ntools:\n  - name: work\n    description: Works\n    command: [./work.sh]\n    parameters: [{name: file, description: f}]\n---\nWork.\n",
    "broken/SKILL.md": "---\nname: broken\ndescription: Fails\nmode: script\nrun: [./fail.sh]\n---\n",
    "broken/fail.sh": "#!/bin/bash\necho no such planet >&2\nexit 3\n",
    "artist/SKILL.md": "---\nname: artist\ndescription: Draws\nmode: llm\nprovider: mock\n---\nDraw.\n",
    "artist/hooks.js": "export const draw = (given) => ({ __artifact__: true, ...given });\n",
    "agent/work.sh": `#!/bin/bash\nuntil [ -e "${marks}/go" ]; do sleep 0.05; done\necho tool end\n`,
  },
});
const { hull: keyed } = await commonHull({}, "keyed");
const browser = await startBrowser();
afterAll(async () => {
  await browser.close();
  await rm(marks, { recursive: true });
});

const shots = process.env.HULL_SCREENSHOTS;

async function show(page: Page, path: string): Promise<void> {
  await page.goto(hull.url + path, { waitUntil: "load" });
}

async function shot(page: Page, name: string): Promise<void> {
  if (shots === undefined) return;
  await mkdir(shots, { recursive: true });
  await page.screenshot({ path: join(shots, `${name}.png`) });
}

/** Waits until the page shows this text. */
async function says(page: Page, text: string): Promise<void> {
  await page.waitForFunction(`document.body.innerText.includes(${JSON.stringify(text)})`, {
    timeout: 60_000,
  });
}

/** The id of the one run of a session. The list of all runs has it a moment after it began. */
async function runOf(session: string): Promise<string> {
  const { data } = await until(
    async () => json<{ data: { id: string }[] }>(await hull.call(`/runs?session=${session}`)),
    (found) => found.data.length > 0,
  );
  return data[0]?.id ?? expect.fail(`${session} has no run in the index`);
}

describe("every page", () => {
  const PATHS = async (): Promise<[name: string, path: string][]> => {
    const { data } = await json<{ data: { id: string }[] }>(await hull.call("/daemons"));
    const flows = await json<{ data: { id: string }[] }>(await hull.call("/workflows/runs"));
    return [
      ["skills", "/"],
      ["skill", "/console/skills/agent"],
      ["runs", "/console/runs"],
      ["run", `/console/runs/${await runOf("demo-talk")}`],
      ["sessions", "/console/sessions"],
      ["session", "/console/sessions/demo-talk"],
      ["events", "/console/sessions/demo-talk/events"],
      ["approvals", "/console/approvals"],
      ["daemons", "/console/daemons"],
      ["daemon", `/console/daemons/${data[0]?.id}`],
      ["workflows", "/console/workflows"],
      ["workflow", "/console/workflows/demo-newsletter"],
      ["workflow-run", `/console/workflows/runs/${flows.data[0]?.id}`],
      ["usage", "/console/usage"],
      ["models", "/console/models"],
      ["keys", "/console/keys"],
      ["reference", "/docs?q=sessions"],
      ["none", "/console/nowhere"],
      ["sign-in", "/console/sign-in"],
      ["error", "/skills/nowhere"],
    ];
  };

  test("has no fault by axe-core, wide and light, narrow and dark, and logs nothing to the browser's console", async () => {
    const { page, complaints } = await openPage(browser);
    const faults: string[] = [];
    for (const [name, path] of await PATHS()) {
      await show(page, path);
      for (const [theme, width] of [
        ["light", 1280],
        ["dark", 360],
      ] as const) {
        await look(page, theme, width);
        const found = await faultsOf(page, theme === "dark");
        faults.push(...found.map((fault) => `${name}, ${theme}: ${fault}`));
        const over = await page.evaluate("document.documentElement.scrollWidth - window.innerWidth");
        if (Number(over) > 0) faults.push(`${name}: ${over} px wider than a window of ${width} px`);
        await shot(page, `${theme}-${name}`);
      }
      await look(page, "light", 1280);
    }
    expect(faults).toEqual([]);
    expect(complaints.filter((line) => !line.includes("404"))).toEqual([]);
  });
});

test("trying a skill: the tool call shows before the answer ends; a reload in the middle loses and doubles nothing", async () => {
  const { page, complaints } = await openPage(browser);
  await show(page, "/console/skills/agent");
  await page.type("#text", "Work.");
  await Promise.all([page.waitForNavigation(), page.click("main form button.main")]);
  await says(page, "Calls work");
  await page.reload();
  await says(page, "Calls work");
  expect(
    await page.$$eval("#live strong", (all) => all.filter((one) => one.textContent === "Calls work").length),
  ).toBe(1);
  await writeFile(join(marks, "go"), "");
  await says(page, "Answer");
  await page.waitForSelector("#answer");
  expect(await page.$eval("main", (main) => main.innerText)).toContain("It ended with an answer.");
  expect(await page.$$eval(".flow .lane", (all) => all.length)).toBeGreaterThan(3);
  // The index learns a moment later what the call used.
  await page.waitForFunction("/[1-9]\\d* out/.test(document.getElementById('figures').innerText)");
  await shot(page, "tried");
  expect(complaints).toEqual([]);
});

test("the page of a failed script shows its output", async () => {
  const { page } = await openPage(browser);
  await show(page, "/console/skills/broken");
  await Promise.all([page.waitForNavigation(), page.click("main form button.main")]);
  await says(page, "no such planet");
  await says(page, "The script ended with exit code 3.");
});

/** A session whose run waits for an approval of this call. */
async function asksFor(id: string, to: string): Promise<void> {
  await hull.post("/sessions", { id });
  const tool = { name: "mail", description: "Sends.", parameters: { to: { type: "string" } } };
  const mock = [{ tool_calls: [{ name: "mail", arguments: { to } }] }, { text: "Sent." }];
  const options = { provider: "mock", tools: [tool], mock, approval_policy: { require_approval: ["mail"] } };
  await hull.post(`/sessions/${id}/runs?wait=none`, { prompt: "Mail.", options });
}

test("a reason that a user is typing stays while others ask", async () => {
  await asksFor("first", "ada");
  const { page } = await openPage(browser);
  await show(page, "/console/approvals");
  const reason = 'form[action*="/first/"] input[name=reason]';
  await page.waitForSelector(reason);
  await page.type(reason, "not today");
  await page.focus("#main");
  const before = await page.$eval("#waiting", (badge) => badge.textContent);
  await asksFor("second", "grace");
  await page.waitForFunction(`document.getElementById("waiting").textContent !== ${JSON.stringify(before)}`);
  expect(await page.evaluate(`document.querySelector(${JSON.stringify(reason)}).value`)).toBe("not today");
  // Two calls of one tool, each with a card of its own.
  await show(page, "/console/approvals");
  expect(await faultsOf(page)).toEqual([]);
  for (const id of ["first", "second"]) await hull.call(`/sessions/${id}`, undefined, { method: "DELETE" });
});

test("an approval appears in an open page, is granted by the keyboard alone, and the run continues", async () => {
  const { page, complaints } = await openPage(browser);
  await show(page, "/console/approvals");
  await asksFor("kb", `${EVIL}\u202egpj.exe`);
  await says(page, `${EVIL}\\u202egpj.exe`);
  expect(await page.title()).not.toBe("1");
  const once = await page.$$eval('form[action*="/kb/"] button.main', ([button]) => button?.id ?? "");
  for (let i = 0; i < 60 && (await page.evaluate("document.activeElement?.id")) !== once; i += 1) {
    await page.keyboard.press("Tab");
  }
  expect(await page.evaluate("document.activeElement?.id")).toBe(once);
  await Promise.all([page.waitForNavigation(), page.keyboard.press("Enter")]);
  await expect
    .poll(async () => (await json<{ run: { status: string } }>(await hull.call("/sessions/kb"))).run.status)
    .toBe("awaiting_tool");
  expect(complaints).toEqual([]);
});

/** Presses Tab until the focused element matches the selector. */
async function tabTo(page: Page, selector: string): Promise<void> {
  const there = `document.activeElement?.matches(${JSON.stringify(selector)})`;
  for (let i = 0; i < 80 && (await page.evaluate(there)) !== true; i += 1) await page.keyboard.press("Tab");
  expect([selector, await page.evaluate(there)]).toEqual([selector, true]);
}

test("a skill with a tool is found, tried and followed to its answer by the keyboard alone", async () => {
  await rm(join(marks, "go"), { force: true });
  const { page, complaints } = await openPage(browser);
  await show(page, "/");
  await tabTo(page, 'a[href="/console/skills/agent"]');
  await Promise.all([page.waitForNavigation(), page.keyboard.press("Enter")]);
  await tabTo(page, "#text");
  await page.keyboard.type("Work.");
  await tabTo(page, "main form button.main");
  await Promise.all([page.waitForNavigation(), page.keyboard.press("Enter")]);
  await says(page, "Calls work");
  await tabTo(page, "#live summary");
  await page.keyboard.press("Enter");
  expect(await page.$eval("#live details", (details) => details.open)).toBe(true);
  await writeFile(join(marks, "go"), "");
  await page.waitForSelector("#answer");
  await tabTo(page, "[data-copy=answer]");
  expect(complaints).toEqual([]);
});

test("attack: no page of another origin shows the console in a frame", async () => {
  const framing = createServer((_, response) => {
    response.setHeader("content-type", "text/html");
    response.end(`<iframe src="${hull.url}/console/approvals"></iframe>`);
  });
  await new Promise<void>((resolve) => framing.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void framing.close());
  const { page, complaints } = await openPage(browser);
  const at: AddressInfo | string | null = framing.address();
  await page.goto(`http://127.0.0.1:${typeof at === "object" ? at?.port : ""}/`, { waitUntil: "load" });
  const [frame] = page.mainFrame().childFrames();
  expect(await frame?.evaluate("document.body.innerText")).not.toContain("Approvals");
  await expect.poll(() => complaints.join()).toContain("frame-ancestors");
});

/** The page of an artifact that a tool drew, and its frame. @param session a new one */
async function drawn(session: string, type: string, content: string): Promise<Opened & { frame: Frame }> {
  await hull.post("/sessions", { id: session });
  const tool = { name: "draw", description: "Draws.", handler: "draw", parameters: { type: "object" } };
  const mock = [
    { tool_calls: [{ name: "draw", arguments: { id: "page", type, title: EVIL, content } }] },
    { text: "Made." },
  ];
  await hull.post(`/sessions/${session}/runs`, {
    prompt: "Draw.",
    options: { provider: "mock", skills: ["artist"], tools: [tool], mock },
  });
  const opened = await openPage(browser);
  await show(opened.page, `/console/sessions/${session}/artifacts/page`);
  const frame = await opened.page.waitForFrame((one) => one.url().endsWith("/view?version=1"));
  return { ...opened, frame };
}

test("attack: an artifact of HTML runs in its frame, and reaches neither the page nor its address", async () => {
  const content = `<body><script>
    let said = "";
    try { said += parent.document.title; } catch { said += "no page, "; }
    try { said += localStorage.length; } catch { said += "no storage, "; }
    try { top.location = "/docs"; } catch { said += "no way out"; }
    document.body.textContent = "The artifact has " + said;
  </script>`;
  const { page, frame } = await drawn("drawn", "html", content);
  await frame.waitForFunction("document.body.textContent.startsWith('The artifact has')");
  expect(await frame.evaluate("document.body.textContent")).toBe(
    "The artifact has no page, no storage, no way out",
  );
  expect(page.url()).toContain("/console/sessions/drawn/artifacts/page");
  expect(await page.title()).not.toBe("1");
});

test("an artifact of React is rendered in its frame and reacts, and its page shows the source", async () => {
  const { page, frame, complaints } = await drawn(
    "counter",
    "react",
    `import React, { useState, type ReactNode } from "react";

// </script><script>document.title = "ended"</script>
const Box = ({ children }: { children: ReactNode }) => <div style={{ padding: 8 }}>{children}</div>;

export default function Counter() {
  const [count, setCount] = useState<number>(0);
  return <Box><button onClick={() => setCount(count + 1)}>Clicked {count} times</button></Box>;
}
`,
  );
  await frame.waitForSelector("button");
  await frame.click("button");
  await frame.waitForFunction("document.body.innerText === 'Clicked 1 times'");
  expect(await frame.title()).toBe(EVIL);
  expect(await page.$eval("main pre", (pre) => pre.innerText)).toContain("useState<number>(0)");
  expect(complaints).toEqual([]);
  const own = await drawn(
    "root",
    "react",
    'import { createRoot } from "react-dom/client";\nconst root = document.getElementById("root") as HTMLElement;\ncreateRoot(root).render(<p>Its own root</p>);',
  );
  await own.frame.waitForFunction("document.body.innerText === 'Its own root'");
});

test("the frame of an artifact of React says why it shows nothing", async () => {
  const text = async (name: string, content: string): Promise<unknown> => {
    const { frame } = await drawn(name, "react", content);
    await frame.waitForSelector("[role=alert]");
    return frame.$$eval("[role=alert]", (all) => all.map((one) => one.textContent));
  };
  const cases: [name: string, content: string, said: RegExp][] = [
    [
      "unread",
      "export default function App() {\n  return <p>{1 +}</p>;\n}",
      /SyntaxError: .*Unexpected token.* \(2:\d+\)$/,
    ],
    ["unrun", "export default () => <p />;\n\nlet a;\nlet a;", /SyntaxError: .*'a'.*\nLine 4 of/],
    [
      "thrown",
      "export default () => {\n  throw new TypeError('no data');\n};",
      /^TypeError: no data\nLine 2 of/,
    ],
    ["lacking", 'import { Pie } from "recharts";\nexport default Pie;', /"recharts".*can import react, /],
    ["nothing", "const App = () => <p />;", /no default export/],
    [
      "late",
      "Promise.reject(new Error('too late'));\nexport default () => <p />;",
      /^Error: too late\nLine 1 of/,
    ],
  ];
  for (const [name, content, said] of cases) {
    expect([name, await text(name, content)]).toEqual([name, [expect.stringMatching(said)]]);
  }
});

test("attack: an artifact of React reaches neither the page, nor cookies, nor any host", async () => {
  const content = `import { useEffect, useState } from "react";
const tried = {
  page: () => parent.document.title,
  cookies: () => document.cookie,
  storage: () => localStorage.length,
  way: () => { top.location = "/docs"; },
  eval: () => eval("1"),
};
const loads = (tag: string) => new Promise((done, failed) => {
  const element = Object.assign(document.createElement(tag), { onload: done, onerror: failed, src: "/favicon.ico" });
  document.body.append(element);
});
export default function App() {
  const [said, setSaid] = useState("");
  useEffect(() => {
    let none = "";
    for (const [name, attempt] of Object.entries(tried)) try { attempt(); none += "! "; } catch { none += name + " "; }
    const later = [["fetch", () => fetch("/skills")], ["img", () => loads("img")], ["script", () => loads("script")]] as const;
    (async () => {
      for (const [name, attempt] of later) try { await attempt(); none += "! "; } catch { none += name + " "; }
      setSaid(none);
    })();
  }, []);
  return said && <p>No {said}</p>;
}
`;
  const { page, frame } = await drawn("reaching", "react", content);
  await frame.waitForSelector("p");
  expect(await frame.$eval("p", (p) => p.textContent)).toBe(
    "No page cookies storage way eval fetch img script ",
  );
  expect(page.url()).toContain("/console/sessions/reaching/artifacts/page");
  expect(await page.title()).not.toBe("1");
});

test("a run of more than a thousand records is followed in little memory", async () => {
  const rounds = 300;
  const ask = { name: "ask", description: "Asks.", parameters: {} };
  const mock = [
    ...Array.from({ length: rounds }, (_, i) => ({ tool_calls: [{ name: "none", arguments: { i } }] })),
    { tool_calls: [{ name: "ask", arguments: {} }] },
  ];
  const never = { loop_detect_warn: 9999, loop_detect_block: 9999, loop_detect_skip: 9999 };
  await hull.post("/sessions", { id: "long" });
  await hull.post("/sessions/long/runs?wait=idle", {
    prompt: "Go on.",
    options: { provider: "mock", mock, tools: [ask], max_iterations: rounds + 5, ...never },
  });
  const { page, complaints } = await openPage(browser);
  await show(page, `/console/runs/${await runOf("long")}`);
  await says(page, "Calls ask");
  expect(await page.$$eval("#live > li", (all) => all.length)).toBe(500);
  // The page holds what is left then: the browser itself collects when it has the time.
  await (await page.createCDPSession()).send("HeapProfiler.collectGarbage");
  const { JSHeapUsedSize = Number.POSITIVE_INFINITY, Nodes = Number.POSITIVE_INFINITY } =
    await page.metrics();
  expect(JSHeapUsedSize).toBeLessThan(50 * 1024 * 1024);
  expect(Nodes).toBeLessThan(20_000);
  expect(complaints).toEqual([]);
});

test("times on an open page stay correct, whatever the clock of its machine", async () => {
  const { page } = await openPage(browser);
  await page.evaluateOnNewDocument(`
    const now = Date.now, slow = 86_400_000;
    Date.now = () => now() - slow;
    window.setInterval = (tick) => { window.later = (ms) => { Date.now = () => now() - slow + ms; tick(); }; };
  `);
  await show(page, "/console/sessions/demo-talk");
  const opened = () => page.$eval("dl time", (time) => time.textContent);
  await page.evaluate("later(0)");
  expect(await opened()).toMatch(/^\d+ (s|min) ago$/);
  await page.evaluate("later(3 * 3_600_000)");
  expect(await opened()).toBe("3 h ago");
});

test("a message that a user is typing stays when the run ends", async () => {
  await hull.post("/sessions", { id: "typing" });
  const ask = { name: "ask", description: "Asks.", parameters: {} };
  const mock = [{ tool_calls: [{ name: "ask", arguments: {} }] }, { text: "Done." }];
  const options = { provider: "mock", mock, tools: [ask] };
  await hull.post("/sessions/typing/runs?wait=idle", { prompt: "Go.", options });
  const { page } = await openPage(browser);
  await show(page, "/console/sessions/typing");
  await says(page, "Calls ask");
  await page.type("#prompt", "And then");
  const view = await json<{ awaiting: { tool_call_id: string }[] }>(
    await hull.call(`/sessions/typing/runs/${await runOf("typing")}`),
  );
  const [call] = view.awaiting;
  await hull.post("/sessions/typing/tool-results", { tool_call_id: call?.tool_call_id, content: "x" });
  await says(page, "Load the page again");
  expect(await page.evaluate("document.getElementById('prompt').value")).toBe("And then");
});

/** A session whose run waits for `ask`, then for an approval of `mail`, and a function that answers `ask`. */
async function asksThenMails(id: string): Promise<() => Promise<unknown>> {
  await hull.post("/sessions", { id });
  const tools = ["ask", "mail"].map((name) => ({ name, description: "Acts.", parameters: {} }));
  const call = (name: string) => ({ tool_calls: [{ name, arguments: { file: "\u202egpj.exe" } }] });
  const mock = [call("ask"), call("mail"), { text: "Sent." }];
  const options = { provider: "mock", mock, tools, approval_policy: { require_approval: ["mail"] } };
  await hull.post(`/sessions/${id}/runs?wait=idle`, { prompt: "Go.", options });
  const view = await json<{ awaiting: { tool_call_id: string }[] }>(
    await hull.call(`/sessions/${id}/runs/${await runOf(id)}`),
  );
  const tool_call_id = view.awaiting[0]?.tool_call_id;
  return () => hull.post(`/sessions/${id}/tool-results`, { tool_call_id, content: "x" });
}

test.each([
  ["run", async () => `/console/runs/${await runOf("turn-run")}`],
  ["session", async () => "/console/sessions/turn-session"],
])("the open page of a %s shows the decision that its run waits for", async (what, path) => {
  const answer = await asksThenMails(`turn-${what}`);
  const { page, complaints } = await openPage(browser);
  await show(page, await path());
  await says(page, "Calls ask");
  expect(await page.$("#decide")).toBeNull();
  await answer();
  await page.waitForSelector("#decide");
  expect(await page.$eval(".flow .wait pre", (pre) => pre.textContent)).toContain("\\u202egpj.exe");
  expect(await page.$eval("#said", (said) => said.textContent)).toMatch(/waits for (you|a person)/);
  if (what === "run") {
    const lanes = await page.$$eval("#steps summary", (all) => all.map((one) => one.textContent));
    expect(lanes).toEqual(expect.arrayContaining([expect.stringMatching(/approval mail.*waits/)]));
    expect(lanes.join()).not.toContain("running");
  }
  expect(complaints).toEqual([]);
});

test("a message that a user is typing stays when the sign-in ends", async () => {
  const { page } = await openPage(browser);
  const other = await page.browserContext().newPage();
  await page.goto(`${keyed.url}/console/sessions`);
  await page.type("#key", ADMIN);
  await Promise.all([page.waitForNavigation(), page.keyboard.press("Enter")]);
  await Promise.all([page.waitForNavigation(), page.click("main form button")]);
  await page.type("#prompt", "And then");
  await other.goto(`${keyed.url}/console/runs`);
  await Promise.all([other.waitForNavigation(), other.click("header form button")]);
  await page.bringToFront();
  await says(page, "Your sign-in has ended");
  expect(await page.evaluate("document.getElementById('prompt').value")).toBe("And then");
  // The form replaces a page without a typed text.
  await Promise.all([page.waitForNavigation(), page.click("main a[href='']")]);
  expect(await page.$("#key")).not.toBeNull();
});

test("the focus stays on its link when a list grows, and on the last message after the keyboard sent one", async () => {
  await hull.post("/skills/echo", { input: "First." });
  const { page, complaints } = await openPage(browser);
  await show(page, "/console/runs?name=echo");
  const at = () => page.evaluate("document.activeElement.getAttribute('href')");
  await page.focus("#runs td a");
  const link = await at();
  const rows = () => page.$$eval("#runs tbody tr", (all) => all.length);
  const before = await rows();
  await hull.post("/skills/echo", { input: "Second." });
  await expect.poll(rows).toBeGreaterThan(before);
  expect(await at()).toBe(link);
  await hull.post("/sessions", { id: "tall" });
  const options = { provider: "mock", mock: [{ text: "Long.\n".repeat(100) }, { text: "The end." }] };
  await hull.post("/sessions/tall/runs", { prompt: "Talk.", options });
  await show(page, "/console/sessions/tall");
  await page.type("#prompt", "And then?");
  await page.$eval("#options", (field) => field.append(JSON.stringify({ provider: "mock" })));
  await Promise.all([page.waitForNavigation(), page.click("form[action$='/say'] button.main")]);
  const top = () => page.$eval("#last", (last) => last.getBoundingClientRect().top);
  await expect.poll(() => page.$$eval("article", (all) => all.length)).toBe(4);
  await expect.poll(top).toBeLessThan(800);
  expect(await page.evaluate("scrollY")).toBeGreaterThan(1000);
  expect(complaints).toEqual([]);
});

test("a workflow is started, approved by keyboard in the open page, and shows its end without a reload", async () => {
  const { page, complaints } = await openPage(browser);
  await show(page, "/console/workflows/demo-newsletter");
  await page.type("#task", "Rivers.");
  await Promise.all([page.waitForNavigation(), page.click("main form button.main")]);
  await says(page, "ask waits for somebody to approve");
  await page.focus("#why-ask");
  await page.keyboard.type("go");
  // Enter at the end of a reason does not decide.
  await page.keyboard.press("Enter");
  await page.keyboard.press("Tab");
  await Promise.all([page.waitForNavigation(), page.keyboard.press("Enter")]);
  await says(page, "The run has completed.");
  await expect.poll(() => page.$$eval(".graph .node.done", (all) => all.length)).toBe(8);
  await page.click("#node-send a, .graph a[href='#node-send']");
  expect(page.url()).toContain("#node-send");
  await shot(page, "workflow-done");
  expect(complaints).toEqual([]);
});

test("a page of a run that was open while the server was killed recovers by itself", async () => {
  await rm(join(marks, "go"), { force: true });
  const { page } = await openPage(browser);
  await show(page, "/console/skills/agent");
  await page.type("#text", "Work.");
  await Promise.all([page.waitForNavigation(), page.click("main form button.main")]);
  await says(page, "Calls work");
  expect(await kill(hull, "worker")).toBeGreaterThan(0);
  await page.waitForSelector(".lost");
  await writeFile(join(marks, "go"), "");
  await page.waitForSelector("#answer", { timeout: 60_000 });
  await says(page, "Its process died, and Hull continued the run");
  expect(await page.$eval("main", (main) => main.innerText)).toContain("It ended with an answer.");
});

test("without the script, pages can be read and forms can be sent", async () => {
  const { page } = await openPage(browser, { script: false });
  await show(page, "/console/skills/echo");
  await page.type("#text", "three words here");
  await Promise.all([page.waitForNavigation(), page.click("main form button.main")]);
  expect(page.url()).toContain("/console/runs/ex_");
  await expect
    .poll(async () => {
      await page.reload();
      return page.$eval("main", (main) => main.textContent);
    })
    .toContain("Answer");
});
