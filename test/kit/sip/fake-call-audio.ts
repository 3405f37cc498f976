// Fake call audio without media: binds a port for each call, and records negotiated media and packets. It passes the contract test.
import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import type { CallAudio, CallSession, NegotiatedMedia, SessionListener } from '../../../node/components/sip/audio/session.ts';

const packetInterval = 20;

export class FakeCallAudio implements CallAudio {
  readonly sessions: FakeCallSession[] = [];
  /** True if no port is free. */
  full = false;

  async open(_callId: string, listener: SessionListener): Promise<FakeCallSession> {
    if (this.full) throw new Error('no port is free');
    const socket = createSocket('udp4');
    socket.bind(0, '127.0.0.1');
    await once(socket, 'listening');
    const session = new FakeCallSession(socket, listener);
    this.sessions.push(session);
    return session;
  }

  get last(): FakeCallSession {
    const session = this.sessions.at(-1);
    if (!session) throw new Error('no call is open');
    return session;
  }
}

class FakeCallSession implements CallSession {
  readonly listener: SessionListener;
  readonly agreed: NegotiatedMedia[] = [];
  readonly digits: string[] = [];
  readonly ssrc = 1;
  packets = 0;
  closed = false;
  readonly #socket: Socket;
  #pump: NodeJS.Timeout | undefined;

  constructor(socket: Socket, listener: SessionListener) {
    this.#socket = socket;
    this.listener = listener;
    socket.on('message', () => {
      this.packets += 1;
    });
  }

  get port(): number {
    return this.#socket.address().port;
  }

  applyNegotiation(negotiatedMedia: NegotiatedMedia): void {
    if (this.closed) throw new Error('the session is closed');
    this.agreed.push(negotiatedMedia);
    clearInterval(this.#pump);
    const sends = negotiatedMedia.direction === 'sendrecv' || negotiatedMedia.direction === 'sendonly';
    const packet = Buffer.alloc(172, 0xd5);
    packet[0] = 0x80;
    packet[1] = negotiatedMedia.payloadType;
    if (sends)
      this.#pump = setInterval(
        () => this.#socket.send(packet, negotiatedMedia.remote.port, negotiatedMedia.remote.ip, () => {}),
        packetInterval,
      );
  }

  async sendDigits(digits: string): Promise<void> {
    if (this.agreed.at(-1)?.dtmfPayloadType === undefined) throw new Error('no telephone-event');
    this.digits.push(digits);
  }

  async close(): Promise<void> {
    if (this.closed) return;
    this.closed = true;
    clearInterval(this.#pump);
    this.#socket.close();
  }
}
