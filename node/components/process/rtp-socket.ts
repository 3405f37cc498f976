// RTP socket of a component process: receives all its tracks from the node on one port, requests key frames, and may send RTP itself.
import { randomInt } from 'node:crypto';
import { createSocket } from 'node:dgram';
import { isRtcp, parsePictureLosses, parseRtp, parseSenderReports, pictureLossIndication, type RtpPacket } from '../rtp/rtp-reader.ts';

export type RtpSocketOptions = {
  onRtp: (packet: RtpPacket) => void;
  /** From an RTCP sender report; `time` in milliseconds since 1970. */
  onSenderReport: (ssrc: number, timestamp: number, time: number) => void;
  /** A key frame of RTP that it sends is requested. */
  onPictureLoss?: (ssrc: number) => void;
};

const loopback = '127.0.0.1';
/** Milliseconds between two requests for a key frame of a track. */
const keyInterval = 500;
/** Bytes of the receive buffer that is requested from the kernel, which may grant less. */
const receiveBuffer = 4 * 1024 * 1024;

export class RtpSocket {
  readonly #socket = createSocket({ type: 'udp4', recvBufferSize: receiveBuffer });
  readonly #ownSsrc = randomInt(1, 2 ** 32);
  /** When a key frame was last requested, by SSRC; the oldest first. */
  readonly #requested = new Map<number, number>();
  #feedbackTo: { ip: string; port: number } | undefined;

  constructor({ onRtp, onSenderReport, onPictureLoss }: RtpSocketOptions) {
    this.#socket.on('message', (packet) => {
      if (isRtcp(packet)) {
        for (const { ssrc, timestamp, time } of parseSenderReports(packet)) onSenderReport(ssrc, timestamp, time);
        if (onPictureLoss) for (const ssrc of parsePictureLosses(packet)) onPictureLoss(ssrc);
        return;
      }
      const rtp = parseRtp(packet);
      if (rtp) onRtp(rtp);
    });
  }

  /** @returns its port of loopback */
  async listen(): Promise<number> {
    await new Promise<void>((resolve) => this.#socket.bind(0, loopback, resolve));
    return this.#socket.address().port;
  }

  /** Destination of RTCP feedback. */
  connect(address: { ip: string; port: number }): void {
    this.#feedbackTo = address;
  }

  /** UDP may lose it: errors are ignored. */
  send(packet: Buffer, { ip, port }: { ip: string; port: number }): void {
    this.#socket.send(packet, port, ip, () => {});
  }

  requestKeyFrame(ssrc: number): void {
    const now = performance.now();
    if (!this.#feedbackTo || now - (this.#requested.get(ssrc) ?? Number.NEGATIVE_INFINITY) < keyInterval) return;
    this.#requested.delete(ssrc);
    this.#requested.set(ssrc, now);
    for (const [each, at] of this.#requested) {
      if (now - at < keyInterval) break;
      this.#requested.delete(each);
    }
    this.#socket.send(pictureLossIndication(this.#ownSsrc, ssrc), this.#feedbackTo.port, this.#feedbackTo.ip);
  }
}
