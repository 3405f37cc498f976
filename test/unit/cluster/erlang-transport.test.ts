// Erlang transport over real connections: responses that exceed the message limit.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { ServiceError } from '../../../api/errors.ts';
import { connectionLimits } from '../../../node/cluster/erlang/connection.ts';
import { ErlangTransport } from '../../../node/cluster/erlang-transport.ts';
import { startDistNode } from '../../kit/network/dist-nodes.ts';
import { freePort } from '../../kit/network/free-ports.ts';

async function startLinked(t: TestContext, name: string, epmdPort: number) {
  const { node, record } = await startDistNode(t, name, epmdPort);
  const links = new ErlangTransport(node.name, record.log);
  links.handle({ call: async (_from, _method, size) => 'x'.repeat(Number(size)), cast: () => {} });
  const met = Promise.withResolvers<void>();
  links.listen({ up: () => met.resolve(), down: () => {} });
  links.attach(node);
  return { node, links, met: met.promise };
}

test('a response that exceeds the message limit is an error, and the connection stays open', async (t) => {
  const epmdPort = await freePort();
  const [a, b] = [await startLinked(t, 'a', epmdPort), await startLinked(t, 'b', epmdPort)];
  await a.node.connect(b.node.name);
  await Promise.all([a.met, b.met]);
  const ask = (size: number) => a.links.call(b.node.name, 'anything', size, 60_000);
  await assert.rejects(ask(connectionLimits.messageBytes), (error) => error instanceof ServiceError && error.code === 'unavailable');
  assert.deepEqual([a.links.nodes(), b.links.nodes()], [[b.node.name], [a.node.name]]);
  // The quotes of the JSON string count too.
  const most = connectionLimits.messageBytes - 65_536 - 2;
  assert.equal(String(await ask(most)).length, most);
});
