// LiveKit for benchmarks: its version is that of go.mod.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { serverVersion } from '../../../tools/livekit/build.mjs';
import { root } from '../../../tools/paths.mjs';

test('the version of the server is the one that go.mod of the load generator requires', () => {
  const read = (name: string) => readFileSync(join(root, 'test/bench/load', name), 'utf8');
  const version = serverVersion(read('go.mod'));
  assert.match(version, /^\d+\.\d+\.\d+$/);
  assert.ok(read('go.sum').includes(`github.com/livekit/livekit-server v${version} h1:`));
  assert.equal(serverVersion('require github.com/livekit/livekit-server v1.2.3\n'), '1.2.3');
  assert.throws(() => serverVersion('require github.com/livekit/protocol v1.2.3\n'), /requires no github.com\/livekit\/livekit-server/);
});
