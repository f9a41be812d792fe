/** Browsers that sign in with an API key, and pages that try to use their cookies. */
import { afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { Client, mockSkill } from "./served.ts";

const ADMIN = "hull-admin-canary-0123456789";
const AT = "https://hull.example";
const ACCEPT = "text/html,application/xhtml+xml,*/*;q=0.8";
const keyed = new Client({ HULL_ADMIN_KEY: ADMIN });

beforeAll(() => new Client().publish({ cat: mockSkill("cat") }));
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

const form = (path: string, fields: Record<string, string>, headers: Record<string, string> = {}) =>
  keyed.fetch(AT + path, {
    method: "POST",
    body: new URLSearchParams(fields).toString(),
    headers: {
      "content-type": "application/x-www-form-urlencoded",
      "sec-fetch-site": "same-origin",
      ...headers,
    },
  });
const get = (path: string, cookie: string, headers: Record<string, string> = {}) =>
  keyed.fetch(AT + path, { headers: { cookie, ...headers } });
const cookieOf = (response: Response): string => response.headers.get("set-cookie")?.split(";")[0] ?? "";
const signedIn = async (key = ADMIN): Promise<string> =>
  cookieOf(await form("/console/sign-in", { key, next: "/" }));
const code = async (response: Response) => [response.status, (await response.json<{ code: string }>()).code];

/** Opens a session with a cookie and follows its events, with fake intervals. @returns the cookie's token, the stream's text */
async function follows(cookie: string, id: string): Promise<{ token: string; followed: Promise<string> }> {
  const { signIns } = keyed.deployment;
  const token = (await signIns.open(cookie.slice("__Host-hull=".length), Date.now()))?.token ?? "";
  const opened = await keyed.fetch(`${AT}/sessions`, {
    method: "POST",
    body: JSON.stringify({ id }),
    headers: { cookie, "x-hull-form-token": token },
  });
  expect(opened.status).toBe(201);
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
  const { body } = await keyed.stream(`${AT}/sessions/${id}/events`, { headers: { cookie } });
  return { token, followed: new Response(body).text().catch(() => "broken off") };
}

async function make(...scopes: string[]): Promise<{ id: string; key: string }> {
  const response = await keyed.fetch("/admin/keys", {
    method: "POST",
    headers: { authorization: `Bearer ${ADMIN}`, "content-type": "application/json" },
    body: JSON.stringify({ tenant: "acme", scopes }),
  });
  return response.json();
}

describe("a browser", () => {
  it("gets a form without a key, and the form leads back to the requested page", async () => {
    const shown = await keyed.fetch(`${AT}/skills?q="><script>`, { headers: { accept: ACCEPT } });
    const text = await shown.text();
    expect([shown.status, text.includes("<script>")]).toEqual([401, false]);
    expect(text).toContain('<form method="post" action="/console/sign-in">');
    expect(text).toContain('name="next" value="/skills?q=');
    const page = await keyed.fetch(`${AT}/console/sign-in?next=/docs`);
    expect([page.status, await page.text()]).toEqual([200, expect.stringContaining('value="/docs"')]);
    const policy = page.headers.get("content-security-policy");
    expect(policy).toContain("frame-ancestors 'none'");
    const style = /<style>([\s\S]*)<\/style>/.exec(text)?.[1] ?? "";
    const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(style)));
    expect(policy).toContain(`style-src 'sha256-${btoa(String.fromCharCode(...digest))}';`);
  });

  it("gets the form instead of the page if it is not signed in any more, or lacks a scope", async () => {
    const sent = await form("/console/skills/cat/try", { text: "hi" }, { accept: ACCEPT });
    const text = await sent.text();
    expect([sent.status, sent.headers.get("content-type")]).toEqual([401, "text/html; charset=utf-8"]);
    expect(text).toContain("Hull changed nothing. Sign in, and send the form again.");
    expect(text).toContain('name="next" value="/console/skills/cat/try"');
    const { key } = await make("publish");
    const shown = await get("/", await signedIn(key), { accept: ACCEPT });
    expect([shown.status, await shown.text()]).toEqual([
      403,
      expect.stringContaining('action="/console/sign-in"'),
    ]);
  });

  it("has a cookie instead of the key after it signs in, for 12 hours, until it signs out", async () => {
    const answer = await form("/console/sign-in", { key: ` ${ADMIN} `, next: "/skills?q=cat" });
    expect([answer.status, answer.headers.get("location")]).toEqual([303, "/skills?q=cat"]);
    const set = answer.headers.get("set-cookie") ?? "";
    expect(set).toMatch(
      /^__Host-hull=[\w-]{100,}; Path=\/; HttpOnly; SameSite=Strict; Max-Age=43200; Secure$/,
    );
    const cookie = cookieOf(answer);
    expect(atob(cookie.slice(12).replaceAll("-", "+").replaceAll("_", "/"))).not.toContain(ADMIN);
    expect((await get("/skills", cookie)).status).toBe(200);
    expect((await get("/metrics", cookie)).status).toBe(200);
    const later = Date.now() + 12 * 60 * 60 * 1000;
    vi.spyOn(Date, "now").mockReturnValue(later);
    expect((await get("/skills", cookie)).status).toBe(401);
    vi.restoreAllMocks();
    expect(await code(await form("/console/sign-out", { token: "x" }, { cookie }))).toEqual([
      403,
      "form_not_trusted",
    ]);
    const local = new Client({ HULL_ENV: "local", HULL_ADMIN_KEY: ADMIN });
    const there = await local.fetch("/console/sign-in", {
      method: "POST",
      body: `key=${ADMIN}`,
      headers: { "content-type": "application/x-www-form-urlencoded" },
    });
    expect(there.headers.get("set-cookie")).toMatch(/^hull-3000=[\w-]+; .*Max-Age=43200$/);
    expect((await local.fetch("/skills", { headers: { cookie: cookieOf(there) } })).status).toBe(200);
  });

  it("gets the form again after a wrong key; the form leads only to paths of this origin", async () => {
    for (const key of ["", "wrong", `hull_${"x".repeat(43)}`]) {
      const wrong = await form("/console/sign-in", { key, next: "/docs" });
      const text = await wrong.text();
      expect([wrong.status, wrong.headers.get("set-cookie")]).toEqual([401, null]);
      expect(text).toMatch(/role="alert">This API key is not known here[\s\S]*value="\/docs"/);
    }
    for (const next of ["//evil.example", "/\\evil.example", "https://evil.example", "/a\r\nx: y", ""]) {
      const answer = await form("/console/sign-in", { key: ADMIN, next });
      expect(answer.headers.get("location")).toBe("/");
    }
    const json = { "content-type": "application/json" };
    expect(await code(await form("/console/sign-in", { key: ADMIN }, json))).toEqual([400, "bad_request"]);
  });

  it("uses its cookie in pages of this origin and in what its user opens, an old browser too", async () => {
    const cookie = await signedIn();
    for (const headers of [
      { "sec-fetch-site": "same-origin" },
      { "sec-fetch-site": "none" },
      { origin: AT },
    ]) {
      expect([headers, (await get("/skills", cookie, headers)).status]).toEqual([headers, 200]);
    }
  });

  it("has the tenant and scopes of its key, and no more once that is revoked", async () => {
    const { id, key } = await make("invoke");
    const cookie = await signedIn(key);
    expect((await get("/skills", cookie)).status).toBe(200);
    expect(await code(await get("/admin/keys", cookie))).toEqual([403, "forbidden"]);
    await keyed.fetch(`/admin/keys/${id}`, {
      method: "DELETE",
      headers: { authorization: `Bearer ${ADMIN}` },
    });
    expect(await code(await get("/skills", cookie))).toEqual([401, "unauthenticated"]);
  });

  it("signs out with the token of its cookie", async () => {
    const cookie = await signedIn();
    const { signIns } = keyed.deployment;
    const token = (await signIns.open(cookie.slice("__Host-hull=".length), Date.now()))?.token ?? "";
    const posted = await keyed.fetch(`${AT}/skills/cat`, {
      method: "POST",
      body: "hi",
      headers: { cookie, "x-hull-form-token": token },
    });
    expect(posted.status).toBe(200);
    const out = await form("/console/sign-out", { token }, { cookie });
    expect([out.status, out.headers.get("location")]).toEqual([303, "/"]);
    expect(out.headers.get("set-cookie")).toMatch(/^__Host-hull=; .*Max-Age=0/);
  });

  it("attack: a copy of the cookie works no more after a sign-out, in other isolates after 10 s", async () => {
    const [copied, other] = [await signedIn(), await signedIn()];
    const elsewhere = new Client({ HULL_ADMIN_KEY: ADMIN });
    const there = async (): Promise<number> =>
      (await elsewhere.fetch(`${AT}/skills`, { headers: { cookie: copied } })).status;
    expect(await there()).toBe(200);
    const { token, followed } = await follows(copied, "followed");
    await vi.advanceTimersByTimeAsync(5000);
    expect(await Promise.race([followed, "goes on"])).toBe("goes on");
    await form("/console/sign-out", { token }, { cookie: copied });
    await vi.advanceTimersByTimeAsync(5000);
    expect(await followed).toBe("broken off");
    vi.useRealTimers();
    expect(await code(await get("/skills", copied))).toEqual([401, "unauthenticated"]);
    expect((await get("/skills", other)).status).toBe(200);
    vi.spyOn(Date, "now").mockReturnValue(Date.now() + 10_001);
    expect(await there()).toBe(401);
  });

  it("attack: a stream of events ends once its cookie is too old", async () => {
    const { followed } = await follows(await signedIn(), "followed-for-long");
    const until = Date.now() + 12 * 60 * 60 * 1000;
    const clock = vi.spyOn(Date, "now").mockReturnValue(until - 60_000);
    await vi.advanceTimersByTimeAsync(5000);
    expect(await Promise.race([followed, "goes on"])).toBe("goes on");
    clock.mockReturnValue(until);
    await vi.advanceTimersByTimeAsync(5000);
    expect(await followed).toBe("broken off");
  });

  it("removes notes of cookies that are too old by now when it signs out", async () => {
    const { DB } = keyed.env;
    const { endedSignIns } = keyed.deployment;
    const noted = { hash: "", token: "", id: "old", until: Date.now() + 1000 };
    await endedSignIns.add(noted);
    vi.spyOn(Date, "now").mockReturnValue(Date.now() + 1001);
    await endedSignIns.add({ ...noted, id: "new", until: Date.now() + 1000 });
    const { results } = await DB.prepare("SELECT id FROM ended_sign_ins WHERE id IN ('old', 'new')").all();
    expect(results).toEqual([{ id: "new" }]);
  });
});

