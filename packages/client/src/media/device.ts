// The device: what this environment can encode and decode, made once per set of the room's capabilities.
import { Device, detectDevice, type types } from 'mediasoup-client';
import { Chrome74 } from 'mediasoup-client/handlers/Chrome74';
import { Chrome111 } from 'mediasoup-client/handlers/Chrome111';
import { Firefox120 } from 'mediasoup-client/handlers/Firefox120';
import { ReactNative106 } from 'mediasoup-client/handlers/ReactNative106';
import { Safari12 } from 'mediasoup-client/handlers/Safari12';
import type { WireObject } from '../protocol.ts';

const handlers = { Chrome111, Chrome74, Firefox120, Safari12, ReactNative106 } as const;
type NativeCapabilities = ReturnType<types.HandlerFactory['getNativeRtpCapabilities']>;

/** WebRTC as it is here: by the handler given, else by what the browser is known to be; undefined where there is none. */
function findHandler(given: types.HandlerFactory | undefined): types.HandlerFactory | undefined {
  if (given) return given;
  const name = typeof RTCPeerConnection === 'function' ? detectDevice() : undefined;
  return name && handlers[name].createFactory({});
}

/** Loads devices; one that fits is used again. */
export class DeviceCache {
  readonly #handlerFactory: types.HandlerFactory | undefined;
  #known: { capabilities: string; device: Promise<Device> } | undefined;

  constructor(handlerFactory: types.HandlerFactory | undefined) {
    const handler = findHandler(handlerFactory);
    this.#handlerFactory = handler && remembering(handler);
  }

  /** Whether media is possible here. */
  get supported(): boolean {
    return this.#handlerFactory !== undefined;
  }

  /** Asks the browser what it can do while the server is not known yet: that takes as long as a connection. */
  warmUp(): void {
    for (const direction of ['recvonly', 'sendonly'] as const)
      this.#handlerFactory?.getNativeRtpCapabilities({ direction }).catch(() => {});
  }

  load(rtpCapabilities: WireObject): Promise<Device> {
    const capabilities = JSON.stringify(rtpCapabilities);
    if (this.#known?.capabilities !== capabilities) this.#known = { capabilities, device: this.#make(rtpCapabilities) };
    return this.#known.device;
  }

  async #make(rtpCapabilities: WireObject): Promise<Device> {
    const device = new Device(this.#handlerFactory ? { handlerFactory: this.#handlerFactory } : {});
    // mediasoup-client checks the shape itself.
    await device.load({ routerRtpCapabilities: rtpCapabilities as unknown as types.RtpCapabilities });
    return device;
  }
}

/** The same handler, asked for its capabilities once per direction. */
function remembering(handler: types.HandlerFactory): types.HandlerFactory {
  const known = new Map<string, NativeCapabilities>();
  return {
    ...handler,
    getNativeRtpCapabilities: (options) => {
      const capabilities = known.get(options.direction) ?? handler.getNativeRtpCapabilities(options);
      known.set(options.direction, capabilities);
      capabilities.catch(() => known.delete(options.direction));
      return capabilities;
    },
  };
}
