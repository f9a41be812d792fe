/** A real Chromium from the package registry, and a record of what pages do wrong in it. */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import chromium from "@sparticuz/chromium";
import puppeteer, { type Browser, type Page } from "puppeteer-core";
import { onTestFinished } from "vitest";

/** A browser for the tests of a file, which must close it after them. */
export async function startBrowser(): Promise<Browser> {
  return puppeteer.launch({
    executablePath: await chromium.executablePath(),
    args: ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", "--no-zygote"],
    headless: "shell",
  });
}

/** An open page, with the complaints in its console: errors, violations of its policy, exceptions. */
export interface Opened {
  page: Page;
  complaints: string[];
}

/** A page for one test. @param script whether scripts run */
export async function openPage(
  browser: Browser,
  { script = true }: { script?: boolean } = {},
): Promise<Opened> {
  const context = await browser.createBrowserContext();
  const page = await context.newPage();
  onTestFinished(() => context.close());
  const complaints: string[] = [];
  page.on("console", (message) => {
    if (message.type() === "error" || message.type() === "warn") complaints.push(message.text());
  });
  page.on("pageerror", (error) => complaints.push(String(error)));
  await page.setJavaScriptEnabled(script);
  await look(page, "light", 1280);
  return { page, complaints };
}

/** Shows the page as on a system with this theme, in a window of this width. */
export async function look(page: Page, theme: "light" | "dark", width: number): Promise<void> {
  await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: theme }]);
  await page.setViewport({ width, height: 800 });
}

const AXE = createRequire(import.meta.url).resolve("axe-core/axe.min.js");

interface AxeResult {
  violations: { id: string; nodes: { html: string; failureSummary?: string }[] }[];
}

/** Rules whose result depends on colours and on the width of the window. */
const LOOKS = ["color-contrast", "target-size", "scrollable-region-focusable"];

/**
 * The faults that axe-core finds in the page by WCAG 2.2 AA and by its own advice, one per line.
 * @param looks only the rules about looks
 */
export async function faultsOf(page: Page, looks = false): Promise<string[]> {
  // The page's own policy permits no script; this one is the test's.
  const world = await page.createCDPSession();
  const rules = looks ? LOOKS : ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];
  // Another look at the same page finds it there.
  const { result: known } = await world.send("Runtime.evaluate", { expression: "typeof axe" });
  const axe = known.value === "object" ? "" : readFileSync(AXE, "utf8");
  const expression = `${axe}; axe.run(document, { runOnly: ${JSON.stringify(rules)}, resultTypes: ["violations"] }).then(({ violations }) => JSON.stringify({ violations }))`;
  const { result } = await world.send("Runtime.evaluate", { expression, awaitPromise: true });
  await world.detach();
  const { violations }: AxeResult = JSON.parse(String(result.value));
  return violations.flatMap(({ id, nodes }) =>
    nodes.map(({ html, failureSummary = "" }) => `${id}: ${html} ${failureSummary.replaceAll("\n", " ")}`),
  );
}
