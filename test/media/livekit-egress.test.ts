// Egress and SIP of LiveKit's server SDK, unmodified, at the node that does not own the room: streams, recordings, and what is not supported.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EncodedFileOutput, EncodingOptionsPreset, SegmentedFileOutput, StreamOutput } from '@livekit/protocol';
import { EgressClient, EgressStatus, SipClient, TwirpError } from 'livekit-server-sdk';
import { accessKey, accessKeysText } from '../kit/access-tokens.ts';
import { enterRoom, watchEvents } from '../kit/network/room-sockets.ts';
import { startNodePair } from '../kit/processes/node-pair.ts';
import { makeResources } from '../kit/processes/resources-folder.ts';

async function codeOf(request: Promise<unknown>): Promise<string> {
  const error = await request.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof TwirpError, String(error));
  assert.ok(error.message.length > 0);
  return `${error.status} ${error.code}`;
}

test('the server SDK streams a room, records a participant, lists and stops both', async (t) => {
  const resources = await makeResources(t);
  const both = { SVC_ACCESS_KEYS: accessKeysText, SVC_LIVEKIT_ENABLED: 'true', SVC_COMPONENTS_USED: 'hls recording' };
  const { owner, nonOwner, api } = await startNodePair(t, { both, owner: { SVC_RESOURCES_BASE_PATH: resources } });
  await owner.node.parts.rooms.createRoom({ roomId: 'r' });
  const events = await watchEvents(t, nonOwner);
  await enterRoom(t, owner, 'r', { peerId: 'own' });
  // Each starts a process.
  const egress = new EgressClient(nonOwner.url, accessKey.id, accessKey.secret, { requestTimeout: 60 });

  const segments = new SegmentedFileOutput({ segmentDuration: 4 });
  const encoding = { layout: 'speaker-light', encodingOptions: EncodingOptionsPreset.PORTRAIT_H264_720P_30 };
  const stream = await egress.startRoomCompositeEgress('r', { segments }, encoding);
  assert.deepEqual([stream.roomName, stream.status], ['r', EgressStatus.EGRESS_ACTIVE]);
  const recording = await egress.startParticipantEgress('r', 'own', { file: new EncodedFileOutput() });
  const { components } = (await api.get('/room/r')).body.data;
  const [hls, recorder] = components as { id: string; type: string; properties: Record<string, unknown> }[];
  assert.deepEqual([stream.egressId, recording.egressId], [`EG_r.${hls?.id}`, `EG_r.${recorder?.id}`]);
  const { width, height, framerate, layout, segmentDuration, persistent } = hls?.properties ?? {};
  assert.deepEqual([width, height, framerate, layout, segmentDuration, persistent], [720, 1280, 30, 'speaker', 4, true]);
  assert.deepEqual([recorder?.type, recorder?.properties.subscribeMode], ['recording', 'manual']);

  const idsOf = async (options = {}) => (await egress.listEgress(options)).map(({ egressId }) => egressId);
  assert.deepEqual(await idsOf(), [stream.egressId, recording.egressId]);
  assert.deepEqual(await idsOf({ roomName: 'r', egressId: recording.egressId }), [recording.egressId]);
  assert.deepEqual(await idsOf({ roomName: 'none' }), []);
  for (const { egressId } of [stream, recording]) {
    assert.equal((await egress.stopEgress(egressId)).status, EgressStatus.EGRESS_ENDING);
    const componentId = egressId.split('.')[1];
    await events.waitFor('roomEvent', (event) => event.type === 'ComponentRemoved' && event.componentId === componentId);
    assert.equal(await codeOf(egress.stopEgress(egressId)), '404 not_found');
  }
  assert.deepEqual(await idsOf(), []);

  const rtmp = new StreamOutput({ urls: ['rtmp://127.0.0.1/x'] });
  assert.equal(await codeOf(egress.startRoomCompositeEgress('r', { stream: rtmp })), '501 unimplemented');
  assert.equal(await codeOf(egress.startParticipantEgress('r', 'none', { file: new EncodedFileOutput() })), '404 not_found');
  assert.equal(await codeOf(egress.startWebEgress('http://127.0.0.1', { segments })), '501 unimplemented');
  const sip = new SipClient(nonOwner.url, accessKey.id, accessKey.secret);
  assert.equal(await codeOf(sip.createSipParticipant('trunk', '+15105550100', 'r')), '404 not_found');
  assert.equal(await codeOf(sip.listSipOutboundTrunk()), '501 unimplemented');
});
