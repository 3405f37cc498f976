// Collector of traces on loopback: accepts OTLP over HTTP with JSON, as a collector of OpenTelemetry does.
import { EventEmitter, once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { z } from 'zod';
import { emits, eventually } from './eventually.ts';
import type { Scope } from './kube/scope.ts';

const attributesSchema = z
  .array(z.object({ key: z.string(), value: z.record(z.string(), z.unknown()) }))
  .transform((all) => Object.fromEntries(all.map(({ key, value }) => [key, Object.values(value)[0]])));
const spanSchema = z.object({
  traceId: z.string().regex(/^[0-9a-f]{32}$/),
  spanId: z.string().regex(/^[0-9a-f]{16}$/),
  parentSpanId: z.string().optional(),
  name: z.string(),
  kind: z.number(),
  startTimeUnixNano: z.string(),
  endTimeUnixNano: z.string(),
  attributes: attributesSchema,
});
/** ExportTraceServiceRequest of opentelemetry-proto, as JSON. */
const exportSchema = z.object({
  resourceSpans: z.array(
    z.object({
      resource: z.object({ attributes: attributesSchema }),
      scopeSpans: z.array(z.object({ spans: z.array(spanSchema) })),
    }),
  ),
});

/** `node`: `service.instance.id` of its sender. */
export type ReceivedSpan = z.infer<typeof spanSchema> & { service: string; node: string };

export class OtlpReceiver {
  readonly url: string;
  readonly spans: ReceivedSpan[] = [];
  /** All received bytes as text, for a search of secrets. */
  received = '';
  /** Status of its responses. */
  status = 200;
  readonly #events = new EventEmitter();

  private constructor(port: number) {
    this.url = `http://127.0.0.1:${port}/v1/traces`;
  }

  static async start(scope: Scope): Promise<OtlpReceiver> {
    let receiver: OtlpReceiver | undefined;
    const server = createServer(async (request, response) => {
      const body = await text(request);
      receiver?.take(body);
      response.writeHead(receiver?.status ?? 200, { 'content-type': 'application/json' }).end('{}');
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    scope.after(async () => {
      server.closeAllConnections();
      server.close();
    });
    receiver = new OtlpReceiver((server.address() as AddressInfo).port);
    return receiver;
  }

  take(body: string): void {
    this.received += body;
    if (this.status === 200)
      for (const { resource, scopeSpans } of exportSchema.parse(JSON.parse(body)).resourceSpans) {
        const { 'service.name': service, 'service.instance.id': node } = resource.attributes;
        for (const { spans } of scopeSpans)
          this.spans.push(...spans.map((span) => ({ ...span, service: String(service), node: String(node) })));
      }
    this.#events.emit('received');
  }

  /** Spans of a trace. */
  of(traceId: string): ReceivedSpan[] {
    return this.spans.filter((span) => span.traceId === traceId);
  }

  /** Waits until the trace has spans of all these names. @returns them in this order */
  async trace<const Names extends readonly string[]>(traceId: string, names: Names): Promise<{ [Index in keyof Names]: ReceivedSpan }> {
    const find = () => names.map((name) => this.of(traceId).find((span) => span.name === name));
    const what = () => `the trace has ${names.join(', ')}; it has ${this.of(traceId).map(({ name }) => name)}`;
    await eventually(what, () => find().every((span) => span !== undefined), { wakes: emits(this.#events, 'received') });
    return find() as { [Index in keyof Names]: ReceivedSpan };
  }
}
