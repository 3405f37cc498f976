// Limits of the IPC between a node and a component process.

/** Maximum bytes of a message as JSON. */
export const maxMessageBytes = 256 * 1024;
/** Maximum of messages that wait to be read. */
export const maxWaitingMessages = 1000;
/** Milliseconds between two heartbeats. */
export const heartbeatInterval = 1000;
