// Bounds of what a node and an av process say to each other.

/** Bytes of a message as JSON. */
export const maxMessageBytes = 256 * 1024;
/** Messages that wait for the other side to read them. */
export const maxWaitingMessages = 1000;
/** Milliseconds between two signs of life. */
export const heartbeatInterval = 1000;
