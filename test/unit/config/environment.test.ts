// Environment of child processes: our settings are absent, and variables for one child exist only while it is spawned.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { withoutSettings } from '../../../node/env.ts';

test('a child gets the variables given for it and none of our settings; afterwards all are as before', (t) => {
  Object.assign(process.env, { SVC_SERVER_API_TOKEN: 'secret', MEDIASOUP_UDP_BATCH: 'false' });
  t.after(() => {
    delete process.env.SVC_SERVER_API_TOKEN;
    delete process.env.MEDIASOUP_UDP_BATCH;
  });
  const names = ['SVC_SERVER_API_TOKEN', 'MEDIASOUP_UDP_BATCH', 'MEDIASOUP_UDP_GSO'] as const;
  const values = () => names.map((name) => process.env[name]);
  const before = values();
  const more = { MEDIASOUP_UDP_BATCH: 'true', MEDIASOUP_UDP_GSO: 'false' };
  assert.deepEqual(withoutSettings(values, more), [undefined, 'true', 'false']);
  assert.deepEqual(values(), before);
  assert.throws(() =>
    withoutSettings(() => {
      throw new Error('not spawned');
    }, more),
  );
  assert.deepEqual(values(), before);
});
