// Option fields: generated from the OpenAPI document of the server, and read back as valid options.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { documentedComponentOptions } from '../../../api/component/types.ts';
import { openApiDocument } from '../../../node/http/openapi.ts';
import { routes } from '../../../node/http/routes/routes.ts';
import {
  componentFields,
  type Field,
  formFieldOf,
  type OpenApi,
  optionsOf,
} from '../../../packages/console/src/room/components/option-fields.ts';

const found = componentFields(openApiDocument(routes, { version: 'test', path: '' }) as OpenApi);
const fieldsOf = (type: string) => found.get(type)?.fields ?? [];
const named = (fields: readonly Field[], path: string) => fields.find((field) => field.path === path);

test('each component type has the fields of its schema, required ones first and groups last', () => {
  assert.deepEqual([...found.keys()], ['hls', 'recording', 'sip', 'file']);
  assert.deepEqual(
    fieldsOf('file').map(({ path, kind, required }) => [path, kind, required]),
    [
      ['filePath', 'text', true],
      ['framerate', 'number', false],
    ],
  );
  const { default: preset, title, description } = named(fieldsOf('hls'), 'segmentDuration') ?? assert.fail();
  assert.deepEqual([preset, title, description], [2, 'Segment duration', 'Seconds.']);
  const layout = named(fieldsOf('hls'), 'layout');
  assert.deepEqual(layout?.kind === 'choice' && [layout.choices, layout.default], [['grid', 'speaker', 'single'], 'grid']);
  assert.equal(fieldsOf('hls').at(-1)?.path, 's3');
  const credentials = named(fieldsOf('sip'), 'registrarCredentials');
  assert.deepEqual(credentials?.kind === 'group' && credentials.fields.map(({ path, kind }) => [path, kind]), [
    ['registrarCredentials.address', 'text'],
    ['registrarCredentials.username', 'text'],
    ['registrarCredentials.password', 'secret'],
  ]);
  assert.equal(named(fieldsOf('sip'), 'caCertificate')?.kind, 'long');
});

test('only options that differ from the default are sent, with types that the server accepts', () => {
  const read = (type: string, values: Record<string, string>) => {
    const options = optionsOf(fieldsOf(type), (path) => values[path]);
    return { options, taken: documentedComponentOptions.safeParse({ type, options }).success };
  };
  const untouched = { lowLatency: 'on', subscribeMode: 'auto', layout: 'grid', width: '', framerate: ' ' };
  assert.deepEqual(read('hls', untouched), { options: {}, taken: true });
  assert.deepEqual(read('hls', { subscribeMode: 'auto', layout: 'single', names: 'on', width: ' 640 ' }), {
    options: { lowLatency: false, layout: 'single', names: true, width: 640 },
    taken: true,
  });
  assert.deepEqual(read('recording', { subscribeMode: 'manual', origins: ' host, guest-1 ' }), {
    options: { subscribeMode: 'manual', origins: ['host', 'guest-1'] },
    taken: true,
  });
  assert.deepEqual(read('hls', { ...untouched, framerate: 'fast' }), { options: { framerate: 'fast' }, taken: false });
  assert.deepEqual(
    read('recording', {
      subscribeMode: 'auto',
      'credentials.bucket': 'b-1',
      'credentials.accessKeyId': 'k',
      'credentials.secretAccessKey': ' s ',
    }),
    { options: { credentials: { bucket: 'b-1', accessKeyId: 'k', secretAccessKey: ' s ' } }, taken: true },
  );
  assert.deepEqual(read('sip', {}).options, { registrarCredentials: {} });
});

test('an error of the server is assigned to the form field that its field names', () => {
  const at = (type: string, field: string | undefined) => formFieldOf(field, fieldsOf(type));
  assert.equal(at('hls', 'options.framerate'), 'framerate');
  assert.equal(at('hls', 'options.origins[0]'), 'origins');
  assert.equal(at('sip', 'options.registrarCredentials.address'), 'registrarCredentials.address');
  assert.equal(at('sip', 'options.registrarCredentials'), 'registrarCredentials');
  assert.equal(at('file', 'type'), undefined);
  assert.equal(at('file', undefined), undefined);
});
