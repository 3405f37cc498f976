// Certificates of a cluster over years: nodes with Secrets of different age trust each other.
import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { test } from 'node:test';
import type { SecretData } from '../../../../../operator/clusters/cluster-context.ts';
import { certificateStep } from '../../../../../operator/clusters/secrets/certificates.ts';

const day = 24 * 3_600_000;
const start = Date.UTC(2026, 0, 1);

async function madeAt(now: number): Promise<SecretData> {
  const step = await certificateStep(undefined, now);
  assert.match(step?.message ?? '', /^Created the CA/);
  return step?.data ?? assert.fail();
}

const authoritiesIn = (data: SecretData) =>
  (data['ca.crt'] ?? '').split(/(?<=-----END CERTIFICATE-----\n)/).map((pem) => new X509Certificate(pem));

function isGood(now: number, certificate: X509Certificate): boolean {
  return certificate.validFromDate.getTime() <= now && now < certificate.validToDate.getTime();
}

/** Whether a node with the Secret `theirs` accepts a node with the Secret `ours`. */
function takes(now: number, theirs: SecretData, ours: SecretData): boolean {
  const shown = new X509Certificate(ours['tls.crt'] ?? '');
  const issuer = authoritiesIn(theirs).find((each) => shown.checkIssued(each) && shown.verify(each.publicKey));
  return issuer !== undefined && isGood(now, issuer) && isGood(now, shown);
}

test('for three years every node accepts every other, even with a kubelet lag of a day, and expired CAs are dropped', async () => {
  let data = await madeAt(start);
  const [first] = authoritiesIn(data);
  const messages = new Set<string>();
  for (let now = start; now < start + 3 * 365 * day; now += day) {
    const yesterday = data;
    const step = await certificateStep(data, now);
    if (step) {
      messages.add(step.message);
      data = step.data;
    }
    assert.ok(takes(now, data, yesterday) && takes(now, yesterday, data) && takes(now, data, data));
  }
  assert.equal(messages.size, 2);
  assert.ok(authoritiesIn(data).length <= 2);
  assert.ok(authoritiesIn(data).every((each) => each.fingerprint256 !== first?.fingerprint256));
});

test('a CA can only sign node certificates, and a node certificate cannot sign', async () => {
  const data = await madeAt(start);
  const [authority] = authoritiesIn(data);
  assert.equal(authority?.ca, true);
  const node = new X509Certificate(data['tls.crt'] ?? '');
  assert.equal(node.ca, false);
  assert.deepEqual(node.keyUsage, ['1.3.6.1.5.5.7.3.1', '1.3.6.1.5.5.7.3.2']);
  assert.notEqual(data['ca.key'], data['tls.key']);
});

test('nothing changes before a renewal is due', async () => {
  assert.equal(await certificateStep(await madeAt(start), start + 59 * day), undefined);
});

test('expired certificates are replaced immediately', async () => {
  const now = start + 600 * day;
  const data = (await certificateStep(await madeAt(start), now))?.data ?? assert.fail();
  assert.ok(takes(now, data, data));
  assert.equal(authoritiesIn((await certificateStep(data, now))?.data ?? assert.fail()).length, 2);
});

test('invalid content is replaced', async () => {
  const [data, other] = [await madeAt(start), await madeAt(start)];
  const broken: SecretData[] = [
    {},
    { ...data, 'ca.crt': '' },
    { ...data, 'tls.crt': 'no certificate' },
    { ...data, 'tls.key': other['tls.key'] ?? '' },
    { ...data, 'ca.key': other['ca.key'] ?? '' },
    { ...data, 'ca.crt': other['ca.crt'] ?? '', 'ca.key': other['ca.key'] ?? '' },
  ];
  for (const each of broken) {
    const made = (await certificateStep(each, start))?.data ?? assert.fail();
    assert.ok(takes(start, made, made));
    assert.notEqual(made['ca.crt'], each['ca.crt']);
  }
});
