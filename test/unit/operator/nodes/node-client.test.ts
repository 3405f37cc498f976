// REST client of a node, with a real node and with misbehaving servers.
import assert from 'node:assert/strict';
import { createServer, type RequestListener } from 'node:http';
import { describe, type TestContext, test } from 'node:test';
import type { Permissions } from '../../../../api/peer.ts';
import { NodeClient } from '../../../../operator/nodes/node-client.ts';
import { isUnavailable, NodeError } from '../../../../operator/nodes/node-error.ts';
import { roomRequest as room } from '../../../kit/fakes/room-request.ts';
import { listen } from '../../../kit/network/listen.ts';
import { startNode } from '../../../kit/processes/start-node.ts';

const permissions: Permissions = { publish: ['audio'], subscribe: true, data: false };

async function fakeNode(t: TestContext, answer: RequestListener): Promise<string> {
  return `http://127.0.0.1:${await listen(t, createServer(answer))}`;
}

function failsWith(code: string, status?: number): (error: unknown) => boolean {
  return (error) => {
    assert.ok(error instanceof NodeError, String(error));
    assert.equal(error.code, code);
    if (status !== undefined) assert.equal(error.status, status);
    return true;
  };
}

describe('The node client with a real node', () => {
  test('creates, reads, changes, lists and deletes rooms, peers and tokens', async (t) => {
    const node = await startNode(t, { SVC_IP: '127.0.0.1' });
    const client = new NodeClient({ url: node.url, signed: true, token: () => node.token });
    const made = await client.createRoom(room);
    assert.equal(made.room.externalId, 'uid-1');
    assert.equal(made.address, `127.0.0.1:${node.port}`);
    assert.equal((await client.createRoom(room)).room.incarnation, made.room.incarnation);
    const request = { peerId: 'p', externalId: 'uid-1/p', permissions };
    const { url, token, peer } = await client.addPeer('r', { ...request, metadata: { a: 1 }, attributes: { role: 'host' } });
    assert.deepEqual(peer.permissions, permissions);
    assert.equal(url, `127.0.0.1:${node.port}/socket/peer/websocket`);
    assert.ok(token.length > 20);
    await client.patchRoom('r', { admission: 'manual' });
    const changed = { ...request, permissions: { ...permissions, data: true }, attributes: { seat: '7' } };
    const patched = await client.patchPeer('r', changed);
    assert.deepEqual([patched.permissions.data, patched.attributes, patched.admitted], [true, { role: 'host', seat: '7' }, false]);
    assert.equal((await client.patchPeer('r', { ...changed, admitted: true })).admitted, true);
    assert.equal((await client.peer('r', 'p')).peer.admitted, true);
    assert.equal((await client.peer('r', 'p')).peer.id, 'p');
    assert.ok((await client.peerToken('r', 'p')).length > 20);
    assert.equal((await client.patchRoom('r', { maxPeers: null })).config.maxPeers, null);
    for (let index = 0; index < 5; index += 1) await client.createRoom({ ...room, roomId: `r${index}`, externalId: `uid-r${index}` });
    const listed = await client.rooms();
    assert.equal(listed.rooms.length, 6);
    assert.deepEqual(listed.incomplete, []);
    await client.deletePeer('r', 'p');
    await assert.rejects(client.deletePeer('r', 'p'), failsWith('peer_not_found', 404));
    await client.deleteRoom('r');
    await assert.rejects(client.room('r'), failsWith('room_ended', 404));
    await assert.rejects(client.room('never'), failsWith('room_not_found', 404));
  });

  test('passes on the message of a rejection', async (t) => {
    const node = await startNode(t, { SVC_COMPONENTS_USED: '' });
    const client = new NodeClient({ url: node.url, signed: true, token: () => node.token });
    await client.createRoom(room);
    await assert.rejects(client.createRoom({ ...room, externalId: 'uid-2' }), failsWith('already_exists', 400));
    await assert.rejects(client.addComponent('r', { type: 'hls', options: {}, externalId: 'x' }), (error: Error) => {
      assert.equal(error.message, 'Components of type hls are disabled on this node');
      return true;
    });
    assert.equal(client.backOffMs, 0);
  });

  test('reads health and cluster, drains the node and cancels the drain', async (t) => {
    const node = await startNode(t);
    const client = new NodeClient({ url: node.url, signed: true, token: () => node.token });
    const health = await client.health();
    assert.equal(health.state, 'accepting');
    assert.equal(health.load.rooms, 0);
    const [self] = await client.clusterNodes();
    assert.ok(self);
    await client.drain(self.name, 60);
    assert.equal((await client.health()).state, 'draining');
    await assert.rejects(client.createRoom(room), failsWith('no_node_accepts_rooms', 503));
    await client.cancelDrain(self.name);
    assert.equal((await client.health()).state, 'accepting');
  });

  test('uses the current token for each request', async (t) => {
    const node = await startNode(t);
    let token: string | undefined;
    const client = new NodeClient({ url: node.url, signed: true, token: () => token });
    await assert.rejects(client.health(), failsWith('no_token', 0));
    token = 'wrong';
    await assert.rejects(client.health(), failsWith('invalid_token', 401));
    token = node.token;
    assert.equal((await client.health()).state, 'accepting');
  });
});

