// Session description handler of one call for SIP.js: creates and answers offers, and passes results to the audio of the call.
import { randomBytes, randomInt } from 'node:crypto';
import type { BodyAndContentType, SessionDescriptionHandler } from 'sip.js';
import type { CallSession, NegotiatedMedia } from '../audio/session.ts';
import { applyAnswer, createAnswer, createOffer, type LocalMediaDescription } from '../sdp/offer-answer.ts';

const contentType = 'application/sdp';

export class CallDescription implements SessionDescriptionHandler {
  readonly #audio: CallSession;
  readonly #local: LocalMediaDescription;
  #agreed: NegotiatedMedia | undefined;
  /** True if an offer was sent and not answered. */
  #offering = false;
  /** Answer to the remote offer, until SIP.js fetches it. */
  #answer: string | undefined;

  constructor(audio: CallSession, ip: string) {
    this.#audio = audio;
    const key = randomBytes(30).toString('base64');
    this.#local = { ip, port: audio.port, sessionId: randomInt(1, 2 ** 31), version: 0, direction: 'sendrecv', key };
  }

  /** Checks that an offer can be answered. @throws SdpNegotiationError */
  check(offer: string): void {
    createAnswer(offer, this.#local);
  }

  async getDescription(): Promise<BodyAndContentType> {
    const answer = this.#answer;
    this.#answer = undefined;
    if (answer !== undefined) return { body: answer, contentType };
    this.#offering = true;
    this.#local.version += 1;
    return { body: createOffer(this.#local, this.#agreed), contentType };
  }

  async setDescription(sdp: string): Promise<void> {
    if (this.#offering) {
      this.#take(applyAnswer(sdp, this.#local, this.#agreed));
      this.#offering = false;
      return;
    }
    this.#local.version += 1;
    const { agreed, answer } = createAnswer(sdp, this.#local, this.#agreed);
    this.#answer = answer;
    this.#take(agreed);
  }

  /** The previous agreement stays valid. */
  async rollbackDescription(): Promise<void> {
    this.#offering = false;
    this.#answer = undefined;
  }

  hasDescription(type: string): boolean {
    return type.split(';')[0]?.trim().toLowerCase() === contentType;
  }

  /** Required by SIP.js; the call sends digits itself. */
  sendDtmf(): boolean {
    return false;
  }

  /** The call ends its audio, because it must know when the port is free. */
  close(): void {}

  #take(negotiatedMedia: NegotiatedMedia): void {
    this.#agreed = negotiatedMedia;
    this.#audio.applyNegotiation(negotiatedMedia);
  }
}
