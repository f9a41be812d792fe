/** The console in a real Chromium, against a real `hull dev`. Screenshots: `HULL_SCREENSHOTS=<folder>`. */
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Page } from "puppeteer-core";
import { afterAll, describe, expect, test } from "vitest";
import { faultsOf, look, openPage, startBrowser } from "../support/browser.ts";
import { json } from "../support/hull-dev.ts";
import { kill, sharedHull } from "../support/shared.ts";

const marks = await mkdtemp(join(tmpdir(), "hull-console-"));
const EVIL = "<img src=x onerror=document.title=1>";

const hull = await sharedHull({
  killed: true,
  args: ["--direct", "--demo"],
  skills: {
    "echo/SKILL.md":
      "---\nname: echo\ndescription: Says how many words it got\nmode: llm\nprovider: mock\n---\nAnswer.\n",
    // Its tool ends when the test lets it go.
    "agent/SKILL.md":
      "---\nname: agent\ndescription: Works\nmode: llm\nprovider: mock\ntools:\n  - name: work\n    description: Works\n    command: [./work.sh]\n    parameters: [{name: file, description: f}]\n---\nWork.\n",
    "agent/work.sh": `#!/bin/bash\nuntil [ -e "${marks}/go" ]; do sleep 0.05; done\necho tool end\n`,
  },
});
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

/** What a page says, once it says this. */
async function says(page: Page, text: string): Promise<void> {
  await page.waitForFunction(`document.body.innerText.includes(${JSON.stringify(text)})`, {
    timeout: 60_000,
  });
}

/** The id of the one run of a session. */
async function runOf(session: string): Promise<string> {
  const { data } = await json<{ data: { id: string }[] }>(await hull.call(`/runs?session=${session}`));
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
    ];
  };

  test("has no fault by axe-core, wide and light, narrow and dark, and says nothing in the browser's console", async () => {
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
  expect(await page.$eval("main", (main) => main.innerText)).toContain(
    "It ended because the model had nothing more to do.",
  );
  expect(await page.$$eval(".flow .lane", (all) => all.length)).toBeGreaterThan(3);
  await shot(page, "tried");
  expect(complaints).toEqual([]);
});

test("an approval appears in a page that is open, is granted by the keyboard alone, and the run goes on", async () => {
  const { page, complaints } = await openPage(browser);
  await show(page, "/console/approvals");
  await hull.post("/sessions", { id: "kb" });
  const tool = { name: "mail", description: "Sends.", parameters: { to: { type: "string" } } };
  const mock = [{ tool_calls: [{ name: "mail", arguments: { to: EVIL } }] }, { text: "Sent." }];
  const options = { provider: "mock", tools: [tool], mock, approval_policy: { require_approval: ["mail"] } };
  await hull.post("/sessions/kb/runs?wait=none", { prompt: "Mail.", options });
  await says(page, EVIL);
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

test("a workflow is run, approved by the keyboard in the page that is open, and shows its end by itself", async () => {
  const { page, complaints } = await openPage(browser);
  await show(page, "/console/workflows/demo-newsletter");
  await page.type("#task", "Rivers.");
  await Promise.all([page.waitForNavigation(), page.click("main form button.main")]);
  await says(page, "ask waits for somebody to approve");
  await page.focus("#why-ask");
  await page.keyboard.type("go");
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
  await writeFile(join(marks, "go"), "");
  await page.waitForSelector("#answer", { timeout: 60_000 });
  await says(page, "It was taken up after its process died");
  expect(await page.$eval("main", (main) => main.innerText)).toContain(
    "It ended because the model had nothing more to do.",
  );
});

test("without the script pages are read and forms are sent", async () => {
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
