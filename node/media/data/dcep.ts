// DCEP (RFC 8832): the messages that open a data channel.

/** Payload protocol identifiers of SCTP (RFC 8831, section 8). */
export const payloadProtocol = { dcep: 50, binary: 53 } as const;

const openType = 3;
const openHeaderBytes = 12;
/** Reliable and in order; partially reliable without retransmissions, and out of order. */
const reliableType = 0x00;
const unreliableType = 0x81;
const maxLabelBytes = 64;

export const ackMessage = Buffer.of(2);

export function openMessage(label: string, reliable: boolean): Buffer {
  const text = Buffer.from(label);
  const header = Buffer.alloc(openHeaderBytes);
  header[0] = openType;
  header[1] = reliable ? reliableType : unreliableType;
  header.writeUInt16BE(text.length, 8);
  return Buffer.concat([header, text]);
}

/** The label of a channel that a client opens; undefined for other or invalid messages. */
export function readOpen(message: Buffer): string | undefined {
  if (message[0] !== openType || message.length < openHeaderBytes) return undefined;
  const length = message.readUInt16BE(8);
  if (length > maxLabelBytes || message.length < openHeaderBytes + length) return undefined;
  return message.toString('utf8', openHeaderBytes, openHeaderBytes + length);
}
