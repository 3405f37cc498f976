// Distribution nodes of this project in the test process, with a log that tests can read.
import type { TestContext } from 'node:test';
import { pino } from 'pino';
import { ErlangNode, type ErlangNodeOptions } from '../../../node/cluster/erlang/erlang-node.ts';
import type { Log } from '../../../node/common/log.ts';

export const testCookie = 'test_cookie';

export type LogLine = { msg: string; [field: string]: unknown };

/** A log that records its lines. */
export class LogRecorder {
  readonly lines: LogLine[] = [];
  readonly log: Log;
  readonly #waiting = new Set<() => void>();

  constructor() {
    const write = (text: string) => {
      this.lines.push(JSON.parse(text) as LogLine);
      for (const look of this.#waiting) look();
    };
    this.log = pino({ level: 'trace' }, { write });
  }

  find(message: string): LogLine[] {
    return this.lines.filter(({ msg }) => msg === message);
  }

  /** Resolves with the first line with this message, past or future. */
  logged(message: string, deadline = 60_000): Promise<LogLine> {
    const { promise, resolve, reject } = Promise.withResolvers<LogLine>();
    const look = () => {
      const [found] = this.find(message);
      if (found) resolve(found);
    };
    const timer = setTimeout(() => reject(new Error(`not logged: ${message}\n${JSON.stringify(this.lines, null, 1)}`)), deadline);
    this.#waiting.add(look);
    look();
    return promise.finally(() => {
      clearTimeout(timer);
      this.#waiting.delete(look);
    });
  }
}

export type TestNode = { node: ErlangNode; record: LogRecorder };

/** Starts a node on loopback; `name` is the part before the @, or a full name. Closed with the test. */
export async function startDistNode(
  t: TestContext,
  name: string,
  epmdPort: number,
  options: Partial<ErlangNodeOptions> = {},
): Promise<TestNode> {
  const record = new LogRecorder();
  const node = await ErlangNode.start({
    name: name.includes('@') ? name : `${name}@127.0.0.1`,
    mode: 'name',
    cookie: testCookie,
    ip: '127.0.0.1',
    ports: null,
    tick: 60_000,
    epmdPort,
    log: record.log,
    ...options,
  });
  t.after(() => node.close());
  return { node, record };
}

/** Resolves when a node is connected to exactly these nodes, in any order. */
export function connectedTo(node: ErlangNode, names: readonly string[], deadline = 60_000): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const wanted = names.toSorted().join();
  const look = () => {
    if (node.connections.toSorted().join() === wanted) resolve();
  };
  const timer = setTimeout(() => reject(new Error(`${node.name} is connected to ${node.connections.join()}, not ${wanted}`)), deadline);
  node.on('nodeUp', look);
  node.on('nodeDown', look);
  look();
  return promise.finally(() => {
    clearTimeout(timer);
    node.off('nodeUp', look);
    node.off('nodeDown', look);
  });
}
