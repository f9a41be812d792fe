/** `GET /favicon.ico`: the icon that browsers request from every site. */
/** A hull on its waves. */
const ICON =
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><path fill="#2563eb" d="M1 8h14l-2.5 5h-9z"/><path fill="#60a5fa" d="M7 1h2v6H7z"/></svg>';

/** Any key or none is enough: the icon reveals nothing about the deployment. */
export const favicon = (): Response =>
  new Response(ICON, {
    headers: {
      "content-type": "image/svg+xml",
      "cache-control": "public, max-age=86400",
      "content-security-policy": "default-src 'none'",
    },
  });
