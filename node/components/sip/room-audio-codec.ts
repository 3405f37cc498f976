// Codec of call audio in a room: Opus. The node announces it to the room; the component process sends it.

export const roomAudioCodec = { mimeType: 'audio/opus', payloadType: 100, clockRate: 48_000, channels: 2 } as const;
