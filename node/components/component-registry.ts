// Component registry of a node: the available component types, and the specs that create them.

import type { ComponentOptions } from '../../api/component/component.ts';
import type { ComponentType } from '../../api/component/types.ts';
import { ServiceError } from '../../api/errors.ts';
import type { Log } from '../common/log.ts';
import type { ComponentFactory, ComponentSpec } from '../rooms/interfaces.ts';
import type { RenderSource } from '../rooms/services/renders.ts';
import type { Uploads } from '../storage/upload.ts';
import { createFileSpec } from './file/file-component.ts';
import { createHlsSpec } from './hls/hls-component.ts';
import { HlsStreams } from './hls/hls-streams.ts';
import { Admission, type CpuBudget } from './process/admission.ts';
import { isFfmpegAvailable } from './process/installed.ts';
import { createRecordingSpec } from './recording/recording-component.ts';
import { Recordings } from './recording/recordings.ts';
import { RenderQueue } from './render/render-queue.ts';
import { createSipSpec } from './sip/sip-component.ts';
import { type SipNetworkConfig, SipUserAgents } from './sip/sip-user-agents.ts';

type RoomOfComponent = Parameters<ComponentFactory['createSpec']>[1];
type SpecFactory = {
  /** Decodes and encodes. */
  needsAv?: true;
  create(options: unknown, room: RoomOfComponent): ComponentSpec | Promise<ComponentSpec>;
};

export type ComponentRegistryOptions = {
  /** Component types that are enabled. */
  used: () => readonly ComponentType[];
  /** Absolute path of the resources directory. */
  resources: string;
  log: Log;
  /** Name of this node. */
  node: string;
  uploads: Uploads;
  /** Recordings that exist only in S3; undefined without S3. */
  archive?: RenderSource | undefined;
  /** TTL of recordings in milliseconds; null if unset. */
  recordingTimeToLive: () => number | null;
  /** CPU budget of components, and current load. */
  machine: () => CpuBudget;
  /** Network settings of SIP. */
  sip: () => SipNetworkConfig;
};

export class ComponentRegistry implements ComponentFactory {
  readonly #options: ComponentRegistryOptions;
  readonly #sipUserAgents: SipUserAgents;
  readonly recordings: Recordings;
  readonly streams: HlsStreams;
  readonly renders: RenderQueue;
  readonly #factories: Record<ComponentType, SpecFactory>;

  constructor(options: ComponentRegistryOptions) {
    this.#options = options;
    const { log, resources, node, uploads, recordingTimeToLive: timeToLive } = options;
    const admission = new Admission(options.machine);
    const isUsed = (id: string) => this.renders.isAt(id);
    this.recordings = new Recordings({ log, resources, node, uploads, timeToLive, isUsed });
    this.streams = new HlsStreams({ log, resources, node, uploads, admission });
    this.#sipUserAgents = new SipUserAgents({ place: options.sip, admission });
    this.renders = new RenderQueue({
      log,
      resources,
      node,
      uploads,
      archive: options.archive,
      isRunning: (id) => this.recordings.isRunning(id),
      admission,
    });
    this.#factories = {
      hls: { needsAv: true, create: (given, room) => createHlsSpec(given, room, this.streams) },
      recording: { create: (given) => createRecordingSpec(given, this.recordings, uploads) },
      sip: { needsAv: true, create: (given) => createSipSpec(given, this.#sipUserAgents) },
      file: { create: (given, room) => createFileSpec(given, { resources, ...room }) },
    };
  }

  async createSpec({ type, options }: ComponentOptions, room: RoomOfComponent): Promise<ComponentSpec> {
    if (!this.#options.used().includes(type)) {
      throw new ServiceError('bad_request', `Components of type ${type} are disabled on this node`);
    }
    const { needsAv, create } = this.#factories[type];
    if (needsAv && !isFfmpegAvailable()) {
      const message = `Components of type ${type} require the optional dependency node-av, which is not installed on this node`;
      throw new ServiceError('bad_request', message);
    }
    return create(options ?? {}, room);
  }

  /** Call when the node listens: recovers the work of earlier processes. */
  async start(): Promise<void> {
    await Promise.all([this.recordings.start(), this.streams.start(), this.renders.start()]);
  }

  /** After all rooms have ended: resolves when all components are closed. */
  async close(): Promise<void> {
    await Promise.all([this.recordings.close(), this.streams.close(), this.#sipUserAgents.close(), this.renders.close()]);
  }
}
