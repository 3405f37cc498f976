// Fake connector between nodes: the test decides which nodes accept a dial, and which are lost.
import { EventEmitter } from 'node:events';
import type { Connector } from '../../../node/cluster/discovery/connector.ts';
import { emits, eventually } from '../eventually.ts';

export class FakeConnector implements Connector {
  readonly self: string;
  /** Every dial, in order. */
  readonly dialled: string[] = [];
  /** Nodes that reject dials. */
  readonly unreachable = new Set<string>();
  /** Maximum number of concurrent dials. */
  busiest = 0;
  /** Dials wait until release(). */
  held = false;
  /** Called for a dial that became a connection. */
  onMeet: (name: string) => void = () => {};
  readonly #nodes = new Set<string>();
  #waiting: (() => void)[] = [];
  readonly #events = new EventEmitter();
  #underWay = 0;

  constructor(self: string) {
    this.self = self;
  }

  nodes(): readonly string[] {
    return [...this.#nodes].sort();
  }

  async connect(name: string): Promise<boolean> {
    this.dialled.push(name);
    this.#underWay += 1;
    this.busiest = Math.max(this.busiest, this.#underWay);
    if (this.held) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    this.#underWay -= 1;
    if (this.unreachable.has(name)) return false;
    this.meet(name);
    this.onMeet(name);
    return true;
  }

  /** Connected, regardless of the dialing side. */
  meet(name: string): void {
    this.#nodes.add(name);
    this.#events.emit('met');
  }

  cut(name: string): void {
    this.#nodes.delete(name);
  }

  release(): void {
    this.held = false;
    for (const resolve of this.#waiting.splice(0)) resolve();
  }

  /** Resolves when all of these are connected. */
  async connected(...names: string[]): Promise<void> {
    await eventually(`${names} are connected`, () => names.every((name) => this.#nodes.has(name)), { wakes: emits(this.#events, 'met') });
  }

  dialsOf(name: string): number {
    return this.dialled.filter((each) => each === name).length;
  }
}
