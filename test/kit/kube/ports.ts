// Free ports of loopback for programs that must be told theirs: outside of what the system gives to outgoing connections.
import { isFree } from '../../../node/media/ports.ts';

/** Below the ephemeral ports of Linux (32768 up) and the node ports of Kubernetes (30000 up): nobody takes one while its owner restarts. */
const range = { from: 20_000, count: 9_900 };
/** Ports between two that are given: some begin a small range with theirs. */
const apart = 20;
/** What this process was given: it may be bound only later. */
const given: number[] = [];

/** Different ports that nothing listens on now, by TCP or UDP, and that nobody else in this process was given. */
export async function freePorts(count: number, ip = '127.0.0.1'): Promise<number[]> {
  const found: number[] = [];
  for (let tries = 0; found.length < count && tries < 1_000; tries += 1) {
    const port = range.from + Math.floor(Math.random() * range.count);
    if (given.some((other) => Math.abs(port - other) < apart)) continue;
    given.push(port);
    if (await isFree(ip, port)) found.push(port);
  }
  if (found.length < count) throw new Error(`no ${count} ports are free on ${ip}`);
  return found;
}
