// Leader election: at most one leader despite clock skew, failures and freezes.
import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { KubeError } from '../../../../operator/kube/http/kube-error.ts';
import { LeaderElector } from '../../../../operator/kube/lease.ts';
import { silentLog } from '../../../kit/silent-log.ts';
import { turns } from '../../../kit/turns.ts';
import { FakeLeases } from './fake-leases.ts';

const unreachable = () => new KubeError({ status: 0, reason: 'Unreachable', message: 'The API server could not be reached.' });

/** Electors on one store of Leases, with a mocked clock. */
function world(t: TestContext) {
  // Records of a Lease differ by their time, and many renewals of a test happen in the same real millisecond.
  t.mock.timers.enable({ apis: ['setTimeout', 'setInterval', 'Date'] });
  const leases = new FakeLeases();
  let time = 0;
  /** Advances the clock in steps and runs due timers. */
  const pass = async (ms: number, step = 100) => {
    for (let elapsed = 0; elapsed < ms; elapsed += step) {
      time += step;
      t.mock.timers.tick(step);
      await turns();
    }
  };
  const elector = (identity: string) => {
    const state = { leads: false, lost: undefined as unknown, result: undefined as string | undefined, changes: [] as boolean[] };
    const end = new AbortController();
    const finish = new AbortController();
    const one = new LeaderElector({
      client: leases.client(identity),
      namespace: 'default',
      name: 'operator',
      identity,
      log: silentLog(),
      now: () => time,
      random: () => 0,
      onChange: (leading) => state.changes.push(leading),
    });
    const running = one.run(end.signal, async (lost) => {
      state.leads = true;
      await new Promise((resolve) => {
        lost.addEventListener('abort', resolve);
        finish.signal.addEventListener('abort', resolve);
      });
      state.leads = false;
      state.lost = lost.reason;
    });
    void running.then((result) => {
      state.result = result;
    });
    t.after(async () => {
      end.abort();
      await pass(5000);
      await running;
    });
    return { one, state, end, finish, running };
  };
  /** Simulates a stopped process: time passes without running timers. */
  const freeze = (ms: number) => {
    time += ms;
  };
  return { leases, elector, pass, freeze, now: () => time };
}

/** With an elector `a` that leads. */
async function withLeader(t: TestContext) {
  const made = world(t);
  const a = made.elector('a');
  await made.pass(100);
  return { ...made, a };
}

