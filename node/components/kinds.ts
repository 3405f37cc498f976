// The kinds of components of this node: which may be used, and who runs them.
import { ServiceError } from '../errors.ts';
import type { Log } from '../log.ts';
import type { ComponentKinds, PreparedComponent } from '../rooms/ports.ts';
import type { RenderArchive } from '../rooms/renders.ts';
import type { ComponentOptions } from '../rooms/room-config.ts';
import type { ComponentType } from '../rooms/views.ts';
import type { Uploads } from '../storage/upload.ts';
import { Admission, type Machine } from './av/admission.ts';
import { isAvInstalled } from './av/installed.ts';
import { prepareFile } from './file/prepare.ts';
import { prepareHls } from './hls/prepare.ts';
import { Streams } from './hls/streams.ts';
import { prepareRecording } from './recording/prepare.ts';
import { Recordings } from './recording/recordings.ts';
import { Renders } from './render/renders.ts';
import { prepareSip } from './sip/prepare.ts';
import { type SipPlace, Telephones } from './sip/telephones.ts';

/** They decode and encode. */
const needAv: ReadonlySet<ComponentType> = new Set(['hls', 'sip']);

export type KindsOptions = {
  /** Kinds that may be added now. */
  used: () => readonly ComponentType[];
  /** Absolute path of the resources directory. */
  resources: string;
  log: Log;
  /** Name of this node. */
  node: () => string;
  uploads: Uploads;
  /** Recordings that no node has any more; without it there are none. */
  archive?: RenderArchive | undefined;
  /** Milliseconds after which recordings go; null = unset. */
  recordingTimeToLive: () => number | null;
  /** How much of it components may use, and how busy it is. */
  machine: () => Machine;
  /** Where telephones are reached. */
  sip: () => SipPlace;
};

export class Kinds implements ComponentKinds {
  readonly #options: KindsOptions;
  readonly #telephones: Telephones;
  readonly recordings: Recordings;
  readonly streams: Streams;
  readonly renders: Renders;

  constructor(options: KindsOptions) {
    this.#options = options;
    const { log, resources, node, uploads, recordingTimeToLive: timeToLive } = options;
    const admission = new Admission(options.machine);
    const isUsed = (id: string) => this.renders.isAt(id);
    this.recordings = new Recordings({ log, resources, node, uploads, timeToLive, isUsed });
    this.streams = new Streams({ log, resources, node, uploads, admission });
    this.#telephones = new Telephones({ place: options.sip, admission });
    this.renders = new Renders({
      log,
      resources,
      node,
      uploads,
      archive: options.archive,
      isRunning: (id) => this.recordings.isRunning(id),
      admission,
    });
  }

  async prepare({ type, options }: ComponentOptions, room: Parameters<ComponentKinds['prepare']>[1]): Promise<PreparedComponent> {
    if (!this.#options.used().includes(type)) {
      throw new ServiceError('bad_request', `Components of type ${type} are disabled on this node`);
    }
    if (needAv.has(type) && !isAvInstalled()) {
      const sentence = `Components of type ${type} need the optional dependency node-av, which is not installed on this node`;
      throw new ServiceError('bad_request', sentence);
    }
    if (type === 'recording') return prepareRecording(options ?? {}, this.recordings, this.#options.uploads);
    if (type === 'hls') return prepareHls(options ?? {}, room.roomId, this.streams);
    if (type === 'sip') return prepareSip(options ?? {}, this.#telephones);
    return prepareFile(options ?? {}, { resources: this.#options.resources, ...room });
  }

  /** Once the node listens: finishes what earlier processes left. */
  async start(): Promise<void> {
    await Promise.all([this.recordings.start(), this.streams.start(), this.renders.start()]);
  }

  /** After all rooms have ended: resolves when nothing of their components is left. */
  async close(): Promise<void> {
    await Promise.all([this.recordings.close(), this.streams.close(), this.#telephones.close(), this.renders.close()]);
  }
}
