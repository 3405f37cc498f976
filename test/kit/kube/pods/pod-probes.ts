// Probes of a container, performed like a kubelet does.
import { connect } from 'node:net';
import type { Container, Probe } from '../../../../operator/kube/kinds.ts';

/** Probes periodically, and reports when enough consecutive results differ from the current state. */
export class Prober {
  readonly #probe: Probe;
  readonly #ask: (timeout: number) => Promise<boolean>;
  readonly #changed: (healthy: boolean) => void;
  #timer: NodeJS.Timeout | undefined;
  #stopped = false;
  #healthy: boolean;
  #inARow = 0;

  /** @param healthy state before the first result */
  constructor(probe: Probe, healthy: boolean, ask: (timeout: number) => Promise<boolean>, changed: (healthy: boolean) => void) {
    this.#probe = probe;
    this.#ask = ask;
    this.#changed = changed;
    this.#healthy = healthy;
    this.#later((probe.initialDelaySeconds ?? 0) * 1_000);
  }

  stop(): void {
    this.#stopped = true;
    clearTimeout(this.#timer);
  }

  #later(delay: number): void {
    this.#timer = setTimeout(() => void this.#once(), delay);
  }

  async #once(): Promise<void> {
    const { timeoutSeconds = 1, periodSeconds = 10 } = this.#probe;
    const healthy = await this.#ask(timeoutSeconds * 1_000).catch(() => false);
    if (this.#stopped) return;
    this.#take(healthy);
    if (!this.#stopped) this.#later(periodSeconds * 1_000);
  }

  #take(healthy: boolean): void {
    const { successThreshold = 1, failureThreshold = 3 } = this.#probe;
    if (healthy === this.#healthy) {
      this.#inARow = 0;
      return;
    }
    this.#inARow += 1;
    if (this.#inARow < (healthy ? successThreshold : failureThreshold)) return;
    this.#inARow = 0;
    this.#healthy = healthy;
    this.#changed(healthy);
  }
}

/** The request of a probe. @throws for an unsupported probe */
export function askerOf(probe: Probe, container: Container, ip: string): (timeout: number) => Promise<boolean> {
  const { httpGet, tcpSocket } = probe;
  if (httpGet) {
    const { path = '/', scheme = 'HTTP', httpHeaders = [] } = httpGet;
    const url = `${scheme.toLowerCase()}://${ip}:${portOf(httpGet.port, container)}${path}`;
    const headers = { connection: 'close', ...Object.fromEntries(httpHeaders.map(({ name, value }) => [name, value])) };
    return async (timeout) => {
      const answer = await fetch(url, { signal: AbortSignal.timeout(timeout), redirect: 'manual', headers });
      await answer.body?.cancel();
      return answer.status >= 200 && answer.status < 400;
    };
  }
  if (!tcpSocket) throw new Error('The pod runner supports HTTP and TCP probes only');
  const port = portOf(tcpSocket.port, container);
  return (timeout) => canConnect(ip, port, timeout);
}

/** A port by number or by its name in the container. */
export function portOf(port: number | string, { ports = [] }: Container): number {
  const named = ports.find(({ name }) => name === port)?.containerPort;
  return named ?? Number(port);
}

function canConnect(ip: string, port: number, timeout: number): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const socket = connect({ host: ip, port, timeout });
  const end = (open: boolean) => {
    socket.destroy();
    resolve(open);
  };
  socket.on('connect', () => end(true));
  socket.on('timeout', () => end(false));
  socket.on('error', () => end(false));
  return promise;
}
