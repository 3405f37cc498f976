// Internal audio format: mono blocks of 20 ms at 48 kHz, from -1 to 1.

export const sampleRate = 48_000;
export const samplesPerMillisecond = 48;
/** Milliseconds of a block, and of a packet. */
export const frameDuration = 20;
export const frameSamples = frameDuration * samplesPerMillisecond;
