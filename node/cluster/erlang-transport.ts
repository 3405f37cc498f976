// Erlang transport: ClusterTransport over Erlang distribution. Messages go to the process `svc` of other nodes, with JSON in binaries.
import { z } from 'zod';
import { type ErrorCode, errorCatalogue, ServiceError, toServiceError } from '../../api/errors.ts';
import { noTracer, type Tracer, traced } from '../../tracing/spans.ts';
import type { Log } from '../common/log.ts';
import { type CurrentRequest, currentRequestId, currentSpan, isRequestId, withRequest } from '../common/request-context.ts';
import type { ClusterTransport, NodeMessageHandler, NodeName, NodeRequestHandler, TransportListener } from './cluster-transport.ts';
import { CallError } from './erlang/calls.ts';
import { connectionLimits } from './erlang/connection.ts';
import type { ErlangNode } from './erlang/erlang-node.ts';
import { Atom, isAtom, type Term, tuple, tupleElements } from './erlang/terms/terms.ts';
import { FailureDetector, type FailureDetectorTimings } from './failure-detector.ts';

/** Registered name of the process on every node. */
const service = 'svc';
/** Method that checks whether a node is a Mediarooms node. */
const greeting = 'greet';
const greetingTimeoutMs = 5_000;
/** Maximum JSON size of a response, minus the envelope. A longer message would close the connection. */
const maxAnswerBytes = connectionLimits.messageBytes - 65_536;
/** Method that reports a suspect node to another node. */
const suspectRpc = 'doubt';
const ok = new Atom('ok');
const failed = new Atom('error');
const codeOf = (error: unknown) => toServiceError(error).code;

/** Connected nodes that do not respond under our process name (Erlang nodes) are not nodes of the cluster. */
export class ErlangTransport implements ClusterTransport {
  readonly self: NodeName;
  readonly #log: Log;
  readonly #tracer: Tracer;
  readonly #listeners: TransportListener[] = [];
  /** Nodes that completed the handshake. */
  readonly #known = new Set<NodeName>();
  readonly #failureDetector: FailureDetector;
  #greetings = 0;
  #node: ErlangNode | undefined;
  #handlers: { call: NodeRequestHandler; cast: NodeMessageHandler } | undefined;

