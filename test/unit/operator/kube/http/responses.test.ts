// What the API server answers, read: its refusals among them.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { isUnavailable } from '../../../../../operator/kube/http/kube-error.ts';
import { toStatusError } from '../../../../../operator/kube/http/responses.ts';
import { resources } from '../../../../../operator/kube/objects.ts';

const call = { verb: 'apply', resource: resources.networkPolicies, name: 'a', namespace: 'default' } as const;
const answer = (message: string, more: object = {}) => ({
  kind: 'Status',
  apiVersion: 'v1',
  metadata: {},
  status: 'Failure',
  message,
  ...more,
});

describe('failure()', () => {
  it('takes a server-side apply that makes no sense as a refusal, not as a server that fails', () => {
    for (const what of ['patch', 'live']) {
      const message = `failed to create typed ${what} object (/x; v1, Kind=X): .spec.y: field not declared in schema`;
      const error = toStatusError(call, 500, answer(message, { code: 500 }), undefined);
      assert.deepEqual([error.status, error.reason, error.message], [422, 'Invalid', message]);
      assert.equal(isUnavailable(error), false);
    }
  });

  it('leaves other failures of the server what they are', () => {
    const error = toStatusError(call, 500, answer('etcdserver: leader changed'), undefined);
    assert.deepEqual([error.status, isUnavailable(error)], [500, true]);
    const known = toStatusError(call, 500, answer('failed to create typed patch object', { reason: 'InternalError' }), undefined);
    assert.deepEqual([known.status, known.reason], [500, 'InternalError']);
  });
});
