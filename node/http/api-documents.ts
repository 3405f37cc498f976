// API documents: built once per path of SVC_HOST.
import { createRequire } from 'node:module';
import { JsonSchemas } from '../../api/derive/json-schemas.ts';
import { roomEventSchema } from '../../api/events.ts';
import { docsPage } from './docs-page.ts';
import { openApiDocument } from './openapi.ts';
import { routes } from './routes/routes.ts';

const { version } = createRequire(import.meta.url)('../../package.json') as { version: string };

type Made = { prefix: string; openapi: string; page: { html: string; policy: string } };

export class ApiDocuments {
  readonly #prefix: () => string;
  readonly #asyncapi: (() => object) | undefined;
  #made: Made | undefined;
  #events: string | undefined;
  #asyncapiText: string | undefined;

  constructor(prefix: () => string, asyncapi: (() => object) | undefined) {
    this.#prefix = prefix;
    this.#asyncapi = asyncapi;
  }

  readonly openapi = (): string => this.#make().openapi;

  readonly page = (): { html: string; policy: string } => this.#make().page;

  /** Undefined if there is no such document. */
  readonly asyncapi = (): string | undefined => {
    this.#asyncapiText ??= this.#asyncapi && JSON.stringify(this.#asyncapi());
    return this.#asyncapiText;
  };

  readonly events = (): string => {
    this.#events ??= JSON.stringify(eventsDocument());
    return this.#events;
  };

  #make(): Made {
    const prefix = this.#prefix();
    if (this.#made?.prefix !== prefix) {
      const document = openApiDocument(routes, { version, path: prefix });
      this.#made = { prefix, openapi: JSON.stringify(document), page: docsPage(document) };
    }
    return this.#made;
  }
}

function eventsDocument(): object {
  const schemas = new JsonSchemas('#/$defs/');
  const event = schemas.output(roomEventSchema);
  return { $schema: 'https://json-schema.org/draft/2020-12/schema', ...event, $defs: schemas.components() };
}
