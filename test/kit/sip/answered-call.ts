// Answered call: a sip component of a room, and a phone behind a real registrar that has answered its call.
import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { decodeG711 } from '../../../node/components/sip/audio/g711.ts';
import type { ApiClient } from '../answers/api-client.ts';
import { eventually } from '../eventually.ts';
import { postWhenIdle } from '../media/sources.ts';
import { concat } from '../media/tones.ts';
import type { watchEvents } from '../network/room-sockets.ts';
import { account, Kamailio } from './kamailio.ts';
import { RtpPhone } from './rtp-phone.ts';
import * as far from './sipp.ts';

/** Samples that a phone with PCMA received since then. */
export function heardSince(phone: RtpPhone, since: number): Float32Array {
  return concat(
    phone.heard.filter(({ at, payloadType }) => at >= since && payloadType === 8).map(({ payload }) => decodeG711('PCMA', payload)),
  );
}

export function isLoud(payload: Buffer): boolean {
  return decodeG711('PCMA', payload).some((sample) => Math.abs(sample) > 0.1);
}

export type CallOptions = {
  api: ApiClient;
  events: Awaited<ReturnType<typeof watchEvents>>;
  roomId: string;
  /** Port of the far end of the signalling. */
  farEndPort: number;
};

/** Calls from a node that is stopped before the registrar. `to`: where the phone sends its audio, in PCMA. */
export async function answeredCall(t: TestContext, { api, events, roomId, farEndPort }: CallOptions) {
  const kamailio = await Kamailio.start(t, { farEndPort });
  const registrarCredentials = { address: `127.0.0.1:${kamailio.port}`, ...account };
  const { status, body } = await postWhenIdle(api, `/room/${roomId}/component`, { type: 'sip', options: { registrarCredentials } });
  assert.equal(status, 201, JSON.stringify(body));
  const id: string = body.data.id;
  const properties = async () => (await api.get(`/room/${roomId}/component/${id}`)).body.data.properties;
  await eventually('the component registers', async () => (await properties()).registered);

  const phone = await RtpPhone.open(t, 'PCMA');
  const steps = [far.expectInvite, far.answer('200 OK', { sdp: far.audioSdp(phone.port) }), far.expectAck, far.expectBye];
  const callee = await far.Sipp.answer(t, steps, { port: farEndPort, timeout: 240 });
  const path = `/sip/${roomId}/${id}/call`;
  const made = await api.post(path, { phoneNumber: '+49123456' });
  assert.equal(made.status, 201, JSON.stringify(made.body));
  await events.waitFor('roomEvent', ({ type }) => type === 'SipCallStarted');
  const ports = [...callee.messages.matchAll(/^m=audio (\d+)/gm)].map(([, port]) => Number(port));
  const port = ports.find((each) => each !== phone.port) ?? assert.fail('no port was offered');
  const hangUp = async () => {
    assert.equal((await api.delete(path)).status, 204);
    await callee.done();
  };
  return { component: { id, properties }, phone, to: { port }, path: `${path}/${made.body.data.id}`, hangUp };
}