describe('A leader elector', () => {
  it('creates a missing lease and renews it', async (t) => {
    const { a, leases, pass } = await withLeader(t);
    assert.equal(a.state.leads && a.one.leading, true);
    assert.equal(leases.lease?.spec.holderIdentity, 'a');
    assert.equal(leases.lease?.spec.leaseDurationSeconds, 15);
    assert.match(String(leases.lease?.spec.renewTime), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/);
    await pass(60_000);
    assert.equal(a.state.leads, true);
    assert.ok(leases.writes >= 28 && leases.writes <= 31, `${leases.writes} writes in a minute`);
  });

  it('waits while another process leads, and takes over as soon as the lease is released', async (t) => {
    const { a, leases, elector, pass } = await withLeader(t);
    const b = elector('b');
    await pass(30_000);
    assert.equal(b.state.leads, false);
    a.finish.abort();
    await pass(2500);
    assert.deepEqual([a.state.result, a.one.leading], ['ended', false]);
    assert.equal(b.state.leads, true);
    assert.equal(leases.lease?.spec.leaseTransitions, 1);
    assert.deepEqual(a.state.changes, [true, false]);
  });

  it('releases the lease at shutdown', async (t) => {
    const { a, leases, pass } = await withLeader(t);
    const reason = new Error('SIGTERM');
    a.end.abort(reason);
    await pass(100);
    assert.deepEqual([a.state.result, a.state.lost, leases.lease?.spec.holderIdentity], ['ended', reason, '']);
  });

  it('can end while it waits, without writing', async (t) => {
    const { a, leases, elector, pass } = await withLeader(t);
    const b = elector('b');
    await pass(100);
    b.end.abort();
    await pass(100);
    assert.deepEqual([b.state.result, b.state.changes, leases.lease?.spec.holderIdentity], ['ended', [], 'a']);
    assert.equal(a.state.leads, true);
  });

  it('takes over after the lease duration by the local clock, whatever times the record contains', async (t) => {
    for (const renewTime of ['1999-01-01T00:00:00.000000Z', '2099-01-01T00:00:00.000000Z', 'nonsense']) {
      await t.test(renewTime, async (inner) => {
        const { leases, elector, pass } = world(inner);
        const metadata = { name: 'operator', namespace: 'default', uid: 'uid', resourceVersion: 'x' };
        const spec = { holderIdentity: 'dead', leaseDurationSeconds: 15, renewTime, leaseTransitions: 3 };
        leases.lease = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata, spec };
        const b = elector('b');
        await pass(14_900);
        assert.equal(b.state.leads, false);
        await pass(2200);
        assert.deepEqual([b.state.leads, leases.lease.spec.leaseTransitions], [true, 4]);
      });
    }
  });

  it('stops leading 10 s after its last renewal during an outage, before another process may lead', async (t) => {
    const { a, leases, elector, pass, now } = await withLeader(t);
    const b = elector('b');
    await pass(4000);
    leases.before = (_verb, client) => {
      if (client === 'a') throw unreachable();
    };
    const cut = now();
    let stopped = 0;
    while (!b.state.leads) {
      await pass(100);
      if (!a.state.leads && stopped === 0) stopped = now();
    }
    assert.ok(stopped - cut <= 10_500 && stopped - cut >= 7000, `stopped after ${stopped - cut} ms`);
    assert.ok(now() - stopped >= 3000, `the next one led ${now() - stopped} ms later`);
    assert.equal(a.state.result, 'lost');
  });

  it('stops leading in time even if a renewal hangs', async (t) => {
    const { a, leases, pass } = await withLeader(t);
    const hanging = new AbortController();
    leases.before = () => new Promise((resolve) => hanging.signal.addEventListener('abort', () => resolve()));
    await pass(10_600);
    assert.deepEqual([a.state.leads, a.one.leading, a.state.changes], [false, false, [true, false]]);
    hanging.abort();
    leases.before = () => {};
    await pass(100);
    assert.equal(a.state.result, 'lost');
  });

  it('does not lead after a freeze, and does not renew a lost lease', async (t) => {
    const { a, leases, pass, freeze } = await withLeader(t);
    // Another process led and released the lease during the freeze.
    freeze(20_000);
    leases.lease = {
      ...leases.lease,
      metadata: { ...leases.lease?.metadata, resourceVersion: 'other' },
      spec: { holderIdentity: '' },
    } as never;
    assert.equal(a.one.leading, false);
    const writes = leases.writes;
    await pass(2500);
    assert.deepEqual([a.state.result, leases.writes], ['lost', writes]);
  });

  it('stops leading when another process has the lease', async (t) => {
    const { a, leases, pass } = await withLeader(t);
    leases.overwrite({ holderIdentity: 'thief', leaseDurationSeconds: 15, renewTime: 'now' });
    await pass(2200);
    assert.deepEqual([a.state.result, leases.lease?.spec.holderIdentity], ['lost', 'thief']);
  });

  it('is never one of two leaders among five processes that start and stop at random', async (t) => {
    const { elector, pass } = world(t);
    let seed = 7;
    const random = () => {
      seed = (seed * 48_271) % 2_147_483_647;
      return seed / 2_147_483_647;
    };
    const all = Array.from({ length: 5 }, (_, index) => elector(`elector-${index}`));
    const led = new Set<number>();
    for (let round = 0; round < 200; round++) {
      await pass(400);
      const leaders = all.flatMap(({ state }, index) => (state.leads ? [index] : []));
      assert.ok(leaders.length <= 1, `${leaders.join(' and ')} lead concurrently`);
      for (const leader of leaders) led.add(leader);
      const [leader] = leaders;
      if (leader !== undefined && led.size < 5 && random() < 0.3) all[leader]?.end.abort();
    }
    assert.equal(led.size, 5);
  });
});
