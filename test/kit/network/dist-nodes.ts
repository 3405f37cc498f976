// Distribution nodes of this project in the test process, with a log that tests can read.
import { EventEmitter } from 'node:events';
import type { TestContext } from 'node:test';
import { pino } from 'pino';
import { ErlangNode, type ErlangNodeOptions } from '../../../node/cluster/erlang/erlang-node.ts';
import type { Log } from '../../../node/common/log.ts';
import { emits, eventually } from '../eventually.ts';

export const testCookie = 'test_cookie';

export type LogLine = { msg: string; [field: string]: unknown };

/** A log that records its lines. */
export class LogRecorder {
  readonly lines: LogLine[] = [];
  readonly log: Log;
  readonly #events = new EventEmitter();

  constructor() {
    const write = (text: string) => {
      this.lines.push(JSON.parse(text) as LogLine);
      this.#events.emit('line');
    };
    this.log = pino({ level: 'trace' }, { write });
  }

  find(message: string): LogLine[] {
    return this.lines.filter(({ msg }) => msg === message);
  }

  /** Resolves with the first line with this message, past or future. */
  logged(message: string, within = 60_000): Promise<LogLine> {
    const what = () => `a line "${message}" is logged\n${JSON.stringify(this.lines, null, 1)}`;
    return eventually(what, () => this.find(message)[0], { within, wakes: emits(this.#events, 'line') });
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
export async function connectedTo(node: ErlangNode, names: readonly string[], within = 60_000): Promise<void> {
  const wanted = names.toSorted().join();
  const what = () => `${node.name} is connected to ${wanted}, now to ${node.connections.join()}`;
  await eventually(what, () => node.connections.toSorted().join() === wanted, { within, wakes: emits(node, 'nodeUp', 'nodeDown') });
}
