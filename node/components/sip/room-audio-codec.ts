// How the voices of calls come into a room: Opus, told to the room by the node and sent by the process of the component.

export const roomAudioCodec = { mimeType: 'audio/opus', payloadType: 100, clockRate: 48_000, channels: 2 } as const;
