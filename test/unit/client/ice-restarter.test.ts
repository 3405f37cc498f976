// ICE restarter: when ICE restarts, with the fake WebRTC handler of mediasoup-client.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { Device, FakeHandler, testFakeParameters, type types } from 'mediasoup-client';
import { IceRestarter } from '../../../packages/client/src/media/ice-restarter.ts';
import { defaultTiming } from '../../../packages/client/src/options.ts';
import { turns } from '../../kit/turns.ts';

async function keep(t: TestContext) {
  const { generateNativeRtpCapabilities, generateLocalDtlsParameters } = testFakeParameters;
  const device = new Device({ handlerFactory: FakeHandler.createFactory({ generateNativeRtpCapabilities, generateLocalDtlsParameters }) });
  await device.load({ routerRtpCapabilities: testFakeParameters.generateRouterRtpCapabilities() });
  const transport = device.createRecvTransport(testFakeParameters.generateTransportRemoteParameters());
  let restarts = 0;
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const keeper = new IceRestarter({
    transport,
    timing: { ...defaultTiming, iceDisconnected: 2_000, iceRetry: 4_000 },
    logger: {},
    restart: async () => {
      restarts += 1;
      return { usernameFragment: 'new', password: 'new' };
    },
  });
  t.after(() => keeper.stop());
  const become = (state: types.ConnectionState) => (transport.handler as FakeHandler).setConnectionState(state);
  /** Advances time and runs pending promise callbacks. */
  const pass = async (milliseconds: number) => {
    t.mock.timers.tick(milliseconds);
    await turns(20);
  };
  return { keeper, become, pass, restarts: () => restarts };
}

test('a path disconnected for two seconds gets new ICE parameters', async (t) => {
  const { become, pass, restarts } = await keep(t);
  become('connected');
  become('disconnected');
  await pass(1_999);
  assert.equal(restarts(), 0);
  await pass(1);
  assert.equal(restarts(), 1);
});

test('a path that recovers is not restarted', async (t) => {
  const { become, pass, restarts } = await keep(t);
  become('disconnected');
  await pass(1_000);
  become('connected');
  await pass(10_000);
  assert.equal(restarts(), 0);
});

test('a failed path is restarted at once, and again until it is connected', async (t) => {
  const { become, pass, restarts } = await keep(t);
  become('failed');
  await pass(0);
  assert.equal(restarts(), 1);
  await pass(4_000);
  assert.equal(restarts(), 2);
  become('connected');
  await pass(60_000);
  assert.equal(restarts(), 2);
});

test('after a reconnect only lost paths are restarted', async (t) => {
  const { keeper, become, pass, restarts } = await keep(t);
  become('connected');
  keeper.check();
  await pass(0);
  assert.equal(restarts(), 0);
  become('disconnected');
  keeper.check();
  await pass(0);
  assert.equal(restarts(), 1);
});

test('no restart happens after stop()', async (t) => {
  const { keeper, become, pass, restarts } = await keep(t);
  become('disconnected');
  keeper.stop();
  become('failed');
  await pass(60_000);
  assert.equal(restarts(), 0);
});
