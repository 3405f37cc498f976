// ICE restarter: requests new ICE parameters for a transport if its path is lost and does not recover.
import type { types } from 'mediasoup-client';
import type { Logger, Timing } from '../options.ts';

export type IceKeeperOptions = {
  transport: types.Transport;
  timing: Timing;
  logger: Logger;
  /** Requests new ICE parameters of the server. */
  restart: () => Promise<types.IceParameters>;
};

/** Runs from construction to stop(). */
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

  /** The network may have changed: restarts a lost path now. */
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
      if (!this.#stopped) logger.warn?.('could not restart ICE', error);
    } finally {
      this.#restarting = false;
    }
    if (!this.#stopped && transport.connectionState !== 'connected') this.#restartIn(timing.iceRetry);
  }
}
