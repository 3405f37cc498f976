// Active speaker observer: watches audio levels of a leg, to report them and to find the active speaker.
import type { ActiveSpeakerObserver, AudioLevelObserver, Producer, Router } from 'mediasoup/types';
import type { Log } from '../common/log.ts';
import type { Leg } from './legs/leg.ts';
import { type LegSpeakers, maxLevels } from './legs/leg-speakers.ts';

/** Interval between two measurements of the audio levels, in milliseconds. */
const interval = 300;
/** Loudness in dBov (RFC 6464) below which audio counts as silence. */
const threshold = -60;

type Observers = { speakers: ActiveSpeakerObserver; levels: AudioLevelObserver };

/** Allocates nothing until the first audio track. */
export class LegAudioObserver {
  readonly #leg: Leg;
  readonly #log: Log;
  readonly #speakers: LegSpeakers;
  readonly #peers = new Map<string, string>();
  #observers: Promise<Observers> | undefined;

  constructor(leg: Leg, log: Log, speakers: LegSpeakers) {
    this.#leg = leg;
    this.#log = log;
    this.#speakers = speakers;
  }

  /** Observes an audio track until it closes. Never fails: on error the room only has no active speaker. */
  async add(router: Router, producer: Producer, peerId: string): Promise<void> {
    this.#peers.set(producer.id, peerId);
    this.#speakers.joined(this.#leg, peerId);
    producer.observer.once('close', () => this.#remove(producer.id));
    try {
      this.#observers ??= this.#create(router);
      const { speakers, levels } = await this.#observers;
      const options = { producerId: producer.id };
      await this.#leg.worker.call('observe', Promise.all([speakers.addProducer(options), levels.addProducer(options)]));
    } catch (error) {
      if (!producer.closed && !router.closed) this.#log.warn({ err: error }, 'could not observe active speaker');
    }
  }

  async #create(router: Router): Promise<Observers> {
    const created = Promise.all([
      router.createActiveSpeakerObserver({ interval }),
      router.createAudioLevelObserver({ interval, threshold, maxEntries: maxLevels }),
    ]);
    const [speakers, levels] = await this.#leg.worker.call('observe', created);
    speakers.on('dominantspeaker', ({ producer }) => {
      const peerId = this.#peers.get(producer.id);
      if (peerId !== undefined) this.#speakers.dominates(this.#leg, peerId);
    });
    levels.on('volumes', (volumes) => {
      const audible = volumes.flatMap(({ producer, volume: level }) => {
        const peerId = this.#peers.get(producer.id);
        return peerId === undefined ? [] : { peerId, level };
      });
      this.#speakers.hears(this.#leg, audible);
    });
    levels.on('silence', () => this.#speakers.hears(this.#leg, []));
    return { speakers, levels };
  }

  #remove(producerId: string): void {
    const peerId = this.#peers.get(producerId);
    this.#peers.delete(producerId);
    if (peerId !== undefined && ![...this.#peers.values()].includes(peerId)) this.#speakers.left(this.#leg, peerId);
  }
}