describe("attack: another page", () => {
  it.each<[name: string, headers: Record<string, string>]>([
    ["of another site", { "sec-fetch-site": "cross-site", origin: "https://evil.example" }],
    ["of another name of the site", { "sec-fetch-site": "same-site", origin: "https://www.hull.example" }],
    ["in an old browser", { origin: "https://evil.example" }],
    ["in a sandbox", { "sec-fetch-site": "cross-site", origin: "null" }],
  ])("%s can neither read nor change anything with the cookie, and signs nobody in", async (_, headers) => {
    const cookie = await signedIn();
    expect((await get("/skills", cookie, headers)).status).toBe(401);
    const posted = await keyed.fetch(`${AT}/skills/cat`, {
      method: "POST",
      body: "hi",
      headers: { cookie, ...headers },
    });
    expect(posted.status).toBe(401);
    const plain = { "content-type": "application/x-www-form-urlencoded" };
    const body = new URLSearchParams({ key: ADMIN }).toString();
    const sent = await keyed.fetch(`${AT}/console/sign-in`, {
      method: "POST",
      body,
      headers: { ...plain, ...headers },
    });
    expect([sent.status, sent.headers.get("set-cookie")]).toEqual([403, null]);
  });

  it("of this origin without the token changes nothing, e.g. a form in an answer of a skill", async () => {
    const cookie = await signedIn();
    for (const token of [{}, { "x-hull-form-token": "" }, { "x-hull-form-token": "x".repeat(43) }]) {
      const response = await keyed.fetch(`${AT}/skills/cat`, {
        method: "POST",
        body: "hi",
        headers: { cookie, "sec-fetch-site": "same-origin", ...token },
      });
      expect(await code(response)).toEqual([403, "form_not_trusted"]);
    }
  });

  it("cannot make a cookie, nor use one of another deployment, nor change one", async () => {
    const cookie = await signedIn();
    const other = new Client({ HULL_ADMIN_KEY: `${ADMIN}-other` });
    expect((await other.fetch(`${AT}/skills`, { headers: { cookie } })).status).toBe(401);
    const at = "__Host-hull=".length + 30;
    const changed = cookie.slice(0, at) + (cookie[at] === "A" ? "B" : "A") + cookie.slice(at + 1);
    for (const made of [changed, "__Host-hull=", "__Host-hull=%%%", `__Host-hull=${btoa(ADMIN)}`]) {
      expect((await get("/skills", made)).status).toBe(401);
    }
  });
});
