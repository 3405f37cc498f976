// Public options of a sip component.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { Admission } from '../../../../node/components/process/admission.ts';
import { createSipSpec } from '../../../../node/components/sip/sip-component.ts';
import { SipUserAgents } from '../../../../node/components/sip/sip-user-agents.ts';
import { makeClusterCertificates } from '../../../kit/network/certificates.ts';

test('properties are the given options, and a PEM with a private key is reduced to its certificates', async (t) => {
  const { caPath, keyPath } = await makeClusterCertificates(t);
  const [certificate, key] = await Promise.all([readFile(caPath, 'utf8'), readFile(keyPath, 'utf8')]);
  const place = (): never => assert.fail('no user agent is created');
  const sipUserAgents = new SipUserAgents({ place, admission: new Admission(() => ({ budget: 1, cores: 2, busy: 0 })) });
  const registrarCredentials = { address: 'sips:127.0.0.1', username: 'alice', password: 'very-secret' };
  const shown = (caCertificate?: string | null) =>
    createSipSpec({ registrarCredentials, ...(caCertificate !== undefined && { caCertificate }) }, sipUserAgents).properties;
  const properties = shown(`${certificate}${key}${certificate}`);
  assert.equal(properties.caCertificate, `${certificate}${certificate}`);
  assert.doesNotMatch(JSON.stringify(properties), /PRIVATE|very-secret/);
  assert.deepEqual(properties.registrarCredentials, { address: 'sips:127.0.0.1', username: 'alice' });
  for (const none of [undefined, null, '']) assert.ok(!('caCertificate' in shown(none)));
});