  /** No node is connected before attach(). */
  constructor(self: NodeName, log: Log, { times, tracer = noTracer }: { times?: FailureDetectorTimings; tracer?: Tracer } = {}) {
    this.self = self;
    this.#log = log;
    this.#tracer = tracer;
    this.#failureDetector = new FailureDetector({
      silence: (node) => this.#node?.idleTimeOf(node),
      ask: async (node, deadline) => this.#node?.call(node, service, request(greeting, null), deadline),
      tell: (node) => {
        for (const other of this.#known) if (other !== node) this.cast(other, suspectRpc, node);
      },
      lost: (node) => this.#node?.markDown(node),
      ...(times && { times }),
    });
  }

  /** Joins the cluster. Handlers and listeners must be set before. */
  attach(node: ErlangNode): void {
    this.#node = node;
    node.register(service, {
      call: (term, from) => this.#answer(term, from),
      cast: (term, from) => this.#receive(term, from),
    });
    node.on('nodeUp', (name) => void this.#greet(name));
    node.on('nodeDown', (name) => this.#lose(name));
    for (const name of node.connections) void this.#greet(name);
  }

  /** True if a connected node has not answered the handshake yet. */
  get handshakePending(): boolean {
    return this.#greetings > 0;
  }

  nodes(): readonly NodeName[] {
    return [...this.#known].sort();
  }

  async call(node: NodeName, method: string, data: unknown, deadline: number): Promise<unknown> {
    const span = currentSpan()?.child(`rpc ${method}`, 'client', { attributes: { 'rpc.method': method, 'server.address': node } });
    return traced(span, codeOf, async () => {
      const answer = tupleElements(await this.#ask(node, method, data, deadline, span?.traceparent));
      const value = parse(answer[1]);
      if (isAtom(answer[0], 'ok')) return value;
      throw errorOf(value);
    });
  }

  cast(node: NodeName, method: string, data: unknown): void {
    this.#node?.cast(node, service, request(method, data));
  }

  suspect(node: NodeName): void {
    this.#failureDetector.probe(node);
  }

  handle(handlers: { call: NodeRequestHandler; cast: NodeMessageHandler }): void {
    this.#handlers = handlers;
  }

  listen(listener: TransportListener): void {
    this.#listeners.push(listener);
  }

  async #ask(node: NodeName, method: string, data: unknown, deadline: number, traceparent: string | undefined): Promise<Term> {
    if (!this.#node) throw new ServiceError('node_unreachable', `Node ${node} cannot be reached`, { retryAfter: 1 });
    this.suspect(node);
    try {
      return await this.#node.call(node, service, request(method, data, currentRequestId(), traceparent), deadline);
    } catch (error) {
      if (!(error instanceof CallError)) throw error;
      throw new ServiceError('node_unreachable', `Node ${node} cannot be reached`, { retryAfter: 1, cause: error });
    }
  }

  async #answer(term: Term, from: NodeName): Promise<Term> {
    try {
      const { method, data, ...context } = parseRequest(term);
      this.#meet(from);
      if (method === greeting) return tuple(ok, 'null');
      const result = await this.#run(from, method, data, context);
      const json = JSON.stringify(result ?? null);
      if (Buffer.byteLength(json) > maxAnswerBytes)
        throw new ServiceError('unavailable', `The response of node ${this.self} exceeds the message limit`);
      return tuple(ok, json);
    } catch (error) {
      if (!(error instanceof ServiceError)) this.#log.error({ node: from, err: error }, 'request of remote node failed');
      const { code, message, field, reason, retryAfter } = toServiceError(error);
      return tuple(failed, JSON.stringify({ code, message, field, reason, retryAfter }));
    }
  }

  async #run(from: NodeName, method: string, data: unknown, { requestId, traceparent }: RequestContext): Promise<unknown> {
    const name = method.slice(0, 64);
    const span = this.#tracer.start(`rpc ${name}`, 'server', {
      parent: traceparent,
      attributes: { 'rpc.method': name, 'client.address': from },
    });
    return traced(span, codeOf, () => withRequest({ requestId, span }, () => this.#handlers?.call(from, method, data)));
  }

  #receive(term: Term, from: NodeName): void {
    try {
      const { method, data } = parseRequest(term);
      this.#meet(from);
      if (method !== suspectRpc) this.#handlers?.cast(from, method, data);
      else if (typeof data === 'string') this.suspect(data);
    } catch (error) {
      this.#log.warn({ node: from, err: error }, 'invalid message from remote node');
    }
  }

  /** Checks whether a connected node belongs to the cluster. A busy node gets another request, or sends a greeting itself. */
  async #greet(node: NodeName): Promise<void> {
    this.#greetings += 1;
    await this.#askWho(node);
    this.#greetings -= 1;
  }

  async #askWho(node: NodeName): Promise<void> {
    for (let attempt = 0; attempt < 3 && this.#node?.isConnected(node) && !this.#known.has(node); attempt += 1) {
      try {
        await this.#node?.call(node, service, request(greeting, null), greetingTimeoutMs);
        this.#meet(node);
      } catch (error) {
        if (!(error instanceof CallError) || error.reason === 'noproc' || error.reason === 'noconnection') return;
      }
    }
  }

  #meet(node: NodeName): void {
    if (this.#known.has(node) || !this.#node?.isConnected(node)) return;
    this.#known.add(node);
    for (const listener of this.#listeners) listener.up(node);
  }

  #lose(node: NodeName): void {
    if (!this.#known.delete(node)) return;
    for (const listener of this.#listeners) listener.down(node);
  }
}

type RequestContext = Pick<CurrentRequest, 'requestId'> & { traceparent: string | undefined };

/** `{Method, Json}`, plus the request id if there is one, plus the traceparent of a traced request (then the id may be empty). */
function request(method: string, data: unknown, requestId?: string, traceparent?: string): Term {
  const json = JSON.stringify(data);
  if (traceparent !== undefined) return tuple(method, json, requestId ?? '', traceparent);
  return requestId === undefined ? tuple(method, json) : tuple(method, json, requestId);
}

/** @throws ServiceError `bad_request` if the term is none of the forms of request() */
function parseRequest(term: Term): RequestContext & { method: string; data: unknown } {
  const [method, json, given, trace] = tupleElements(term);
  if (!Buffer.isBuffer(method)) throw new ServiceError('bad_request', 'Expected {Method, Json} with binaries');
  const requestId = textOf(given);
  return {
    method: method.toString('utf8'),
    data: parse(json),
    requestId: isRequestId(requestId) ? requestId : undefined,
    traceparent: textOf(trace),
  };
}

function textOf(term: Term | undefined): string | undefined {
  return Buffer.isBuffer(term) ? term.toString('latin1') : undefined;
}

function parse(json: Term | undefined): unknown {
  try {
    if (Buffer.isBuffer(json)) return JSON.parse(json.toString('utf8'));
  } catch {
    // Reported by the check below.
  }
  throw new ServiceError('bad_request', 'Expected a binary with JSON');
}

const errorSchema = z.object({
  code: z.string(),
  message: z.string().max(1_000),
  field: z.string().max(1_000).optional(),
  reason: z.string().max(1_000).optional(),
  retryAfter: z.number().optional(),
});

/** The error of the remote node. A code that only newer versions have becomes `unavailable`. */
function errorOf(value: unknown): ServiceError {
  const { data } = errorSchema.safeParse(value);
  if (!data) return new ServiceError('node_unreachable', 'Invalid response from another node');
  const code = Object.hasOwn(errorCatalogue, data.code) ? (data.code as ErrorCode) : 'unavailable';
  return new ServiceError(code, data.message, { field: data.field, reason: data.reason, retryAfter: data.retryAfter });
}
