// DTLS fingerprints in the notation of clients, and log lines about failed DTLS, with a real worker and werift.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { WireObject } from '../../node/rooms/interfaces.ts';
import { eventually } from '../kit/eventually.ts';
import { MediaLink } from '../kit/hostile/media-link.ts';
import type { PeerSocket } from '../kit/network/peer-socket.ts';
import { recordedLog } from '../kit/recorded-log.ts';
import { engineFor, openRoom } from './kit.ts';

type Fingerprint = { algorithm: string; value: string };

/** Peer Anna of room `r`, whose client rewrites its fingerprint. */
async function arrange(t: TestContext, written: (fingerprint: Fingerprint) => Fingerprint) {
  const { log, of } = recordedLog();
  const mediaWorkerPool = await engineFor(t, { log });
  const media = openRoom(mediaWorkerPool, { roomId: 'r' }).openPeer('anna', { layersChanged: () => {}, failed: () => {} });
  const socket = {
    request: async (method: string, { transportId, dtlsParameters }: Record<string, unknown>) => {
      if (method === 'createTransport') return { ok: true, data: await media.createTransport('send', { sctp: false }) };
      const { role, fingerprints } = dtlsParameters as { role: string; fingerprints: Fingerprint[] };
      await media.connectTransport(String(transportId), { role, fingerprints: fingerprints.map(written) } as WireObject);
      return { ok: true };
    },
  };
  const open = async () => {
    const link = await MediaLink.open(socket as unknown as PeerSocket, 'send');
    t.after(() => link.close());
    return link;
  };
  const warnings = () => of('warn').filter(({ msg }) => msg === 'media worker warning about peer');
  return { open, warnings, media };
}

test('a fingerprint in lower case is accepted', async (t) => {
  const { open, warnings } = await arrange(t, ({ algorithm, value }) => ({
    algorithm: algorithm.toUpperCase(),
    value: value.toLowerCase(),
  }));
  const link = await open();
  assert.equal(await link.taken(), true);
  assert.deepEqual(warnings(), []);
});

test('a wrong fingerprint is logged with room and peer', async (t) => {
  const { open, warnings } = await arrange(t, ({ algorithm, value }) => ({ algorithm, value: `00:00${value.slice(5)}` }));
  // The client may be connected before the worker checks the certificate.
  await open().catch(() => {});
  await eventually('a warning', () => warnings().some(({ warning }) => /fingerprint .* does not match/.test(String(warning))));
  assert.ok(warnings().every(({ room, peer }) => room === 'r' && peer === 'anna'));
});

test('repeated warnings about one peer are rate limited', async (t) => {
  const { open, warnings, media } = await arrange(t, (fingerprint) => fingerprint);
  const link = await open();
  // RTP (RFC 3550, section 5.1) of an unknown stream.
  const packet = (number: number) => Buffer.from([0x80, 0x60, number >> 8, number & 255, 0, 0, 0, 1, 0, 0, 0, 9, 0]);
  for (let number = 0; number < 500; number += 1) link.sendRtp(packet(number));
  assert.equal(await link.taken(), true);
  // The response follows the warnings.
  await media.stats();
  const count = warnings().length;
  assert.ok(count >= 1 && count <= 6, `${count} lines`);
});
