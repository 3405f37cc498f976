// Check of a media address with STUN: responses, silence, foreign responses and closed ports.
import assert from 'node:assert/strict';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { type TestContext, test } from 'node:test';
import { checkMediaAddress } from '../../../../operator/smoke/check-media-address.ts';
import { bindingRequestTo, isSuccess } from '../../../../operator/smoke/stun.ts';
import { freePort } from '../../../kit/network/free-ports.ts';
import { listen } from '../../../kit/network/listen.ts';

const ice = { usernameFragment: 'ufrag', password: 'password' };

/** The success response to a request, limited to the checked fields. */
function answerTo(request: Buffer): Buffer {
  const answer = Buffer.from(request.subarray(0, 20));
  answer.writeUInt16BE(0x0101, 0);
  answer.writeUInt16BE(0, 2);
  return answer;
}

/** A UDP server with a scripted reply to the n-th datagram. */
async function udpServer(t: TestContext, reply: (request: Buffer, count: number) => Buffer | undefined): Promise<number> {
  const socket = createSocket('udp4');
  let count = 0;
  socket.on('message', (request, { port, address }) => {
    count += 1;
    const answer = reply(request, count);
    if (answer) socket.send(answer, port, address);
  });
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  t.after(() => new Promise<void>((done) => socket.close(() => done())));
  return socket.address().port;
}

async function tcpServer(t: TestContext, reply: (frame: Buffer) => readonly Buffer[]): Promise<number> {
  const server = createServer((socket) => {
    socket.on('data', (frame) => {
      for (const part of reply(frame)) socket.write(part);
    });
    socket.on('error', () => {});
  });
  return listen(t, server);
}

const framed = (message: Buffer) => Buffer.concat([Buffer.from([message.length >> 8, message.length & 255]), message]);

test('a lost datagram is retransmitted', async (t) => {
  const port = await udpServer(t, (request, count) => (count > 1 ? answerTo(request) : undefined));
  await checkMediaAddress({ ip: '127.0.0.1', port, protocol: 'udp' }, ice, 5_000);
});

test('over TCP a fragmented response after other frames is accepted', async (t) => {
  const port = await tcpServer(t, (frame) => {
    const answer = framed(answerTo(frame.subarray(2)));
    return [framed(Buffer.alloc(30)), answer.subarray(0, 5), answer.subarray(5)];
  });
  await checkMediaAddress({ ip: '127.0.0.1', port, protocol: 'tcp' }, ice, 5_000);
});

test('silence, the response to another request and a closed port are reported with a message', async (t) => {
  const silent = await udpServer(t, () => undefined);
  await assert.rejects(checkMediaAddress({ ip: '127.0.0.1', port: silent, protocol: 'udp' }, ice, 300), {
    message: `The media address 127.0.0.1 port ${silent} does not respond over UDP: no response within 0.3 s.`,
  });
  const wrong = await udpServer(t, (request) => answerTo(Buffer.concat([request.subarray(0, 8), Buffer.alloc(12)])));
  await assert.rejects(checkMediaAddress({ ip: '127.0.0.1', port: wrong, protocol: 'udp' }, ice, 300), /no response within 0.3 s/);
  const closedPort = await freePort();
  await assert.rejects(
    checkMediaAddress({ ip: '127.0.0.1', port: closedPort, protocol: 'tcp' }, ice, 5_000),
    /does not respond over TCP: connect ECONNREFUSED/,
  );
});

test('a request has a length in whole words, and is not a response to itself', () => {
  const transaction = Buffer.alloc(12, 7);
  const request = bindingRequestTo(ice, transaction);
  assert.equal(request.readUInt16BE(2), request.length - 20);
  assert.equal(request.length % 4, 0);
  assert.equal(isSuccess(request, transaction), false);
  assert.equal(isSuccess(answerTo(request), transaction), true);
  assert.equal(isSuccess(Buffer.alloc(0), transaction), false);
});
