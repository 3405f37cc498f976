// Device: encoding and decoding capabilities of this environment, loaded once per set of router capabilities.
import { Device, detectDevice, type types } from 'mediasoup-client';
import { Chrome74 } from 'mediasoup-client/handlers/Chrome74';
import { Chrome111 } from 'mediasoup-client/handlers/Chrome111';
import { Firefox120 } from 'mediasoup-client/handlers/Firefox120';
import { ReactNative106 } from 'mediasoup-client/handlers/ReactNative106';
import { Safari12 } from 'mediasoup-client/handlers/Safari12';
import type { RtpCapabilities } from '../generated/protocol.ts';

const handlers = { Chrome111, Chrome74, Firefox120, Safari12, ReactNative106 } as const;
type NativeCapabilities = ReturnType<types.HandlerFactory['getNativeRtpCapabilities']>;

/** The WebRTC handler: the given one, else by browser detection; undefined if there is none. */
function findHandler(given: types.HandlerFactory | undefined): types.HandlerFactory | undefined {
  if (given) return given;
  const name = typeof RTCPeerConnection === 'function' ? detectDevice() : undefined;
  return name && handlers[name].createFactory({});
}

/** Loads devices and reuses the last one if the capabilities are equal. */
export class DeviceCache {
  readonly #handlerFactory: types.HandlerFactory | undefined;
  #known: { capabilities: string; device: Promise<Device> } | undefined;

  constructor(handlerFactory: types.HandlerFactory | undefined) {
    const handler = findHandler(handlerFactory);
    this.#handlerFactory = handler && remembering(handler);
  }

  /** True if media is supported. */
  get supported(): boolean {
    return this.#handlerFactory !== undefined;
  }

  /** Queries the browser's capabilities during connection setup, because that takes as long as connecting. */
  warmUp(): void {
    for (const direction of ['recvonly', 'sendonly'] as const)
      this.#handlerFactory?.getNativeRtpCapabilities({ direction }).catch(() => {});
  }

  load(rtpCapabilities: RtpCapabilities): Promise<Device> {
    const capabilities = JSON.stringify(rtpCapabilities);
    if (this.#known?.capabilities !== capabilities) this.#known = { capabilities, device: this.#make(rtpCapabilities) };
    return this.#known.device;
  }

  async #make(rtpCapabilities: RtpCapabilities): Promise<Device> {
    const device = new Device(this.#handlerFactory ? { handlerFactory: this.#handlerFactory } : {});
    // mediasoup-client validates the shape.
    await device.load({ routerRtpCapabilities: rtpCapabilities as types.RtpCapabilities });
    return device;
  }
}

/** Caches the capabilities of a handler per direction. */
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
