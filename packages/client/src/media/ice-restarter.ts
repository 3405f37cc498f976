// Mends the path of one transport: new ICE parameters where it is broken and does not come back by itself.
import type { types } from 'mediasoup-client';
import type { Logger, Timing } from '../options.ts';

export type IceKeeperOptions = {
  transport: types.Transport;
  timing: Timing;
  logger: Logger;
  /** Asks the server for new ICE parameters. */
  restart: () => Promise<types.IceParameters>;
};

/** Watches from its making to stop(). */
export class IceRestarter {
  readonly #options: IceKeeperOptions;
  readonly #onState = (state: types.ConnectionState) => this.#see(state);
  #timer: ReturnType<typeof setTimeout> | undefined;
  #restarting = false;
  #stopped = false;

  constructor(options: IceKeeperOptions) {
    this.#options = options;
    options.transport.on('connectionstatechange', this.#onState);
  }

  /** The network may have changed: what is broken is mended now. */
  check(): void {
    const { connectionState } = this.#options.transport;
    if (connectionState === 'disconnected' || connectionState === 'failed') this.#restartIn(0);
  }

  stop(): void {
    this.#stopped = true;
    clearTimeout(this.#timer);
    this.#options.transport.off('connectionstatechange', this.#onState);
  }

  #see(state: types.ConnectionState): void {
    if (state === 'connected' || state === 'closed') clearTimeout(this.#timer);
    else if (state === 'failed') this.#restartIn(0);
    else if (state === 'disconnected') this.#restartIn(this.#options.timing.iceDisconnected);
  }

  #restartIn(milliseconds: number): void {
    clearTimeout(this.#timer);
    if (!this.#stopped) this.#timer = setTimeout(() => void this.#restart(), milliseconds);
  }

  async #restart(): Promise<void> {
    if (this.#restarting) return;
    this.#restarting = true;
    const { transport, timing, logger, restart } = this.#options;
    try {
      const iceParameters = await restart();
      if (this.#stopped || transport.closed) return;
      await transport.restartIce({ iceParameters });
    } catch (error) {
      if (!this.#stopped) logger.warn?.('ICE could not be restarted', error);
    } finally {
      this.#restarting = false;
    }
    if (!this.#stopped && transport.connectionState !== 'connected') this.#restartIn(timing.iceRetry);
  }
}
