// Cluster webhooks: every node returns the data of all nodes and names unresponsive ones.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ServiceError } from '../../../api/errors.ts';
import type { DeadLetterView, WebhookReplay, WebhookStatus } from '../../../api/webhook.ts';
import { serveWebhooks, WebhookHandover } from '../../../node/cluster/cluster-webhooks.ts';
import { Members } from '../../../node/cluster/nodes.ts';
import type { LocalWebhookService } from '../../../node/rooms/services/webhook-admin.ts';
import { eventually } from '../../kit/eventually.ts';
import { callsOf, makeDispatcher, makeRouter, type OperationCalls } from '../../kit/fakes/dispatcher.ts';
import { FakeNetwork } from '../../kit/fakes/fake-links.ts';
import { roomEvent } from '../../kit/fakes/webhooks.ts';
import { fieldsOf } from '../../kit/fields.ts';
import { silentLog } from '../../kit/silent-log.ts';
import { turns } from '../../kit/turns.ts';

const status: WebhookStatus = {
  delivered: 1,
  retries: 0,
  dead: 0,
  pending: 2,
  pendingBytes: 300,
  spoolErrors: 0,
  spoolBytes: 0,
  receivers: [],
};

function letter(roomId: string, second: number, metadata?: string): DeadLetterView {
  const event = { ...roomEvent(roomId, second), ...(metadata !== undefined && { metadata }) };
  return { receiver: 'https://hooks.test', givenUpAt: `2026-01-01T00:00:0${second}.000Z`, reason: 'refused', attempts: 1, event };
}

/** Newest first, like a node returns them. */
function own(letters: DeadLetterView[]): LocalWebhookService {
  const matching = ({ roomId }: WebhookReplay) => letters.filter(({ event }) => roomId === undefined || event.roomId === roomId);
  return {
    status: () => status,
    deadLetters: (filter, limit) => matching(filter).slice(0, limit),
    replay: (filter) => matching(filter).length,
    take: () => 0,
  };
}

function makeNodes(...lists: DeadLetterView[][]) {
  const network = new FakeNetwork();
  const nodes = lists.map((letters, index) => {
    const links = network.join(`svc@${'abc'[index]}`);
    const webhooks = own(letters);
    const dispatcher = makeDispatcher({ links });
    serveWebhooks({ dispatcher, log: silentLog(), own: webhooks });
    return { links, webhooks, run: callsOf(makeRouter(dispatcher)) };
  });
  network.connectAll();
  return { network, nodes, asked: nodes[0]?.run as OperationCalls };
}

test('status and dead letters cover all nodes, with node names, newest first', async () => {
  const { asked } = makeNodes([letter('one', 3), letter('one', 1)], [letter('two', 4), letter('two', 2)]);
  assert.deepEqual(await asked.getWebhooks({}), {
    data: [
      { node: 'svc@a', ...status },
      { node: 'svc@b', ...status },
    ],
    incomplete: [],
  });
  const { data: letters, incomplete } = await asked.listDeadLetters({}, undefined, { limit: 3 });
  assert.deepEqual(
    letters.map(({ node, event }) => [node, event.seq]),
    [
      ['svc@b', 4],
      ['svc@a', 3],
      ['svc@b', 2],
    ],
  );
  assert.deepEqual(incomplete, []);
  assert.deepEqual(fieldsOf((await asked.listDeadLetters({}, undefined, { roomId: 'one', limit: 9 })).data, 'node'), ['svc@a', 'svc@a']);
});

test('nodes without a response within 2 s or with an invalid response are named', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const { asked, nodes } = makeNodes([letter('one', 1)], [letter('two', 2)], [letter('three', 3)]);
  nodes[1]?.links.handle({ call: () => new Promise(() => {}), cast: () => {} });
  nodes[2]?.links.handle({ call: async () => 'nonsense', cast: () => {} });
  const answers = Promise.all([asked.getWebhooks({}), asked.listDeadLetters({}, undefined, { limit: 9 })]);
  await turns(20);
  t.mock.timers.tick(2_000);
  const [states, { data: letters, incomplete }] = await answers;
  assert.deepEqual(fieldsOf(states.data, 'node'), ['svc@a']);
  assert.deepEqual(fieldsOf(letters, 'node'), ['svc@a']);
  assert.deepEqual(
    [states.incomplete, incomplete],
    [
      ['svc@b', 'svc@c'],
      ['svc@b', 'svc@c'],
    ],
  );
});

test('a node sends at most 4 MiB of dead letters to another node, the newest', async () => {
  const long = 'x'.repeat(15_000);
  const many = Array.from({ length: 900 }, () => letter('two', 1, long));
  const { asked } = makeNodes([], many);
  const { data: letters } = await asked.listDeadLetters({}, undefined, { limit: 999 });
  assert.ok(letters.length > 200 && letters.length < 300, `${letters.length}`);
});

test('invalid requests of another node are rejected', async () => {
  const { nodes } = makeNodes([], []);
  const call = (method: string, data: unknown) => nodes[1]?.links.call('svc@a', method, data, 1_000) ?? Promise.resolve();
  await assert.rejects(call('deadLetters', { filter: {}, limit: 0 }), { code: 'bad_request' });
  await assert.rejects(call('replayDeadLetters', { roomId: '../x' }), { code: 'bad_request' });
  await assert.rejects(call('another', null), { code: 'bad_request' });
});

test('a handover tries the next node if one rejects or does not respond, and does not ask that node again', async (t) => {
  const network = new FakeNetwork();
  const asked: string[] = [];
  const heir = (name: string, answer: () => Promise<unknown>) =>
    network.join(name).handle({
      call: (_from, method) => {
        asked.push(`${name} ${method}`);
        return answer();
      },
      cast: () => {},
    });
  heir('svc@a', () => new Promise(() => {}));
  heir('svc@b', () => Promise.reject(new ServiceError('unavailable', 'This node is shutting down')));
  heir('svc@c', async () => 1);
  const links = network.join('svc@d');
  const member = { internalAddress: '', address: '', version: '', tls: false, state: 'accepting' as const, rpc: 2 };
  const members = new Members(links);
  for (const name of ['svc@a', 'svc@b', 'svc@c']) members.set({ name, ...member });
  const ending = new WebhookHandover({ links, dispatcher: makeDispatcher({ links }), members }, silentLog());
  network.connectAll();
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const first = ending.handOver([]);
  await eventually('a request at the first node', () => asked.length === 1, { every: 2 });
  t.mock.timers.tick(10_000);
  await first;
  await ending.handOver([]);
  assert.deepEqual(asked, ['svc@a webhooks', 'svc@b webhooks', 'svc@c webhooks', 'svc@c webhooks']);
  network.kill('svc@c');
  await assert.rejects(ending.handOver([]), { code: 'unavailable' });
});
