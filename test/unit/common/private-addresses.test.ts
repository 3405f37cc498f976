// Private addresses: which addresses are blocked, in every notation that reaches them.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, get, type IncomingMessage } from 'node:http';
import type { LookupFunction } from 'node:net';
import { type TestContext, test } from 'node:test';
import { type Guard, guardedAgents } from '../../../node/common/guarded-agents.ts';
import { isPrivateAddress } from '../../../node/common/private-addresses.ts';
import { listen } from '../../kit/network/listen.ts';

const cases: readonly (readonly [kind: string, addresses: readonly string[]])[] = [
  ['loopback', ['127.0.0.1', '127.255.255.255', '::1']],
  ['unspecified', ['0.0.0.0', '::']],
  ['private', ['10.0.0.1', '172.16.0.1', '172.31.255.255', '192.168.1.1']],
  ['carrier-grade NAT', ['100.64.0.1', '100.100.100.200']],
  ['unique local', ['fc00::1', 'fd00:ec2::254']],
  ['link-local, with metadata', ['169.254.169.254', 'fe80::1', 'fe80::1%eth0']],
  ['cloud platform', ['168.63.129.16', '192.0.0.192']],
  ['multicast, broadcast and reserved', ['224.0.0.1', '255.255.255.255', '240.0.0.1', 'ff02::1']],
  ['documentation and benchmarks', ['192.0.2.1', '198.51.100.1', '203.0.113.1', '198.18.0.1', '2001:db8::1', '3fff::1']],
  ['IPv4-mapped', ['::ffff:127.0.0.1', '::ffff:a00:1', '::FFFF:169.254.169.254', '0:0:0:0:0:ffff:7f00:1']],
  ['IPv4-compatible', ['::127.0.0.1', '::a00:1']],
  ['NAT64', ['64:ff9b::127.0.0.1', '64:ff9b::a9fe:a9fe', '64:ff9b:1::a00:1']],
  ['6to4 and Teredo', ['2002:7f00:1::', '2002:a00:1::1', '2001::1']],
  ['invalid address', ['localhost', '', '127.1']],
];
for (const [kind, addresses] of cases) {
  test(`an address is private: ${kind}`, () => {
    assert.deepEqual(
      addresses.filter((address) => !isPrivateAddress(address)),
      [],
    );
  });
}

test('public addresses are not private, however embedded', () => {
  const addresses = [
    '9.9.9.9',
    '172.32.0.1',
    '100.128.0.1',
    '168.63.129.17',
    '2600::1',
    '::ffff:9.9.9.9',
    '64:ff9b::909:909',
    '2002:909:909::1',
  ];
  assert.deepEqual(addresses.filter(isPrivateAddress), []);
});

const local: LookupFunction = (_, { all }, callback) =>
  all ? callback(null, [{ address: '127.0.0.1', family: 4 }]) : callback(null, '127.0.0.1', 4);

async function serve(t: TestContext) {
  let requests = 0;
  const server = createServer((_, response) => {
    requests += 1;
    response.end('ok');
  });
  return { port: await listen(t, server), requests: () => requests };
}

/** Resolves with the status, or the name of the error. */
function ask(t: TestContext, url: string, guard: Guard): Promise<number | string> {
  const agents = guardedAgents(guard, { keepAlive: true, maxTotalSockets: 1 });
  t.after(() => agents.http.destroy());
  const { promise, resolve } = Promise.withResolvers<number | string>();
  get(url, { agent: agents.http })
    .on('response', (response: IncomingMessage) => resolve(response.resume().statusCode ?? 0))
    .on('error', ({ name }) => resolve(name));
  return promise;
}

test('a name is resolved once, at connect time, and rejected if its address is private', async (t) => {
  const server = await serve(t);
  let looks = 0;
  const counted: LookupFunction = (host, options, callback) => {
    looks += 1;
    local(host, options, callback);
  };
  assert.equal(
    await ask(t, `http://public.example:${server.port}`, { allowPrivate: () => false, lookup: counted }),
    'ForbiddenAddressError',
  );
  assert.deepEqual([looks, server.requests()], [1, 0]);
  assert.equal(await ask(t, `http://public.example:${server.port}`, { allowPrivate: () => true, lookup: local }), 200);
});

test('a private address in the URL is rejected, also if the request was queued', async (t) => {
  const server = await serve(t);
  let allowed = true;
  const agents = guardedAgents({ allowPrivate: () => allowed }, { maxTotalSockets: 1 });
  t.after(() => agents.http.destroy());
  const first = get(`http://127.0.0.1:${server.port}`, { agent: agents.http });
  const second = get(`http://127.0.0.1:${server.port}`, { agent: agents.http });
  const failed = once(second, 'error');
  const [response] = (await once(first, 'response')) as [IncomingMessage];
  allowed = false;
  response.resume();
  const [error] = (await failed) as [Error];
  assert.equal(error.name, 'ForbiddenAddressError');
  assert.equal(server.requests(), 1);
});
