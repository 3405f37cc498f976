// Keys of owners of owned objects.
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { controllerReference, type KubeObject } from '../../../../operator/kube/objects.ts';
import { OwnerKeys } from '../../../../operator/kube/owner-keys.ts';
import { room } from './fake-api.ts';

it('an owned object maps to the key of its controlling owner while that owner is known', () => {
  const owners = new OwnerKeys();
  const owner = room('standup', '1');
  const owned = (references: object[]) =>
    ({ apiVersion: 'v1', kind: 'Secret', metadata: { name: 's', namespace: 'default', ownerReferences: references } }) as KubeObject;
  const secret = owned([controllerReference(owner)]);
  assert.equal(owners.keyOfOwner(secret), undefined);
  owners.add(owner);
  assert.equal(owners.keyOfOwner(secret), 'default/standup');
  assert.equal(owners.keyOfOwner(owned([{ ...controllerReference(owner), controller: false }])), undefined);
  assert.equal(owners.keyOfOwner(owned([{ ...controllerReference(owner), uid: 'another' }])), undefined);
  owners.delete(owner);
  assert.deepEqual([owners.keyOfOwner(secret), owners.size], [undefined, 0]);
});
