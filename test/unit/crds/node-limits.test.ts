// Limits of the CRDs and of nodes: what the API server accepts, a node accepts, although CEL and the node check it differently.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { z } from 'zod';
import { hlsDefaults } from '../../../api/component/hls.ts';
import { recordingOptionsSchema } from '../../../api/component/recording.ts';
import { kube, type Rule, staysBelow } from '../../../api/core/kube.ts';
import { peerOptionsSchema } from '../../../api/peer.ts';
import { maxTimeout, roomOptionsSchema, roomPatchSchema } from '../../../api/room.ts';
import { staticSettings } from '../../../api/settings/static.ts';
import { corsOrigin } from '../../../api/settings/values.ts';
import { reloadableVariables } from '../../../api/settings/variables.ts';
import { clusterConfigSchema } from '../../../crds/cluster-config.ts';
import { allowedExtraEnv } from '../../../crds/cluster-pods.ts';
import { specAndStatus } from '../../../crds/crd-manifests.ts';
import { crdFieldRows } from '../../../crds/reference.ts';
import type { Json } from '../../../crds/structural.ts';
import { mediaClusterSchema, roomSchema } from '../../../crds/types.ts';
import { parseOptions } from '../../../node/components/hls/options.ts';
import { Admission } from '../../../node/components/process/admission.ts';
import { createSipSpec } from '../../../node/components/sip/sip-component.ts';
import { SipUserAgents } from '../../../node/components/sip/sip-user-agents.ts';
import { fileSchema } from '../../../node/config/settings.ts';

type Fields = ReadonlyMap<string, Json>;
const fieldsOf = (schema: z.ZodType): Fields =>
  new Map(crdFieldRows(specAndStatus(schema).spec, '').map(({ path, schema: field }) => [path, field]));

/** What rules without a pattern accept. */
const otherRules: Record<string, (text: string) => boolean> = {
  [staysBelow('').rule]: (text) => !text.split('/').includes('..'),
  [kube.get(corsOrigin)?.rules?.[1]?.rule ?? '']: (text) => !/^(https:.*:443|http:.*:80)$/.test(text),
};

/** Whether the API server accepts a text in a field, or in an item of a list. */
function crdAccepts(fields: Fields, path: string, text: string): boolean {
  const found = fields.get(path) ?? assert.fail(path);
  const field = (found.items ?? found) as Json;
  if (text.length > Number(field.maxLength ?? Number.POSITIVE_INFINITY)) return false;
  return (field['x-kubernetes-validations'] as Rule[]).every(({ rule }) => {
    const pattern = /^self\.matches\(r'(.*)'\)$/.exec(rule)?.[1];
    return pattern === undefined ? (otherRules[rule] ?? assert.fail(rule))(text) : new RegExp(pattern, 'u').test(text);
  });
}

describe('config of a MediaCluster and the file of a node', () => {
  const fields = fieldsOf(mediaClusterSchema);

  /** Texts of each form: both accept or both reject it. */
  const samples: Record<string, { path: (text: string) => unknown; texts: string[] }> = {
    corsOrigins: {
      path: (text) => ({ corsOrigins: [text] }),
      texts: [
        '*',
        'https://a.example',
        'http://localhost:3000',
        'https://[::1]:8080',
        'https://a.example/',
        'a.example',
        'https://a:443',
        'http://a:80',
        'https://u@a',
        'ws://a',
        '',
      ],
    },
    'webhooks.urls': {
      path: (text) => ({ webhooks: { urls: [text] } }),
      texts: ['http://a', 'https://a.example:8080/x?y=z', 'https://a#b', 'ftp://a', 'http://', 'x', '', `http://a/${'b'.repeat(2041)}`],
    },
    's3.endpoint': {
      path: (text) => ({ s3: { bucket: 'abc', endpoint: text } }),
      texts: ['http://minio:9000', 'https://s3.example/x', 'https://u:p@s3.example', 'https://a?b', 'https://a#b', 'minio:9000', ''],
    },
    's3.pathPrefix': {
      path: (text) => ({ s3: { bucket: 'abc', pathPrefix: text } }),
      texts: ['a', 'a/b/', 'a..b', '/a', 'a/../b', '..', '', 'a\nb', 'é', 'a'.repeat(512), 'a'.repeat(513)],
    },
  };
  for (const [name, { path, texts }] of Object.entries(samples)) {
    it(`accept the same texts as ${name}`, () => {
      assert.deepEqual(
        texts.map((text) => [text, crdAccepts(fields, `config.${name}`, text)]),
        texts.map((text) => [text, fileSchema.safeParse(path(text)).success]),
      );
    });
  }
});

