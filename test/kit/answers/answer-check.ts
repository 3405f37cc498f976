// Response check: compares every HTTP response of the nodes in this process with the OpenAPI document.
import assert from 'node:assert/strict';
import { subscribe } from 'node:diagnostics_channel';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { jsonOf, problemOfAnswer } from './openapi.ts';

type Exchange = { request: IncomingMessage; response: ServerResponse & { locals?: { trace?: { route?: string } } } };
type Problem = { port: number; message: string };

/** Maximum size of a checked body in bytes; of a larger response only the status is checked. */
const maxBodyBytes = 4 * 1024 * 1024;
/** Prefix of each problem that a node in a separate process prints (report-answers.ts). */
export const problemMark = 'response violates openapi.json: ';

const problems: Problem[] = [];
let reportProblem: (problem: Problem) => void = (problem) => problems.push(problem);
const bodies = new WeakMap<ServerResponse, Buffer[]>();

subscribe('http.server.request.start', (message) => {
  const { response } = message as Exchange;
  const chunks: Buffer[] = [];
  bodies.set(response, chunks);
  let size = 0;
  for (const name of ['write', 'end'] as const) {
    const through: (...args: never[]) => unknown = response[name];
    const kept = (...args: unknown[]) => {
      const [chunk] = args;
      if (isJson(response) && (typeof chunk === 'string' || chunk instanceof Uint8Array)) {
        const bytes = Buffer.from(chunk as string);
        size += bytes.length;
        if (size <= maxBodyBytes) chunks.push(bytes);
        else bodies.delete(response);
      }
      return Reflect.apply(through, response, args);
    };
    Reflect.set(response, name, kept);
  }
});

subscribe('http.server.response.finish', (message) => {
  const { request, response } = message as Exchange;
  const trace = response.locals?.trace;
  // Not a server of a node, or a response for browsers: the console.
  if (trace === undefined || (trace.route === undefined && response.statusCode < 400)) return;
  const [path = ''] = (request.url ?? '').split('?', 1);
  const { method = '' } = request;
  const { statusCode: status } = response;
  const answer = { method, path, ...(trace.route !== undefined && { template: trace.route }), status };
  const chunks = bodies.get(response);
  const problem = chunks && problemOfAnswer({ ...answer, body: method === 'HEAD' ? undefined : bodyOf(response, chunks) });
  if (problem !== undefined) reportProblem({ port: request.socket.localPort ?? 0, message: problem });
});

/** Fails if the node at this port sent an undocumented response since the last check. */
export function assertDocumented(port: number): void {
  const found = problems.filter((problem) => problem.port === port);
  for (const problem of found) problems.splice(problems.indexOf(problem), 1);
  assert.deepEqual(
    found.map(({ message }) => message),
    [],
    'responses of the node violate openapi.json',
  );
}

/** Fails if the output of a node reports an undocumented response. */
export function assertNoneMarked(output: string): void {
  const lines = output.split('\n').filter((line) => line.startsWith(problemMark));
  assert.deepEqual(lines, [], 'responses of the node violate openapi.json');
}

/** Prints every problem from now on. */
export function printProblems(): void {
  reportProblem = ({ message }) => void process.stderr.write(`${problemMark}${message}\n`);
}

function isJson(response: ServerResponse): boolean {
  return String(response.getHeader('content-type')).startsWith('application/json') && !response.hasHeader('content-encoding');
}

/** The body in the form that problemOfAnswer() accepts. */
function bodyOf(response: ServerResponse, chunks: readonly Buffer[]): unknown {
  if (!isJson(response)) return Number(response.getHeader('content-length')) > 0 ? 'something' : undefined;
  return jsonOf(Buffer.concat(chunks).toString());
}
