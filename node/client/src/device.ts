// The device: what this environment can encode and decode, made once per set of the room's capabilities.
import { Device, detectDevice, type types } from 'mediasoup-client';
import type { RoomClientOptions } from './options.ts';
import type { WireObject } from './protocol.ts';

/** Whether there is WebRTC here, by itself or by a handler given. */
export function hasWebRtc(options: Pick<RoomClientOptions, 'handlerFactory'>): boolean {
  return options.handlerFactory !== undefined || (typeof RTCPeerConnection === 'function' && detectDevice() !== undefined);
}

/** Loads devices; one that fits is used again. */
export class Devices {
  readonly #handlerFactory: types.HandlerFactory | undefined;
  #known: { capabilities: string; device: Promise<Device> } | undefined;

  constructor(handlerFactory: types.HandlerFactory | undefined) {
    this.#handlerFactory = handlerFactory;
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
