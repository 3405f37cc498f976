// HTTP load generator over keep-alive connections, with the latency of each request.
import { Agent, request } from 'node:http';

export type LoadResult = { perSecond: number; p50: number; p99: number };

export type LoadOptions = {
  url: string;
  token?: string;
  /** Number of concurrent requests, each on a separate connection. */
  clients: number;
  /** Milliseconds; the first fifth is the warm-up and is not counted. */
  duration: number;
  body: (index: number) => object;
  expectedStatus: number;
};

export async function runLoad(options: LoadOptions): Promise<LoadResult> {
  const agent = new Agent({ keepAlive: true, maxSockets: options.clients });
  const start = performance.now();
  const from = start + options.duration / 5;
  const until = start + options.duration;
  const times: number[] = [];
  let index = 0;
  const client = async (): Promise<void> => {
    for (let now = performance.now(); now < until; now = performance.now()) {
      await send(agent, options, index++);
      if (now >= from) times.push(performance.now() - now);
    }
  };
  await Promise.all(Array.from({ length: options.clients }, client));
  agent.destroy();
  times.sort((a, b) => a - b);
  const at = (share: number) => times[Math.floor(times.length * share)] ?? Number.NaN;
  return { perSecond: times.length / ((until - from) / 1000), p50: at(0.5), p99: at(0.99) };
}

function send(agent: Agent, { url, token, body, expectedStatus }: LoadOptions, index: number): Promise<void> {
  const text = JSON.stringify(body(index));
  return new Promise((resolve, reject) => {
    const headers = {
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(text),
      ...(token && { authorization: `Bearer ${token}` }),
    };
    const call = request(url, { agent, method: 'POST', headers }, (response) => {
      response.resume();
      response.once('end', () =>
        response.statusCode === expectedStatus
          ? resolve()
          : reject(new Error(`expected status ${expectedStatus}, got ${response.statusCode}`)),
      );
    });
    call.once('error', reject);
    call.end(text);
  });
}
