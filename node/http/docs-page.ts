// Page at /docs: the OpenAPI document as one HTML file without scripts and external resources.
import { createHash } from 'node:crypto';
import type { JsonSchema } from '../../api/derive/json-schemas.ts';
import type { OpenApiDocument, OpenApiOperation } from './openapi.ts';

const style = `
:root{color-scheme:light dark;font:16px/1.5 system-ui,sans-serif}
body{max-width:60rem;margin:0 auto;padding:1rem}
h1{font-size:1.6rem}h2{font-size:1.25rem;margin-top:2rem;text-transform:capitalize}
details{border:1px solid color-mix(in srgb,currentColor 25%,transparent);border-radius:.4rem;margin:.5rem 0;padding:.5rem .75rem}
summary{cursor:pointer}summary b{display:inline-block;min-width:4.5rem}
code,pre{font:.85rem/1.45 ui-monospace,monospace}pre{overflow:auto;padding:.5rem;background:color-mix(in srgb,currentColor 7%,transparent)}
table{border-collapse:collapse;width:100%}td,th{text-align:left;vertical-align:top;padding:.2rem .5rem .2rem 0}
`;

/** The page, and a `content-security-policy` that allows only its style. */
export function docsPage(document: OpenApiDocument): { html: string; policy: string } {
  const hash = createHash('sha256').update(style).digest('base64');
  const policy = `default-src 'none'; style-src 'sha256-${hash}'; base-uri 'none'; frame-ancestors 'none'; form-action 'none'`;
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, each]) => ({ path, method, each })),
  );
  const groups = Map.groupBy(operations, ({ each }) => String((each.tags as string[])[0]));
  const info = document.info as { title: string; version: string; description: string };
  const sections = [...groups].map(
    ([tag, group]) => `<h2>${escapeHtml(tag)}</h2>${group.map(({ path, method, each }) => section(path, method, each)).join('')}`,
  );
  const schemas = Object.entries(document.components.schemas).map(([name, schema]) =>
    details(`<code id="${escapeHtml(name)}">${escapeHtml(name)}</code>`, json(schema)),
  );
  const html = `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(info.title)} ${escapeHtml(info.version)}: REST API</title><style>${style}</style></head>
<body><h1>${escapeHtml(info.title)} ${escapeHtml(info.version)}: REST API</h1><p>${escapeHtml(info.description)}
For programs: <a href="openapi.json">openapi.json</a> (OpenAPI 3.1), <a href="asyncapi.json">asyncapi.json</a> (websockets), <a href="schemas/events.json">schemas/events.json</a>.</p>
<main>${sections.join('')}<h2>Schemas</h2>${schemas.join('')}</main></body></html>
`;
  return { html, policy };
}

function section(path: string, method: string, operation: OpenApiOperation): string {
  const secured = operation.security.length > 0;
  const parameters = (operation.parameters ?? []) as { name: string; in: string; description?: string }[];
  const body = (operation.requestBody as { content: Record<string, { schema: JsonSchema }> } | undefined)?.content['application/json']
    ?.schema;
  const rows = Object.entries(operation.responses).map(([status, { description, content }]) => {
    const schema = Number(status) < 300 ? Object.values(content ?? {})[0]?.schema : undefined;
    return `<tr><th scope="row">${escapeHtml(status)}</th><td>${escapeHtml(description)}${schema ? json(schema) : ''}</td></tr>`;
  });
  const text = [
    `<p>${secured ? 'Needs an API token.' : 'Needs no token.'}</p>`,
    ...parameters.map(
      (each) => `<p><code>${escapeHtml(each.name)}</code> (${escapeHtml(each.in)}) ${escapeHtml(each.description ?? '')}</p>`,
    ),
    body ? `<p>Body:</p>${json(body)}` : '',
    `<table>${rows.join('')}</table>`,
  ].join('');
  return details(`<b>${method.toUpperCase()}</b> <code>${escapeHtml(path)}</code> ${escapeHtml(String(operation.summary))}`, text);
}

function details(summary: string, content: string): string {
  return `<details><summary>${summary}</summary>${content}</details>`;
}

function json(schema: JsonSchema): string {
  return `<pre>${escapeHtml(JSON.stringify(schema, null, 2))}</pre>`;
}

function escapeHtml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
}