describe('The node client with a misbehaving node', () => {
  test('times out, then backs off', async (t) => {
    let asked = 0;
    const url = await fakeNode(t, () => {
      asked += 1;
    });
    let now = 0;
    const client = new NodeClient({ url, signed: true, token: () => 't', timeoutMs: 2_000, now: () => now, random: () => 1 });
    await assert.rejects(client.health(), failsWith('timeout', 0));
    await assert.rejects(client.health(), failsWith('backing_off', 0));
    assert.equal(asked, 1);
    now = 251;
    await assert.rejects(client.health(), failsWith('timeout', 0));
    assert.equal(asked, 2);
    assert.equal(client.backOffMs, 500);
  });

  test('rejects responses that are too long or invalid, and follows no redirects', async (t) => {
    const answers: Record<string, string> = {
      '/room/long': `{"data": "${'x'.repeat(5000)}"}`,
      '/room/other': '{"data": {"id": 5}}',
      '/room/text': '<html>',
    };
    const url = await fakeNode(t, (request, response) => {
      if (request.url === '/room/moved') response.writeHead(302, { location: 'http://127.0.0.1:9/' }).end();
      else response.end(answers[request.url ?? '']);
    });
    const client = new NodeClient({ url, signed: true, token: () => 't', maxBytes: 1000 });
    for (const id of ['long', 'other', 'text']) await assert.rejects(client.room(id), failsWith('bad_answer', 0));
    await assert.rejects(client.room('moved'), failsWith('bad_answer', 302));
  });

  test('retries once if the node closed a kept-alive connection', async (t) => {
    let asked = 0;
    const url = await fakeNode(t, (request, response) => {
      asked += 1;
      if (asked === 2) request.socket.destroy();
      else response.writeHead(404).end('{"errors": "Room r does not exist", "code": "room_not_found"}');
    });
    const client = new NodeClient({ url, signed: true, token: () => 't' });
    for (let call = 0; call < 2; call += 1) await assert.rejects(client.room('r'), failsWith('room_not_found'));
    assert.equal(asked, 3);
  });

  test('does not send the token to a node that claims not to support signatures', async (t) => {
    const heard: (string | undefined)[] = [];
    const url = await fakeNode(t, ({ headers }, response) => {
      heard.push(headers.authorization);
      response.writeHead(401).end('{"errors": "Missing token", "code": "missing_token"}');
    });
    const token = 'the-token-of-the-operator';
    const client = new NodeClient({ url, signed: true, token: () => token });
    await assert.rejects(client.health(), (error: Error) => {
      assert.match(error.message, /does not support signed requests: its image is older than 0\.8/);
      return failsWith('missing_token', 401)(error);
    });
    await assert.rejects(client.createRoom(room), failsWith('missing_token', 401));
    assert.equal(heard.length, 2);
    for (const header of heard) assert.match(header ?? '', /^Mediarooms-Signature v1\./);
    const older = new NodeClient({ url, signed: false, token: () => token });
    await assert.rejects(older.health(), (error: Error) => error.message === 'Missing token');
    assert.equal(heard[2], `Bearer ${token}`);
  });

  test('aborts with its caller, and never exposes the token', async (t) => {
    const url = await fakeNode(t, () => {});
    const client = new NodeClient({ url, signed: true, token: () => 'the-token-of-the-operator' });
    const stop = new AbortController();
    const call = client.health(stop.signal);
    stop.abort();
    await assert.rejects(call, failsWith('aborted', 0));
    assert.equal(client.backOffMs, 0, 'the node did not cause the abort');
    const unreachable = new NodeClient({ url: 'http://127.0.0.1:9', signed: true, token: () => 'the-token-of-the-operator' });
    await assert.rejects(unreachable.health(), (error: Error) => {
      assert.doesNotMatch(JSON.stringify([error.message, error.stack, String(error.cause)]), /the-token/);
      return failsWith('unreachable')(error);
    });
  });

  test('distinguishes unavailable nodes from responses', () => {
    const of = (status: number, code: string) => isUnavailable(new NodeError({ status, code, message: '' }));
    for (const [status, code] of [
      [0, 'timeout'],
      [503, 'node_unreachable'],
      [429, 'too_many_requests'],
      [401, 'invalid_token'],
      [500, 'internal'],
    ] as const) {
      assert.equal(of(status, code), true, code);
    }
    for (const [status, code] of [
      [404, 'room_not_found'],
      [400, 'already_exists'],
      [503, 'no_node_accepts_rooms'],
      [503, 'room_full'],
    ] as const) {
      assert.equal(of(status, code), false, code);
    }
  });
});
