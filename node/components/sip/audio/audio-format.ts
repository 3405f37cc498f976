// How sound is laid out inside: blocks of 20 ms at 48 kHz, one channel, from -1 to 1.

export const sampleRate = 48_000;
export const samplesPerMillisecond = 48;
/** Milliseconds of one block, and of one packet. */
export const frameDuration = 20;
export const frameSamples = frameDuration * samplesPerMillisecond;
