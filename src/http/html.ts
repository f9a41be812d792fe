/** Pages for people: without scripts and without content from other sites. */

/** Whether a person will see the answer in a browser. */
export function wantsHtml({ method, headers }: Request): boolean {
  const reads = method === "GET" || method === "HEAD";
  return reads && /(?:^|[,\s])text\/html(?:[,;\s]|$)/i.test(headers.get("accept") ?? "");
}

const STYLE = `
body{font:16px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:60rem;padding:0 1rem;color-scheme:light dark}
table{border-collapse:collapse;width:100%}th,td{text-align:left;padding:.4rem .8rem .4rem 0;vertical-align:top;border-bottom:1px solid #8884}
td code{white-space:nowrap}
`;
/** SHA-256 of the style sheet, by which the content security policy permits it. */
const STYLE_DIGEST = "sha256-bYr3MI86Zl1bxRooNnOBcWmEeeYFP99B+buo9S3+m5g=";

/** A whole page. @param title plain text @param body HTML */
export function htmlPage(title: string, body: string): string {
  return `<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>${escapeHtml(title)}</title>
<style>${STYLE}</style>
${body}
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
