// Erlang transport over real connections: errors of the remote node, and responses that exceed the message limit.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { ServiceError } from '../../../api/errors.ts';
import { connectionLimits } from '../../../node/cluster/erlang/connection.ts';
import { ErlangTransport } from '../../../node/cluster/erlang-transport.ts';
import { startDistNode } from '../../kit/network/dist-nodes.ts';
import { freePort } from '../../kit/network/free-ports.ts';

type Call = Parameters<ErlangTransport['handle']>[0]['call'];

async function startLinked(t: TestContext, name: string, epmdPort: number, call: Call = async () => null) {
  const { node, record } = await startDistNode(t, name, epmdPort);
  const links = new ErlangTransport(node.name, record.log);
  links.handle({ call, cast: () => {} });
  const met = Promise.withResolvers<void>();
  links.listen({ up: () => met.resolve(), down: () => {} });
  links.attach(node);
  return { node, links, met: met.promise };
}

async function startPair(t: TestContext, call: Call) {
  const epmdPort = await freePort();
  const [a, b] = [await startLinked(t, 'a', epmdPort), await startLinked(t, 'b', epmdPort, call)];
  await a.node.connect(b.node.name);
  await Promise.all([a.met, b.met]);
  return { a, b };
}

test('an error of the remote node keeps code, message, field, reason and the time of the next attempt', async (t) => {
  const facts = { field: 'options.width', reason: 'deleted', retryAfter: 3 };
  const { a, b } = await startPair(t, async () => {
    throw new ServiceError('room_ended', 'Room r has ended: deleted', facts);
  });
  const expected = { code: 'room_ended', message: 'Room r has ended: deleted', ...facts };
  await assert.rejects(a.links.call(b.node.name, 'anything', null, 60_000), expected);
});

test('a response that exceeds the message limit is an error, and the connection stays open', async (t) => {
  const { a, b } = await startPair(t, async (_from, _method, size) => 'x'.repeat(Number(size)));
  const ask = (size: number) => a.links.call(b.node.name, 'anything', size, 60_000);
  await assert.rejects(ask(connectionLimits.messageBytes), { code: 'unavailable' });
  assert.deepEqual([a.links.nodes(), b.links.nodes()], [[b.node.name], [a.node.name]]);
  // The quotes of the JSON string count too.
  const most = connectionLimits.messageBytes - 65_536 - 2;
  assert.equal(String(await ask(most)).length, most);
});