describe('A Room and the REST API of a node', () => {
  const roomSpec = specAndStatus(roomSchema).spec;
  const accepts = (schema: z.ZodType, value: unknown) => schema.safeParse(value).success;
  const room = (field: object) => accepts(roomSchema.shape.spec, field);

  it('write never as 0; the REST API accepts null too', () => {
    for (const field of ['peerlessPurgeTimeout', 'peerDisconnectedTimeout']) {
      for (const seconds of [0, 1, maxTimeout, -1, 0.5, maxTimeout + 1, '0']) {
        const own = room({ [field]: seconds });
        assert.deepEqual([accepts(roomOptionsSchema, { [field]: seconds }), accepts(roomPatchSchema, { [field]: seconds })], [own, own]);
        const defaults = { roomDefaults: { [field]: seconds } };
        assert.deepEqual([accepts(clusterConfigSchema, defaults), accepts(fileSchema, defaults)], [own, own], `${field}: ${seconds}`);
      }
      for (const never of [0, null]) {
        assert.deepEqual(roomOptionsSchema.parse({ [field]: never }), { [field]: null });
        assert.deepEqual(roomPatchSchema.parse({ [field]: never }), { [field]: null });
      }
    }
  });

  it('accept the same webhook URLs', () => {
    for (const webhookUrl of [
      'http://a',
      'https://a.example:1/b?c',
      'https://a#b',
      'ftp://a',
      'a',
      'http://',
      `http://a/${'b'.repeat(2048)}`,
    ])
      assert.equal(room({ webhookUrl }), accepts(roomOptionsSchema, { webhookUrl }), webhookUrl);
  });

  it('have the same permissions of a peer', () => {
    const permissions = { publish: ['audio', 'video'], subscribe: true, data: true, roomMetadata: true, publishSources: ['camera'] };
    assert.ok(accepts(peerOptionsSchema, { type: 'webrtc', options: { permissions } }));
    assert.ok(room({ peers: [{ name: 'a', permissions }] }));
    const own = crdFieldRows(roomSpec, '').filter(({ path }) => path.startsWith('peers[].permissions.'));
    assert.deepEqual(
      own.map(({ path }) => path.split('.').at(-1)),
      Object.keys(permissions),
    );
  });
});

describe('Options of a component in a Room and in the REST API', () => {
  const fields = fieldsOf(roomSchema);
  const place = {
    announcedIp: '192.0.2.1',
    ports: { min: 5060, max: 5060 },
    rtpPorts: { min: 1, max: 2 },
    userAgent: 'test',
    allowPrivate: true,
  };
  const admission = new Admission(() => ({ budget: 1, cores: 1, busy: 0 }));
  const sipUserAgents = new SipUserAgents({ place: () => place, admission });
  const sipAccepts = (credentials: object, more: object = {}) => {
    try {
      const registrarCredentials = { address: 'sip.example', username: 'u', password: 'p', ...credentials };
      return createSipSpec({ registrarCredentials, ...more }, sipUserAgents) !== undefined;
    } catch {
      return false;
    }
  };
  const recordingAccepts = (options: object) => recordingOptionsSchema.safeParse(options).success;
  const target = { bucket: 'abc', accessKeyId: 'i', secretAccessKey: 's' };
  const samples: Record<string, { node: (text: string) => boolean; texts: string[] }> = {
    'recording.s3.endpoint': {
      node: (endpoint) => recordingAccepts({ credentials: { ...target, endpoint } }),
      texts: ['http://minio:9000', 'https://s3.example/x', 'https://u:p@s3.example', 'minio:9000', ''],
    },
    'sip.registrarAddress': {
      node: (address) => sipAccepts({ address }),
      texts: [
        ...['sip:a', 'SIPS:a.b:5061', '192.0.2.1:5060', '[2001:db8::1]:5060', 'a;transport=TLS', 'a;transport=ws'],
        ...['a b', 'a/b', 'u@a', ''],
      ],
    },
    'sip.caCertificate': { node: (caCertificate) => sipAccepts({}, { caCertificate }), texts: ['x'] },
  };
  for (const [option, { node, texts }] of Object.entries(samples)) {
    it(`accept the same texts as ${option}`, () => {
      assert.deepEqual(
        texts.map((text) => [text, crdAccepts(fields, `components[].${option}`, text)]),
        texts.map((text) => [text, node(text)]),
      );
    });
  }

  it('are optional in requests with the defaults that the node uses', () => {
    const { origins: _, s3: _s3, targetWindowDuration: _window, ...defaults } = parseOptions({}, false);
    assert.deepEqual(defaults, hlsDefaults);
  });
});

describe('extraEnv of a MediaCluster', () => {
  it('allows only static variables of a node', () => {
    const known: string[] = staticSettings.map(({ env }) => `SVC_${env}`);
    assert.deepEqual(
      allowedExtraEnv.filter((name) => !known.includes(name)),
      [],
    );
    assert.deepEqual(
      reloadableVariables.filter(({ env }) => (allowedExtraEnv as readonly string[]).includes(`SVC_${env}`)),
      [],
    );
    assert.equal(
      mediaClusterSchema.safeParse({ spec: { podTemplate: { extraEnv: [{ name: 'SVC_SIP_IP', value: '192.0.2.7' }] } } }).success,
      true,
    );
  });
});
