// Channel layout of composed audio.
import { AV_CHANNEL_ORDER_NATIVE } from 'node-av/constants';

/** Left and right channel. */
export const stereo = { nbChannels: 2, order: AV_CHANNEL_ORDER_NATIVE, mask: 3n } as const;
export const mono = { nbChannels: 1, order: AV_CHANNEL_ORDER_NATIVE, mask: 4n } as const;
export const sampleRate = 48_000;
