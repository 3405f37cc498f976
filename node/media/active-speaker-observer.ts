// Active speaker observer: watches audio levels of a room, to report them and to find the active speaker.
import type { ActiveSpeakerObserver, AudioLevelObserver, Producer, Router } from 'mediasoup/types';
import type { AudioLevel } from '../../api/socket/peer-events.ts';
import type { Log } from '../common/log.ts';
import type { RoomMediaOptions } from '../rooms/interfaces.ts';
import { ActiveSpeakerFilter } from './active-speaker-filter.ts';
import type { WorkerProcess } from './worker/worker-process.ts';

/** Interval between two measurements of the audio levels, in milliseconds. */
const interval = 300;
/** Loudness in dBov (RFC 6464) below which audio counts as silence. */
const threshold = -60;

type Observers = { speakers: ActiveSpeakerObserver; levels: AudioLevelObserver };

/** Allocates nothing until the first audio track. */
export class RoomActiveSpeaker {
  readonly #worker: WorkerProcess;
  readonly #log: Log;
  readonly #activeSpeakerFilter: ActiveSpeakerFilter;
  readonly #peers = new Map<string, string>();
  readonly #onLevels: (levels: AudioLevel[]) => void;
  #observers: Promise<Observers> | undefined;

  constructor(worker: WorkerProcess, log: Log, listener: Pick<RoomMediaOptions, 'onActiveSpeaker' | 'onAudioLevels'>) {
    this.#worker = worker;
    this.#log = log;
    this.#activeSpeakerFilter = new ActiveSpeakerFilter(listener.onActiveSpeaker);
    this.#onLevels = listener.onAudioLevels;
  }

  /** Observes an audio track until it closes. Never fails: on error the room only has no active speaker. */
  async add(router: Router, producer: Producer, peerId: string): Promise<void> {
    this.#peers.set(producer.id, peerId);
    producer.observer.once('close', () => this.#remove(producer.id));
    try {
      this.#observers ??= this.#create(router);
      const { speakers, levels } = await this.#observers;
      const options = { producerId: producer.id };
      await this.#worker.call('observe', Promise.all([speakers.addProducer(options), levels.addProducer(options)]));
    } catch (error) {
      if (!producer.closed && !router.closed) this.#log.warn({ err: error }, 'could not observe active speaker');
    }
  }

  close(): void {
    this.#activeSpeakerFilter.close();
  }

  async #create(router: Router): Promise<Observers> {
    const created = Promise.all([
      router.createActiveSpeakerObserver({ interval }),
      router.createAudioLevelObserver({ interval, threshold, maxEntries: 8 }),
    ]);
    const [speakers, levels] = await this.#worker.call('observe', created);
    speakers.on('dominantspeaker', ({ producer }) => {
      const peerId = this.#peers.get(producer.id);
      if (peerId !== undefined) this.#activeSpeakerFilter.dominates(peerId);
    });
    levels.on('volumes', (volumes) => {
      const audible = volumes.flatMap(({ producer, volume: level }) => {
        const peerId = this.#peers.get(producer.id);
        return peerId === undefined ? [] : { peerId, level };
      });
      this.#activeSpeakerFilter.hears(audible.map(({ peerId }) => peerId));
      this.#onLevels(audible);
    });
    levels.on('silence', () => {
      this.#activeSpeakerFilter.silence();
      this.#onLevels([]);
    });
    return { speakers, levels };
  }

  #remove(producerId: string): void {
    const peerId = this.#peers.get(producerId);
    this.#peers.delete(producerId);
    if (peerId !== undefined && ![...this.#peers.values()].includes(peerId)) this.#activeSpeakerFilter.left(peerId);
  }
}
