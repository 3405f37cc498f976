// Two nodes on one host, and the start and shutdown of a node process.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { eventually } from '../kit/eventually.ts';
import { PeerSocket } from '../kit/network/peer-socket.ts';
import { isAlive } from '../kit/processes/alive.ts';
import { waitForMesh } from '../kit/processes/node-pair.ts';
import { type NodeProcess, runNodeToEnd, startNodeProcess } from '../kit/processes/node-process.ts';
import { stopwatch } from '../kit/promised-time.ts';

async function createRoom({ api }: NodeProcess, roomId: string): Promise<string> {
  const { status, body } = await api.post('/room', { roomId });
  assert.equal(status, 201);
  return body.data.svc_address;
}

/** A node of a cluster on this host, which dials another node (or is that node). */
function ofCluster(which: string, dialled: string) {
  const name = (each: string) => `${each}${process.pid}@localhost`;
  return { SVC_DIST_ENABLED: 'true', SVC_DIST_NODE_NAME: name(which), SVC_DIST_NODES: name(dialled) };
}

async function allExited(pids: readonly number[]): Promise<void> {
  await eventually(
    () => `${pids.filter(isAlive)} end`,
    () => !pids.some(isAlive),
    { every: 20 },
  );
}

describe('two nodes on one host', () => {
  test('run side by side with only SVC_PORT and SVC_METRICS_PORT different', async (t) => {
    // All other settings have their defaults; the two ports must be free on the host.
    const [first, second] = await Promise.all([
      startNodeProcess(t, { SVC_PORT: '15002', SVC_METRICS_PORT: '19568', SVC_WEBRTC_WORKERS: '' }),
      startNodeProcess(t, { SVC_PORT: '15003', SVC_METRICS_PORT: '19569', SVC_WEBRTC_WORKERS: '' }),
    ]);
    assert.equal(await createRoom(first, 'a'), '127.0.0.1:15002');
    assert.equal(await createRoom(second, 'a'), '127.0.0.1:15003');
    for (const port of [19568, 19569]) {
      const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
      assert.match(text, /^svc_rooms 1$/m);
    }
  });

  test('a port in use fails the start with one error message', async (t) => {
    const first = await startNodeProcess(t);
    const { code, output } = await runNodeToEnd({ SVC_PORT: String(first.port) });
    assert.equal(code, 1);
    assert.match(output, new RegExp(`Cannot listen on 127.0.0.1 port ${first.port}`));
  });
});

test('a ready node has synced the rooms that existed before it', async (t) => {
  const before = await startNodeProcess(t, ofCluster('before', 'before'));
  await createRoom(before, 'r');
  const { api: after } = await startNodeProcess(t, ofCluster('after', 'before'));
  await eventually('it is ready', async () => (await after.get('/readyz')).status === 200, { every: 1 });
  assert.equal((await after.get('/room/r')).status, 200);
});

describe('the shutdown of a node', () => {
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    test(`${signal} shuts it down with code 0 and no remaining child process`, async (t) => {
      // Without another node it does not wait for load balancers.
      const node = await startNodeProcess(t, { SVC_SHUTDOWN_DELAY: '300' });
      await createRoom(node, 'r');
      const children = await node.children();
      assert.ok(children.length >= 1);
      node.kill(signal);
      assert.deepEqual(await node.ended, { code: 0, signal: null });
      await allExited(children);
      assert.match(node.output(), /"room ended"[\s\S]*"node ended"/);
    });
  }

  test('clients that still reach the node are proxied to other nodes until load balancers have removed it', async (t) => {
    const delay = 10_000;
    const waits = { SVC_SHUTDOWN_DELAY: String(delay / 1_000) };
    const stays = await startNodeProcess(t, { ...ofCluster('stays', 'stays'), ...waits });
    const ends = await startNodeProcess(t, { ...ofCluster('ends', 'stays'), ...waits });
    const { api } = ends;
    await waitForMesh([api, stays.api]);
    const enter = async (room: string) => {
      const { token } = (await api.post(`/room/${room}/peer`, { type: 'webrtc' })).body.data;
      return PeerSocket.enter(ends.peerSocketUrl, token);
    };
    await createRoom(stays, 'before');
    const before = await enter('before');
    assert.equal(before.welcome.ok, true);

    const elapsed = stopwatch();
    ends.kill('SIGTERM');
    await eventually('the node ends', async () => (await api.get('/health')).body.data.state === 'terminating', { every: 20 });
    assert.equal(await createRoom(ends, 'after'), `127.0.0.1:${stays.port}`);
    const after = await enter('after');
    assert.equal(after.welcome.ok, true);
    assert.deepEqual(await Promise.all([before, after].map(async (each) => (await each.closed).code)), [1001, 1001]);
    const passed = elapsed();
    assert.ok(passed >= delay, `${passed} ms`);
    assert.deepEqual(await ends.ended, { code: 0, signal: null });
  });

  test('nodes that shut down together do not wait, because no active node is left', async (t) => {
    const nodes = [];
    for (const which of ['one', 'two']) nodes.push(await startNodeProcess(t, { ...ofCluster(which, 'one'), SVC_SHUTDOWN_DELAY: '300' }));
    await waitForMesh(nodes.map(({ api }) => api));
    for (const node of nodes) node.kill('SIGTERM');
    for (const node of nodes) assert.deepEqual(await node.ended, { code: 0, signal: null });
  });

  test('kill -9 leaves no child process', async (t) => {
    const node = await startNodeProcess(t);
    const children = await node.children();
    node.kill('SIGKILL');
    await node.ended;
    await allExited(children);
  });

  test('a second signal during a drain ends it immediately', async (t) => {
    const node = await startNodeProcess(t, { SVC_DRAIN_TIMEOUT: '600' });
    await createRoom(node, 'r');
    // A connected peer keeps its room, and thereby the node, alive.
    const { api } = node;
    const { token, peer_websocket_url } = (await api.post('/room/r/peer', { type: 'webrtc' })).body.data;
    const socket = await PeerSocket.enter(`ws://${peer_websocket_url}`, token);
    assert.equal(socket.welcome.ok, true);
    node.kill('SIGTERM');
    assert.match(JSON.stringify(await socket.waitFor('draining')), /"deadline":"\d{4}-/);
    assert.equal((await api.get('/health')).body.data.state, 'terminating');
    const children = await node.children();
    // Signals within 250 ms of the first count as one.
    await setTimeout(300);
    node.kill('SIGTERM');
    assert.equal((await node.ended).code, 143);
    await allExited(children);
  });

  test('an uncaught error ends it with code 1 and a log line', async (t) => {
    const script = "process.on('SIGUSR2', () => { throw new Error('an error of the test'); });";
    const node = await startNodeProcess(t, { NODE_OPTIONS: `--import data:text/javascript,${encodeURIComponent(script)}` });
    node.kill('SIGUSR2');
    assert.equal((await node.ended).code, 1);
    assert.match(node.output(), /"msg":"exiting after uncaught error"/);
    assert.match(node.output(), /an error of the test/);
  });

  test('an invalid configuration reports all errors at once', async () => {
    const { code, output } = await runNodeToEnd({ SVC_PORT: 'seventy', SVC_LOG_LEVEL: 'loud', SVC_COMPONENTS_USED: 'hls fax' });
    assert.equal(code, 1);
    for (const name of ['SVC_PORT', 'SVC_LOG_LEVEL', 'SVC_COMPONENTS_USED']) assert.match(output, new RegExp(`Expected ${name} `));
  });
});
