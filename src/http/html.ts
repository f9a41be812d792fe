/** Pages for people: without scripts and without content from other sites. */

/** Whether a person will see the answer in a browser: a page that it reads, or the answer to a form of the console. */
export function wantsHtml({ method, url, headers }: Request): boolean {
  const shown = method === "GET" || method === "HEAD" || new URL(url).pathname.startsWith("/console/");
  return shown && /(?:^|[,\s])text\/html(?:[,;\s]|$)/i.test(headers.get("accept") ?? "");
}

const STYLE = `
body{font:15px/1.5 system-ui,sans-serif;margin:12vh auto 2rem;max-width:27rem;padding:0 1rem;color-scheme:light dark;background:light-dark(#fff,#12151b);color:light-dark(#1b1f27,#e6e9ef);overflow-wrap:anywhere}
h1{font-size:1.45rem}label{font-weight:600}a{color:light-dark(#0b57b8,#82b4ff)}
small{color:light-dark(#535b69,#a5aebd)}
[role=alert]{color:light-dark(#b3211b,#ff928a)}
input,button{font:inherit;box-sizing:border-box;width:100%;padding:.5rem .7rem;border:1px solid light-dark(#535b69,#a5aebd);border-radius:.35rem}
button{cursor:pointer;font-weight:600;border:0;background:light-dark(#0b57b8,#82b4ff);color:light-dark(#fff,#0c1017)}
`;
/** SHA-256 of the style sheet, by which the content security policy permits it. */
const STYLE_DIGEST = "sha256-wswlAm6KFAqkVifTrm+7d5FuDg5n0XDVzYynBhJWIPM=";

/** A whole page. @param title plain text @param body HTML */
export function htmlPage(title: string, body: string): string {
  return `<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>${escapeHtml(title)}</title>
<style>${STYLE}</style>
<main>
${body}
</main>
</html>
`;
}

export const HTML_HEADERS = {
  "content-type": "text/html; charset=utf-8",
  "content-security-policy": `default-src 'none'; style-src '${STYLE_DIGEST}'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'`,
} as const;

export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`);
}
