// Opens the reader of /docs on this deployment's own document; nothing is asked of other hosts.
SwaggerUIBundle({
  url: "/openapi.json",
  dom_id: "#reader",
  deepLinking: true,
  displayRequestDuration: true,
  defaultModelsExpandDepth: 0,
  docExpansion: "list",
  filter: true,
  validatorUrl: null,
  presets: [SwaggerUIBundle.presets.apis],
  layout: "BaseLayout",
});
