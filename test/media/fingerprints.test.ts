// Fingerprints as clients write them: with a real worker, DTLS by werift.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { WireObject } from '../../node/rooms/ports.ts';
import { MediaLink } from '../kit/hostile/media-link.ts';
import type { PeerSocket } from '../kit/peer-socket.ts';
import { engineFor, openRoom } from './kit.ts';

type Fingerprint = { algorithm: string; value: string };

/** Anna of room `r`, whose client writes fingerprints its own way. */
async function stage(t: TestContext, written: (fingerprint: Fingerprint) => Fingerprint) {
  const engine = await engineFor(t);
  const media = openRoom(engine, { roomId: 'r' }).openPeer('anna', { layersChanged: () => {}, failed: () => {} });
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
  return { open };
}

test('a fingerprint in lower case is the same fingerprint', async (t) => {
  const { open } = await stage(t, ({ algorithm, value }) => ({
    algorithm: algorithm.toUpperCase(),
    value: value.toLowerCase(),
  }));
  const link = await open();
  assert.equal(await link.taken(), true);
});
