// RTP ingress of components: plain RTP into a room over loopback, to the real worker and to its fake.
import assert from 'node:assert/strict';
import type { Socket } from 'node:dgram';
import { describe, type TestContext, test } from 'node:test';
import { ServiceError } from '../../api/errors.ts';
import { rtpPacket } from '../../node/components/rtp/rtp-writer.ts';
import type { MediaEngine, RoomMedia } from '../../node/rooms/interfaces.ts';
import { eventually } from '../kit/eventually.ts';
import { FakeMedia } from '../kit/fakes/fake-media.ts';
import { oggFile, opusPacket } from '../kit/media/ogg-file.ts';
import { activeResources } from '../kit/processes/resources.ts';
import { makeResources } from '../kit/processes/resources-folder.ts';
import { startNode } from '../kit/processes/start-node.ts';
import { opus, ssrc, udp } from './component-rtp.ts';
import { engineFor, openPeer, openRoom } from './kit.ts';

const code =
  (...expected: string[]) =>
  (error: unknown) =>
    error instanceof ServiceError && expected.includes(error.code);

const engines: readonly (readonly [name: string, open: (t: TestContext) => Promise<MediaEngine>])[] = [
  ['FakeMedia', async () => new FakeMedia()],
  ['Engine on mediasoup', (t) => engineFor(t)],
];

for (const [name, open] of engines) {
  describe(name, () => {
    const arrange = async (t: TestContext): Promise<{ room: RoomMedia; from: { ip: string; port: number } }> => {
      const engine = await open(t);
      const room = openRoom(engine);
      return { room, from: (await udp(t)).address };
    };

    test('an RTP ingress is connected once, then tracks are published over it', async (t) => {
      const { room, from } = await arrange(t);
      const input = room.openInput();
      await assert.rejects(input.publish({ trackId: 'a', kind: 'audio', rtpParameters: opus }), code('conflict'));
      const { ip, port } = await input.connect(from);
      assert.deepEqual([ip, port > 0], ['127.0.0.1', true]);
      await assert.rejects(input.connect(from), code('conflict'));
      assert.deepEqual(await input.publish({ trackId: 'a', kind: 'audio', rtpParameters: opus }), { encoding: 'opus', simulcast: false });
      await input.setPaused('a', true);
      await input.setPaused('a', false);
      input.unpublish('a');
      input.unpublish('a');
      await assert.rejects(input.setPaused('a', true), code('track_not_found'));
    });

    test('after close, which is idempotent, or the end of the room nothing is accepted', async (t) => {
      const { room, from } = await arrange(t);
      const input = room.openInput();
      await input.connect(from);
      input.close();
      input.close();
      await assert.rejects(input.publish({ trackId: 'a', kind: 'audio', rtpParameters: opus }), code('unavailable'));
      const other = room.openInput();
      room.close();
      await assert.rejects(other.connect(from), code('unavailable'));
    });
  });
}

test('only RTP of the connected address counts', async (t) => {
  const room = openRoom(await engineFor(t));
  const [own, attacker] = [await udp(t), await udp(t)];
  const input = room.openInput();
  const to = await input.connect(own.address);
  await input.publish({ trackId: 'a', kind: 'audio', rtpParameters: opus });
  const peer = await openPeer(room, 'peer');
  const subscription = await peer.media.subscribe('a', await room.rtpCapabilities());
  assert.equal(subscription?.kind, 'audio');
  await peer.media.setSubscriptionPaused('a', false);
  const counted = async () => {
    const { subscribed } = await peer.media.stats();
    return subscribed.a?.find(({ type }) => type === 'inbound-rtp')?.packetCount ?? 0;
  };
  const send = (socket: Socket, sequence: number) =>
    socket.send(
      rtpPacket({ payloadType: 108, sequence, timestamp: sequence * 960, ssrc, marker: false }, opusPacket(50, 1)),
      to.port,
      to.ip,
    );
  for (let sequence = 1; sequence <= 20; sequence += 1) send(attacker.socket, sequence);
  for (let sequence = 100; sequence < 110; sequence += 1) send(own.socket, sequence);
  await eventually('packets of the connected address are counted', async () => Number(await counted()) >= 10);
  assert.equal(await counted(), 10);
});

test('components use no port that calls, nodes of Kubernetes or media workers may be configured to use', async (t) => {
  const room = openRoom(await engineFor(t));
  const { address: from } = await udp(t);
  const inputs = Array.from({ length: 30 }, () => room.openInput());
  const ports = await Promise.all(inputs.map(async (input) => (await input.connect(from)).port));
  assert.deepEqual(
    ports.filter((port) => port <= 32_767 || port >= 50_000),
    [],
  );
});

test('a codec that the room does not support is rejected', async (t) => {
  const room = openRoom(await engineFor(t), { videoCodec: 'vp8' });
  const input = room.openInput();
  await input.connect((await udp(t)).address);
  const codec = { mimeType: 'video/H264', payloadType: 96, clockRate: 90_000, parameters: { 'packetization-mode': 1 }, rtcpFeedback: [] };
  const rtpParameters = { ...opus, codecs: [codec] };
  await assert.rejects(input.publish({ trackId: 'v', kind: 'video', rtpParameters }), code('invalid_field'));
});

test('fifty components that come and go leave no open socket or file', async (t) => {
  const packets = Array.from({ length: 500 }, (_, index) => opusPacket(50, index));
  const resources = await makeResources(t, { 'file_component_sources/a.ogg': oggFile(packets) });
  const { api, node } = await startNode(t, { SVC_COMPONENTS_USED: 'file', SVC_RESOURCES_BASE_PATH: resources });
  await api.post('/room', { roomId: 'r' });
  const round = async () => {
    const { body } = await api.post('/room/r/component', { type: 'file', options: { filePath: 'a.ogg' } });
    assert.equal((await api.delete(`/room/r/component/${body.data.id}`)).status, 204);
  };
  await round();
  const held = () => {
    const { UDPWRAP = 0, UDPWrap = 0, FSReqPromise = 0 } = activeResources();
    return UDPWRAP + UDPWrap + FSReqPromise;
  };
  const before = held();
  for (let count = 0; count < 50; count += 1) await round();
  await eventually('no more descriptors than before', () => held() <= before);
  assert.deepEqual([...(node.parts.rooms.find('r')?.components.all() ?? [])], []);
});
