// Parsing of responses of the API server, including rejections.
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

describe('toStatusError()', () => {
  it('treats an invalid server-side apply as a rejection, not as a server failure', () => {
    for (const what of ['patch', 'live']) {
      const message = `failed to create typed ${what} object (/x; v1, Kind=X): .spec.y: field not declared in schema`;
      const error = toStatusError(call, 500, answer(message, { code: 500 }), undefined);
      assert.deepEqual([error.status, error.reason, error.message], [422, 'Invalid', message]);
      assert.equal(isUnavailable(error), false);
    }
  });

  it('keeps other server failures unchanged', () => {
    const error = toStatusError(call, 500, answer('etcdserver: leader changed'), undefined);
    assert.deepEqual([error.status, isUnavailable(error)], [500, true]);
    const known = toStatusError(call, 500, answer('failed to create typed patch object', { reason: 'InternalError' }), undefined);
    assert.deepEqual([known.status, known.reason], [500, 'InternalError']);
  });
});
