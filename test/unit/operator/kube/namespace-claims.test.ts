// Claims of namespaces: one installation manages a namespace, its replicas continue at once, others after the claim expired.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { KubeError } from '../../../../operator/kube/http/kube-error.ts';
import { NamespaceClaims, whereClaimed } from '../../../../operator/kube/namespace-claims.ts';
import { silentLog } from '../../../kit/silent-log.ts';
import { FakeLeases } from './fake-leases.ts';

const leaseMs = 15_000;

/** Installations on one Lease, with one clock. */
function world() {
  const leases = new FakeLeases();
  const clock = { now: 0 };
  const claimsOf = (installation: string) =>
    new NamespaceClaims({ client: leases.client(installation), installation, leaseMs, log: silentLog(), now: () => clock.now });
  return { leases, clock, claimsOf };
}

/** Renews the Lease like another process: a Lease that is written in the same millisecond again would have the same record. */
const renewed = (leases: FakeLeases, holderIdentity: string, leaseDurationSeconds: number, renewTime: string) =>
  leases.overwrite({ holderIdentity, leaseDurationSeconds, renewTime });

test('the first installation claims a namespace, and its replicas share the claim', async () => {
  const { leases, claimsOf } = world();
  assert.equal(await claimsOf('a/operator').conflict('calls'), undefined);
  assert.equal(leases.lease?.metadata.name, 'mediarooms-claim');
  assert.deepEqual([leases.lease?.spec.holderIdentity, leases.lease?.spec.leaseDurationSeconds], ['a/operator', 60]);
  assert.equal(await claimsOf('a/operator').conflict('calls'), undefined);
  assert.deepEqual(await claimsOf('b/operator').conflict('calls'), { holder: 'a/operator' });
});

test('another installation takes over only after it saw no renewal for the validity of the claim', async () => {
  const { leases, clock, claimsOf } = world();
  await claimsOf('a/operator').conflict('calls');
  const other = claimsOf('b/operator');
  const foreign = async () => {
    await other.renew();
    return (await other.conflict('calls'))?.holder;
  };
  await other.conflict('calls');
  clock.now = 50_000;
  renewed(leases, 'a/operator', 60, 'later');
  assert.equal(await foreign(), 'a/operator');
  clock.now = 109_000;
  assert.equal(await foreign(), 'a/operator');
  clock.now = 110_000;
  assert.equal(await foreign(), undefined);
  assert.deepEqual([leases.lease?.spec.holderIdentity, leases.lease?.spec.leaseTransitions], ['b/operator', 1]);
});

test('an operator that ended in order shortens its claim', async () => {
  const { leases, clock, claimsOf } = world();
  const first = claimsOf('a/operator');
  await first.conflict('calls');
  await first.end();
  assert.deepEqual([leases.lease?.spec.holderIdentity, leases.lease?.spec.leaseDurationSeconds], ['a/operator', 15]);
  const other = claimsOf('b/operator');
  await other.conflict('calls');
  clock.now = 15_000;
  await other.renew();
  assert.equal(await other.conflict('calls'), undefined);
});

test('a claim that was not renewed in time permits nothing until it is renewed', async () => {
  const { leases, clock, claimsOf } = world();
  const claims = claimsOf('a/operator');
  await claims.conflict('calls');
  clock.now = 30_000;
  leases.before = () => {
    throw new KubeError({ status: 0, reason: 'Unreachable', message: 'The API server could not be reached.' });
  };
  await assert.rejects(claims.conflict('calls'), /could not be reached/);
  leases.before = () => {};
  assert.equal(await claims.conflict('calls'), undefined);
  clock.now = 60_000;
  renewed(leases, 'b/operator', 60, 'b');
  assert.deepEqual(await claims.conflict('calls'), { holder: 'b/operator' });
});

test('the claim of the namespace of the operator is deleted with the operator', async () => {
  const reference = { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'operator-1', uid: 'uid-1' };
  /** Owners of the claim of `calls`, for an operator of that namespace. */
  const ownersFor = async (namespace: string) => {
    const { leases } = world();
    const owner = { namespace, reference };
    await new NamespaceClaims({ client: leases.client('a'), installation: 'a', leaseMs, owner, log: silentLog() }).conflict('calls');
    return leases.lease?.metadata.ownerReferences;
  };
  assert.deepEqual([await ownersFor('calls'), await ownersFor('others')], [[reference], undefined]);
});

test('two that start at once agree on one', async () => {
  const { leases, claimsOf } = world();
  const [one, other] = [claimsOf('a/operator'), claimsOf('b/operator')];
  const found = await Promise.all([one.conflict('calls'), other.conflict('calls')]);
  assert.equal(found.filter((each) => each === undefined).length, 1);
  assert.equal(leases.lease?.spec.holderIdentity, found[0] === undefined ? 'a/operator' : 'b/operator');
});

test('without the permission for Leases a namespace is managed without a claim', async () => {
  const { leases, claimsOf } = world();
  leases.before = () => {
    throw new KubeError({ status: 403, reason: 'Forbidden', message: 'leases is forbidden' });
  };
  const claims = claimsOf('a/operator');
  assert.equal(await claims.conflict('calls'), undefined);
  leases.before = () => {};
  await claims.renew();
  assert.equal(leases.lease?.spec.holderIdentity, 'a/operator');
});

test('a reconcile in a namespace of another installation is reported and repeated, not performed', async () => {
  const seen: string[] = [];
  const claims = { retryMs: 10, conflict: async (namespace: string) => (namespace === 'theirs' ? { holder: 'a' } : undefined) };
  const reconcile = whereClaimed(
    claims,
    async (key) => {
      seen.push(`reconciled ${key}`);
      return undefined;
    },
    (key, holder) => seen.push(`${key} of ${holder}`),
  );
  const { signal } = new AbortController();
  assert.deepEqual([await reconcile('ours/c', signal), await reconcile('theirs/c', signal)], [undefined, { requeueAfterMs: 10 }]);
  assert.deepEqual(seen, ['reconciled ours/c', 'theirs/c of a']);
});
