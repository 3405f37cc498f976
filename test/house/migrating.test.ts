// Migration guide: docs/guides/migrating.md lists each default that differs from the 0.6 line, with its current value.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { hlsDefaults } from '../../api/component/hls.ts';

const read = (name: string) => readFile(new URL(`../../docs/${name}`, import.meta.url), 'utf8');
const [migrating, configuration] = await Promise.all([read('guides/migrating.md'), read('reference/configuration.md')]);
const rowsOf = (text: string) =>
  text
    .split('\n')
    .filter((line) => line.startsWith('| '))
    .map((line) => line.slice(2, -2).split(' | '));

/** Default and image value of configuration.md by variable. */
const configured = new Map(
  rowsOf(configuration).map(([name = '', , byDefault = '', image = '']) => [
    name,
    image.trim() === '' ? byDefault : `${byDefault} (image: ${image})`,
  ]),
);
const [, section = ''] = migrating.split('## Defaults that differ');
const [variables = '', others = ''] = section.split('## ')[0]?.split('Behavior without a variable that differs') ?? [];

test('each variable whose default differs from the 0.6 line is listed with its current default', () => {
  const rows = rowsOf(variables).filter(([name = '']) => name.startsWith('`SVC_'));
  for (const [name = '', now] of rows) assert.equal(now, configured.get(name.replaceAll('`', '')), name);
  const named = rows.map(([name = '']) => name.replaceAll('`', ''));
  for (const name of ['PEER_DISCONNECTED_TIMEOUT', 'RAW_RECORDING_TTL', 'WEBRTC_TURN_ENABLED', 'SERVER_API_TOKEN', 'DIST_COOKIE'])
    assert.ok(named.includes(`SVC_${name}`), name);
});

test('changed behavior without a variable is listed', () => {
  for (const what of [
    'cannot be right',
    'metrics of a room',
    'webhooks',
    '`HlsUploadCrashed`',
    'closing of the peer websocket',
    '`GET /room`',
  ])
    assert.ok(others.includes(what), what);
  assert.match(others, new RegExp(`\\| \`lowLatency\` of \`hls\` \\| \`${hlsDefaults.lowLatency}\``));
});
