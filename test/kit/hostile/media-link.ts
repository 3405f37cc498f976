// Remote end of one transport of a peer: ICE by hand over one UDP socket, DTLS by werift, and arbitrary bytes inside.
import { createHash } from 'node:crypto';
import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import {
  ProtectionProfileAes128CmHmacSha1_80 as aes128Sha1,
  CipherContext,
  DtlsClient,
  HashAlgorithm,
  isRtcp,
  keyLength,
  NamedCurveAlgorithm,
  SignatureAlgorithm,
  SrtcpSession,
  type SrtpProfile,
  SrtpSession,
  saltLength,
} from 'werift';
import type { PeerSocket } from '../network/peer-socket.ts';
import { bindingRequest } from '../network/stun.ts';
import { SrtpContext } from './srtp-context.ts';

type IceCandidate = { protocol: string; address: string; port: number };
type TransportAnswer = { id: string; iceParameters: { usernameFragment: string; password: string }; iceCandidates: IceCandidate[] };
type Certificate = { certPem: string; keyPem: string; signatureHash: { hash: number; signature: number } };

/** Timeout for ICE and DTLS together, in milliseconds. */
const timeoutMs = 20_000;
const checkInterval = 200;
const consentInterval = 4_000;
const silenceTimeoutMs = 2_000;
const handshakeMessages = 8;

let certificate: Promise<Certificate> | undefined;

export class MediaLink {
  readonly id: string;
  readonly candidate: IceCandidate;
  /** Authentic messages received inside DTLS, for example SCTP packets. */
  onMessage: (message: Buffer) => void = () => {};
  /** DTLS packets sent by this side, the handshake first. */
  readonly sentDtls: Buffer[] = [];
  /** Received SRTP and SRTCP packets, unchanged. */
  onPacket: (packet: Buffer) => void = () => {};
  readonly #socket: Socket;
  readonly #answer: TransportAnswer;
  readonly #dtls: DtlsClient;
  readonly #profile: SrtpProfile;
  #srtp: SrtpContext | undefined;
  #received: { rtp: SrtpSession; rtcp: SrtcpSession } | undefined;
  #timer: NodeJS.Timeout | undefined;

