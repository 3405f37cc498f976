// Messages of the console: durations, plurals, drain impact, health issues, room options and curl commands.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';
import { curlCommand } from '../../../packages/console/src/api/curl.ts';
import { drainImpact } from '../../../packages/console/src/cluster/drain-impact.ts';
import { formatDuration, plural, pluralize } from '../../../packages/console/src/format.ts';
import { healthIssues } from '../../../packages/console/src/health/health-issues.ts';
import { formatRemaining, limitFields, readRoomOptions } from '../../../packages/console/src/rooms/room-options.ts';
import type { ConfigValue, Health } from '../../../packages/server-sdk/src/generated/schemas.ts';
import { fieldsOf } from '../../kit/fields.ts';

test('durations show their two largest units, and counts have the right plural', () => {
  assert.deepEqual([0, 1, 59.9, 60, 3_725, 90_000, 86_400].map(formatDuration), [
    '0 seconds',
    '1 second',
    '59 seconds',
    '1 minute',
    '1 hour 2 minutes',
    '1 day 1 hour',
    '1 day',
  ]);
  assert.deepEqual(
    [pluralize(1, 'person', 'people'), pluralize(1_200, 'person', 'people'), pluralize(0, 'room')],
    ['1 person', '1,200 people', '0 rooms'],
  );
  assert.deepEqual(
    [0, 1, 1_200].map((value) => plural(value, 'one room ends', '# rooms end')),
    ['0 rooms end', 'one room ends', '1,200 rooms end'],
  );
});

test('the drain impact states where new rooms are created, which rooms end and which continue', () => {
  assert.deepEqual(drainImpact({ rooms: 5, roomsWithPeers: 2, connectedPeers: 9 }, 2, 600), [
    'New rooms will be created on the 2 other nodes that accept rooms.',
    '3 idle rooms end immediately.',
    '2 rooms with 9 participants continue until they are idle or the deadline; participants are notified.',
  ]);
  const busy = { rooms: 1, peers: 0, calls: 2, streams: 1, recordings: 0, files: 0 };
  assert.deepEqual(drainImpact({ rooms: 5, roomsWithPeers: 0, connectedPeers: 0, busy }, 2, 600).slice(1), [
    '4 idle rooms end immediately.',
    '1 room with 2 phone calls, 1 watched stream continues until it is idle or the deadline; participants are notified.',
  ]);
  assert.deepEqual(drainImpact({ rooms: 1, roomsWithPeers: 1, connectedPeers: 1 }, 0, 0), [
    'No other node accepts rooms: new rooms will be rejected until the drain is cancelled.',
    'No rooms end immediately.',
    '1 room with 1 participant ends immediately.',
  ]);
});

const well: Health = {
  status: 'UP',
  reason: null,
  uptime: 10,
  version: '0.7.0',
  gitCommit: 'unknown',
  distribution: { enabled: true, nodeStatus: 'UP', nodesInCluster: 2 },
  state: 'accepting',
  load: { rooms: 0, connectedPeers: 0, forwardedTracks: 0, streams: 0, cpu: 0, rejectedRooms: 0 },
  busy: { rooms: 0, peers: 0, calls: 0, streams: 0, recordings: 0, files: 0 },
  config: { files: [], shadowed: [], error: null },
};

test('a healthy node has no issues, and each issue of a node is listed, the most urgent first', () => {
  assert.deepEqual(healthIssues(well, []), []);
  const ill: Health = {
    ...well,
    status: 'DEGRADED',
    reason: 'No media worker is running',
    distribution: { ...well.distribution, nodeStatus: 'DOWN' },
    state: 'draining',
    config: { files: [], shadowed: ['limits.maxRooms'], error: 'Expected logLevel to be a level, got: loud' },
  };
  const found = healthIssues(ill, ['SVC_HOST is not set']);
  assert.deepEqual(fieldsOf(found, 'tone', 'title'), [
    ['danger', 'This node is degraded'],
    ['danger', 'This node is not connected to the cluster'],
    ['danger', 'Invalid configuration files'],
    ['warning', 'This node is draining'],
    ['warning', 'Startup warning'],
    ['info', 'limits.maxRooms in the configuration files has no effect'],
  ]);
  assert.match(found[2]?.text ?? '', /^Expected logLevel to be a level, got: loud\. The previous configuration stays active/);
});

test('the form of a new room omits an option, sends null or a value, and sends an invalid number unchanged', () => {
  const form = new FormData();
  const fields = {
    roomId: ' a ',
    externalId: '',
    'maxPeers-choice': 'value',
    maxPeers: '12',
    'peerlessPurgeTimeout-choice': 'null',
    'peerDisconnectedTimeout-choice': '',
    videoCodec: 'h264',
  };
  for (const [name, value] of Object.entries(fields)) form.set(name, value);
  assert.deepEqual(readRoomOptions(form), { roomId: 'a', videoCodec: 'h264', maxPeers: 12, peerlessPurgeTimeout: null });
  form.set('maxPeers', 'many');
  assert.equal(readRoomOptions(form).maxPeers as unknown, 'many');
});

test('omitted options of a new room show the effective configuration if it is known', () => {
  const value = (name: string, of: number | null): ConfigValue => ({
    name,
    value: of,
    source: 'default',
    secret: false,
    reloadable: true,
    meaning: '',
  });
  const words = (config?: ConfigValue[]) => limitFields.map((field) => formatRemaining(field, config));
  assert.deepEqual(words(), ['Server default', 'Server default', 'Server default']);
  assert.deepEqual(
    words([value('SVC_MAX_PEERS_PER_ROOM', 1_500), value('SVC_PEERLESS_PURGE_TIMEOUT', null), value('SVC_PEER_DISCONNECTED_TIMEOUT', 120)]),
    ['Default: at most 1,500', 'Default: never', 'Default: after 2 minutes'],
  );
});

test('a curl command does not contain the token, and a shell passes its arguments unchanged', () => {
  const body = { roomId: 'it\'s $(here) `now` \\ "so"', deep: [1, null] };
  const command = curlCommand({ method: 'POST', path: 'room', body }, 'http://127.0.0.1:5002/under/');
  assert.equal(curlCommand({ method: 'GET', path: 'room' }, 'http://a/'), `curl -sS -H "Authorization: Bearer $TOKEN" 'http://a/room'`);
  const printed = execFileSync('/bin/sh', ['-c', command.replace(/^curl/, "printf '%s\\n'")], {
    env: { TOKEN: 'my-token' },
    encoding: 'utf8',
  });
  const words = printed.trim().split('\n');
  assert.deepEqual(words.slice(0, 6), ['-sS', '-X', 'POST', '-H', 'Authorization: Bearer my-token', '-H']);
  assert.deepEqual(JSON.parse(words[8] ?? ''), body);
  assert.equal(words.at(-1), 'http://127.0.0.1:5002/under/room');
});
