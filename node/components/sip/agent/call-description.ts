// The descriptions of one call as SIP.js asks for them: offers made and answered, each result handed to the call's sound.
import { randomBytes, randomInt } from 'node:crypto';
import type { BodyAndContentType, SessionDescriptionHandler } from 'sip.js';
import type { CallSession, NegotiatedMedia } from '../audio/session.ts';
import { applyAnswer, createAnswer, createOffer, type LocalMediaDescription } from '../sdp/offer-answer.ts';

const contentType = 'application/sdp';

export class CallDescription implements SessionDescriptionHandler {
  readonly #sound: CallSession;
  readonly #local: LocalMediaDescription;
  #agreed: NegotiatedMedia | undefined;
  /** Our offer is out, its answer is not here. */
  #offering = false;
  /** The answer to their offer, until it is fetched. */
  #answer: string | undefined;

  constructor(sound: CallSession, ip: string) {
    this.#sound = sound;
    const key = randomBytes(30).toString('base64');
    this.#local = { ip, port: sound.port, sessionId: randomInt(1, 2 ** 31), version: 0, direction: 'sendrecv', key };
  }

  /** Whether an offer could be answered. @throws SdpNegotiationError */
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

  /** What was agreed before stays in force. */
  async rollbackDescription(): Promise<void> {
    this.#offering = false;
    this.#answer = undefined;
  }

  hasDescription(type: string): boolean {
    return type.split(';')[0]?.trim().toLowerCase() === contentType;
  }

  /** Of SIP.js; digits go out by the call. */
  sendDtmf(): boolean {
    return false;
  }

  /** The call itself ends its sound: it knows when the port is free. */
  close(): void {}

  #take(negotiatedMedia: NegotiatedMedia): void {
    this.#agreed = negotiatedMedia;
    this.#sound.applyNegotiation(negotiatedMedia);
  }
}