  private constructor(answer: TransportAnswer, candidate: IceCandidate, socket: Socket, certificate: Certificate, profile: SrtpProfile) {
    const { certPem, keyPem, signatureHash } = certificate;
    this.#profile = profile;
    this.id = answer.id;
    this.candidate = candidate;
    this.#answer = answer;
    this.#socket = socket;
    const inner = {
      onData: (_message: Buffer, _from: [string, number]) => {},
      send: async (message: Buffer) => {
        if (this.sentDtls.length < handshakeMessages) this.sentDtls.push(message);
        this.send(message);
      },
      close: async () => {},
      type: 'udp',
      closed: false,
      address: { address: candidate.address, port: candidate.port, family: 'IPv4' },
    };
    socket.on('error', () => {});
    socket.on('message', (message) => {
      const first = message[0] ?? 0;
      if (first >= 20 && first <= 63) inner.onData(message, [candidate.address, candidate.port]);
      else if (first > 63) this.onPacket(message);
    });
    this.#dtls = new DtlsClient({
      cert: certPem,
      key: keyPem,
      signatureHash,
      transport: inner,
      srtpProfiles: [profile],
      extendedMasterSecret: true,
    } as ConstructorParameters<typeof DtlsClient>[0]);
    this.#dtls.onData.subscribe((message) => this.onMessage(message));
  }

  /** Creates a transport of the peer and connects it. Rejects if that fails, or takes longer than 20 s. Only AES128_CM can send RTP. */
  static async open(peer: PeerSocket, direction: 'send' | 'recv', sctp = false, profile: SrtpProfile = aes128Sha1): Promise<MediaLink> {
    certificate ??= selfSigned();
    const keys = await certificate;
    const created = await peer.request('createTransport', { direction, sctp });
    if (!created.ok) throw new Error(`no transport: ${JSON.stringify(created.error)}`);
    const answer = created.data as unknown as TransportAnswer;
    const candidate = answer.iceCandidates.find(({ protocol }) => protocol === 'udp');
    if (!candidate) throw new Error('the transport has no UDP candidate');
    const socket = createSocket('udp4');
    socket.bind(0, '127.0.0.1');
    await once(socket, 'listening');
    // The kernel's default buffer would drop packets before the DTLS keys exist only under a flood.
    socket.setRecvBufferSize(4 * 1024 * 1024);
    const link = new MediaLink(answer, candidate, socket, keys, profile);
    try {
      await link.#connect(peer, keys);
    } catch (error) {
      link.close();
      throw error;
    }
    return link;
  }

  /** Sends bytes unchanged. */
  send(bytes: Buffer): void {
    this.#socket.send(bytes, this.candidate.port, this.candidate.address);
  }

  /** Sends bytes as an authentic RTP packet. `rolloverCounter`: number of wraps of its source's sequence numbers. */
  sendRtp(packet: Buffer, rolloverCounter = 0): void {
    this.send(this.#context().protectRtp(packet, rolloverCounter));
  }

  /** Sends bytes as an authentic RTCP packet. */
  sendRtcp(packet: Buffer): void {
    this.send(this.#context().protectRtcp(packet));
  }

  /** A received RTP or RTCP packet without encryption. Throws if it is not authentic. */
  decrypt(packet: Buffer): Buffer {
    if (!this.#received) throw new Error('the link is not connected');
    return isRtcp(packet) ? this.#received.rtcp.decrypt(packet) : this.#received.rtp.decrypt(packet);
  }

  /** Sends bytes inside DTLS. */
  async sendMessage(message: Buffer): Promise<void> {
    await this.#dtls.send(message);
  }

  /** Resolves with true when the worker has processed everything sent before; with false if it does not respond for 2 s. */
  async taken(): Promise<boolean> {
    const answered = Promise.withResolvers<boolean>();
    const onMessage = (message: Buffer) => (message[0] ?? 2) < 2 && answered.resolve(true);
    this.#socket.on('message', onMessage);
    const ask = () => this.send(this.bindingRequest());
    const asking = setInterval(ask, checkInterval);
    const silence = setTimeout(() => answered.resolve(false), silenceTimeoutMs);
    ask();
    try {
      return await answered.promise;
    } finally {
      clearInterval(asking);
      clearTimeout(silence);
      this.#socket.off('message', onMessage);
    }
  }

  /** A binding request that the worker accepts for this transport (RFC 8445, section 7.2.2), with optional further attributes. */
  bindingRequest(more: readonly Buffer[] = []): Buffer {
    return bindingRequest(this.#answer.iceParameters, more);
  }

  close(): void {
    clearInterval(this.#timer);
    this.#socket.close();
  }

  async #connect(peer: PeerSocket, { certPem }: Certificate): Promise<void> {
    const deadline = AbortSignal.timeout(timeoutMs);
    const check = () => this.send(this.bindingRequest());
    const checks = setInterval(check, checkInterval);
    try {
      check();
      await once(this.#socket, 'message', { signal: deadline });
    } finally {
      clearInterval(checks);
    }
    this.#timer = setInterval(check, consentInterval);
    const connected = Promise.withResolvers<void>();
    this.#dtls.onConnect.once(() => connected.resolve());
    this.#dtls.onError.once((error) => connected.reject(error));
    deadline.addEventListener('abort', () => connected.reject(new Error(`no DTLS within ${timeoutMs} ms`)), { once: true });
    const dtlsParameters = { role: 'client', fingerprints: [{ algorithm: 'sha-256', value: fingerprintOf(certPem) }] };
    const answered = await peer.request('connectTransport', { transportId: this.id, dtlsParameters });
    if (!answered.ok) throw new Error(`not connected: ${JSON.stringify(answered.error)}`);
    await this.#dtls.connect();
    await connected.promise;
    const profile = this.#profile;
    const keys = this.#dtls.extractSessionKeys(keyLength(profile), saltLength(profile));
    const [local, remote] = [
      { localMasterKey: Buffer.from(keys.localKey), localMasterSalt: Buffer.from(keys.localSalt) },
      { remoteMasterKey: Buffer.from(keys.remoteKey), remoteMasterSalt: Buffer.from(keys.remoteSalt) },
    ];
    const config = { keys: { ...local, ...remote }, profile };
    this.#received = { rtp: new SrtpSession(config), rtcp: new SrtcpSession(config) };
    if (profile === aes128Sha1) this.#srtp = new SrtpContext(local.localMasterKey, local.localMasterSalt);
  }

  #context(): SrtpContext {
    if (!this.#srtp) throw new Error('the link is not connected with AES128_CM');
    return this.#srtp;
  }
}

async function selfSigned(): Promise<Certificate> {
  const made = await CipherContext.createSelfSignedCertificateWithKey(
    { signature: SignatureAlgorithm.ecdsa_3, hash: HashAlgorithm.sha256_4 },
    NamedCurveAlgorithm.secp256r1_23,
  );
  return made as Certificate;
}

function fingerprintOf(certPem: string): string {
  const der = Buffer.from(certPem.replaceAll(/-----[^-]+-----|\s/g, ''), 'base64');
  return createHash('sha256')
    .update(der)
    .digest('hex')
    .toUpperCase()
    .replaceAll(/(..)(?!$)/g, '$1:');
}
