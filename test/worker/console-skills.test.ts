/** The console's pages of skills, as the Worker sends them. */
import { beforeAll, describe, expect, it, onTestFinished, vi } from "vitest";
import { makeZip } from "../support/zip.ts";
import { client, EVIL_SLUG, HTML, page, publishSkills, sent } from "./console-client.ts";
import { Client, mockSkill } from "./served.ts";
import { param, publishTools, skillTool } from "./tool-skills.ts";

beforeAll(publishSkills);

describe("skills", () => {
  it("are listed, searched and filtered", async () => {
    expect((await page("/")).text).toContain('<a href="/console/skills/cat"><bdi>cat</bdi></a>');
    const found = (await page("/?q=shaped")).text;
    expect(found).toContain("/console/skills/shaped");
    expect(found).not.toContain("/console/skills/cat");
    expect((await page("/?q=zebra")).text).toContain("No skill matches");
    expect((await page("/?cursor=zebra")).text).toContain("No skill matches");
    expect((await page("/?mode=static-file")).text).not.toContain("/console/skills/cat");
  });

  it("attack: a skill's description of itself is text", async () => {
    for (const path of ["/", `/console/skills/${EVIL_SLUG}`]) {
      const { text } = await page(path);
      expect(text).toContain("&lt;script&gt;alert(1)&lt;/script&gt;");
      expect(text).not.toContain("<script>alert");
      expect(text).not.toContain("<img");
      expect(text).not.toMatch(/href="javascript/i);
    }
  });

  it("each has a form for its input, and shows how to call it", async () => {
    const { text } = await page("/console/skills/shaped");
    expect(text).toContain("&quot;n&quot;: 3");
    expect(text).toContain("curl -X POST http://localhost:3000/skills/shaped");
    expect((await page("/console/skills/cat")).text).toContain('<textarea id="text" name="text" dir="auto">');
  });

  it("trying one without the script leads to the page of its run", async () => {
    const { response } = await page("/console/skills/cat/try", sent({ text: "hi" }));
    expect(response.status).toBe(303);
    expect(response.headers.get("location")).toMatch(/^\/console\/runs\/ex_[0-9a-f]{32}$/);
    const digits = await page("/console/skills/shaped/try", sent({ json: '{"n": 12345678901234567890}' }));
    await expect
      .poll(async () => (await page(digits.response.headers.get("location") ?? "")).text)
      .toMatch(/<pre tabindex="0" id="answer" dir="auto">[^<]*12345678901234567890/);
    const refused = await page("/console/skills/shaped/try", sent({ json: '{"n": "x"}' }));
    expect(refused.response.status).toBe(422);
    expect(refused.text).toMatch(/<li><code>\/n<\/code>: Instance type/);
    expect(refused.text).toContain('<a href="/console/skills/shaped">open the page again</a>');
    const broken = await page("/console/skills/shaped/try", sent({ json: "{n}" }));
    expect([broken.response.status, broken.text]).toEqual([
      400,
      expect.stringContaining("The field json takes JSON"),
    ]);
  });

  it("a form's address leads to the page that holds the form", async () => {
    for (const [action, above] of [
      ["/console/skills/cat/try", "/console/skills/cat"],
      ["/console/approvals/s/a", "/console/approvals"],
      ["/console/usage/budget", "/console/usage"],
    ]) {
      const { response } = await page(action ?? "");
      expect([response.status, response.headers.get("location")]).toEqual([303, above]);
    }
  });

  it("a proxy is tried with the query that its upstream takes", async () => {
    expect((await page("/console/skills/upstream")).text).toContain('<label for="query">Query</label>');
    const asked: string[] = [];
    vi.stubGlobal("fetch", async (input: RequestInfo | URL, init?: RequestInit) => {
      asked.push(new Request(input, init).url);
      return new Response("sunny", { headers: { "content-type": "text/plain" } });
    });
    onTestFinished(() => void vi.unstubAllGlobals());
    const { text } = await page("/console/skills/upstream/try", sent({ query: "q=São Paulo&d=2&d=3&raw=" }));
    expect(text).toContain("sunny");
    expect(asked).toEqual(["https://upstream.example/now?q=S%C3%A3o+Paulo&d=2&d=3&raw="]);
  });

  it("a static file's answer is shown as text", async () => {
    const { response, text } = await page(`/console/skills/${EVIL_SLUG}/try`, sent({}));
    expect(response.status).toBe(200);
    expect(text).toContain("&lt;script&gt;");
    expect(text).not.toContain("<script>alert");
  });
});

it("an answer that is no text is a file that the page holds", async () => {
  const bytes = new Uint8Array([0, 255, 1, 254]);
  const skill = "---\nname: bin\ndescription: Bytes\nmode: static-file\nserve: a.bin\n---\n";
  const bin = new Client();
  await bin.publish({ bin: skill }, { "a.bin": bytes });
  const answer = await bin.fetch("/console/skills/bin/try", { ...sent({}), headers: HTML });
  expect(await answer.text()).toContain(`href="data:application/octet-stream;base64,AP8B/g=="`);
});

it("a finding of the build is shown with its level", async () => {
  const warned = new Client();
  await warned.publish({ warned: mockSkill("warned", "timeout_mss: 5\n") });
  const answer = await warned.fetch("/console/skills/warned", { headers: HTML });
  expect(await answer.text()).toMatch(/<li><code>SKILL\.md:6:1<\/code> warning: [^<]*timeout_mss/);
});

it("an earlier version of an uploaded skill is served again", async () => {
  const upload = async (body: string) =>
    client.fetch("/_hull/skills/owl", {
      method: "PUT",
      body: await makeZip([
        { name: "SKILL.md", content: mockSkill("owl").replace("Answer.", body), deflate: true },
      ]),
      headers: { "content-type": "application/zip" },
    });
  for (const body of ["First.", "Second."]) expect((await upload(body)).ok).toBe(true);
  const { text } = await page("/console/skills/owl");
  const [action = "", digest] = /\/console\/skills\/owl\/versions\/([0-9a-f]{64})/.exec(text) ?? [];
  expect((await page(action, sent({}))).response.status).toBe(303);
  const served = await (await client.fetch("/skills/owl/card")).json();
  expect(served).toMatchObject({ version: digest });
  expect((await page("/console/skills/cat")).text).not.toContain("Serve it again");
});

it("a skill's tools are configured; a secret is never shown again, and a default stays one", async () => {
  const CANARY = "canary-5d1c88f0-secret";
  const configured = new Client({ HULL_ENV: "local", HULL_SECRET_KEY: "k".repeat(32) });
  const config = [
    param("model", { type: "text", default: "small" }),
    param("maxCost", { type: "number", min: 0, max: 50, default: 1 }),
    param("region", { type: "select", options: ["eu", "us_east"], default: "eu" }),
    param("verbose", { type: "boolean" }),
    param("token", { type: "secret" }),
  ];
  await publishTools(configured, { site: [skillTool("build", { config })] });
  const path = "/console/skills/site";
  const text = async () => (await configured.fetch(path, { headers: HTML })).text();
  const save = (fields: Record<string, string>) =>
    configured.fetch(`${path}/config`, { ...sent({ tool: "build", ...fields }), headers: HTML });
  const before = await text();
  expect(before).toContain('name="value model" class="text" placeholder="small">\n</textarea>');
  expect(before).toContain('name="value maxCost" value="" placeholder="1"');
  expect(before).toContain('<option value="" selected>default: eu</option>');
  expect(before).toContain('<option value="us_east">us_east</option>');
  expect(before).toContain('<option value="true">true</option>');
  expect(before).toContain("secret, not set");
  const types = {
    "type model": "text",
    "type maxCost": "json",
    "type region": "text",
    "type verbose": "json",
  };
  // Browsers send the line breaks of a text as CR LF.
  const values = {
    "value model": "7\r\n8",
    "value maxCost": "2.5",
    "value region": "",
    "value verbose": "true",
  };
  expect((await save({ ...types, ...values, "secret token": CANARY })).status).toBe(303);
  const shown = await text();
  expect(shown).toContain('placeholder="">\n7\n8</textarea>');
  expect(shown).toContain('name="value maxCost" value="2.5"');
  expect(shown).toContain('<option value="" selected>default: eu</option>');
  expect(shown).toContain('<option value="true" selected>true</option>');
  expect(shown).toContain("secret, set");
  expect(shown).not.toContain(CANARY);
  expect((await save({ ...types, "value maxCost": "51" })).status).toBe(422);
  await save({ ...types, "value model": "" });
  expect(await text()).toContain('placeholder="small">\n</textarea>');
});
