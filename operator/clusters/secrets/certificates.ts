// The authority of a cluster and the certificate that its nodes share (`distributionTls`): what their Secret holds next.
import { createPrivateKey, generateKeyPairSync, randomBytes, X509Certificate } from 'node:crypto';
import {
  AuthorityKeyIdentifierExtension,
  BasicConstraintsExtension,
  ExtendedKeyUsage,
  ExtendedKeyUsageExtension,
  type Extension,
  KeyUsageFlags,
  KeyUsagesExtension,
  SubjectKeyIdentifierExtension,
  X509CertificateGenerator,
} from '@peculiar/x509';
import type { SecretData } from '../cluster-context.ts';
import { certificateKeys } from '../names.ts';

const day = 24 * 3_600_000;
/** Another authority is added when the newest has half of this left. */
const authorityLife = 730 * day;
const certificateLife = 90 * day;
/** The certificate is made anew when it has this left. */
const certificateRest = 30 * day;
/** Time in which every node comes to know a new authority, before anything is signed by it. */
const spread = day;
/** Clocks of hosts differ. */
const skew = 3_600_000;

const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;

export type CertificateStep = { data: SecretData; message: string };

type Material = {
  /** PEM, the newest first. Of an older one the key is gone: what it signed stays good. */
  authorities: string[];
  authorityKey: string;
  certificate: string;
  key: string;
};

/** What the Secret is to hold from now on; undefined where it may stay. What is there and cannot be used is made anew. */
export async function certificateStep(data: SecretData | undefined, now: number): Promise<CertificateStep | undefined> {
  const there = data && materialIn(data);
  if (!there) {
    const authority = await newAuthority(now);
    const made = { ...(await newCertificate(authority, now)), authorities: [authority.certificate], authorityKey: authority.key };
    return { data: dataOf(made), message: 'An authority of the cluster and a certificate of its nodes are made.' };
  }
  const authorities = there.authorities.map((pem) => ({ pem, parsed: new X509Certificate(pem) }));
  const certificate = new X509Certificate(there.certificate);
  const newest = authorities[0]?.parsed ?? certificate;
  const due = now >= certificate.validToDate.getTime() - certificateRest || !certificate.checkIssued(newest);
  const known = now >= newest.validFromDate.getTime() + skew + spread;
  if (due && (known || now >= certificate.validToDate.getTime())) {
    const signer = { certificate: newest.toString(), key: there.authorityKey };
    const made = { ...there, ...(await newCertificate(signer, now)) };
    return { data: dataOf(made), message: 'The certificate of the nodes is made anew.' };
  }
  if (now < newest.validToDate.getTime() - authorityLife / 2) return undefined;
  const authority = await newAuthority(now);
  const living = authorities.filter(({ parsed }) => now < parsed.validToDate.getTime()).map(({ pem }) => pem);
  const made = { ...there, authorities: [authority.certificate, ...living], authorityKey: authority.key };
  return { data: dataOf(made), message: 'A new authority of the cluster is made known to every node; it signs in a day.' };
}

/** undefined where something is missing, is not PEM, or does not belong together. */
function materialIn(data: SecretData): Material | undefined {
  const {
    authorities = '',
    authorityKey = '',
    certificate = '',
    key = '',
  } = Object.fromEntries(Object.entries(certificateKeys).map(([name, at]) => [name, data[at]]));
  const pems = authorities.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
  try {
    const [newest, ...older] = pems.map((pem) => new X509Certificate(pem));
    const shown = new X509Certificate(certificate);
    const issuer = newest && [newest, ...older].find((each) => shown.checkIssued(each) && shown.verify(each.publicKey));
    const whole = issuer && newest.checkPrivateKey(createPrivateKey(authorityKey)) && shown.checkPrivateKey(createPrivateKey(key));
    return whole ? { authorities: [...pems], authorityKey, certificate, key } : undefined;
  } catch {
    return undefined;
  }
}

function dataOf({ authorities, authorityKey, certificate, key }: Material): SecretData {
  const { authorities: ca, authorityKey: caKey, certificate: tls, key: tlsKey } = certificateKeys;
  return { [ca]: authorities.map((pem) => `${pem.trim()}\n`).join(''), [caKey]: authorityKey, [tls]: certificate, [tlsKey]: key };
}

type Pair = { certificate: string; key: string };

/** Each has a name of its own, by which the issuer is found among several. */
function newAuthority(now: number): Promise<Pair> {
  const subject = `CN=mediarooms ${randomBytes(8).toString('hex')}`;
  const extensions = [new BasicConstraintsExtension(true, 0, true), new KeyUsagesExtension(KeyUsageFlags.keyCertSign, true)];
  return newPair({ subject, extensions, life: authorityLife, now });
}

/** It names no node: whoever has one of this authority is a node (node/cluster/erlang/dist-tls.ts). */
function newCertificate(signer: Pair, now: number): Promise<Pair> {
  const extensions = [
    new BasicConstraintsExtension(false, undefined, true),
    new KeyUsagesExtension(KeyUsageFlags.digitalSignature, true),
    new ExtendedKeyUsageExtension([ExtendedKeyUsage.serverAuth, ExtendedKeyUsage.clientAuth]),
  ];
  return newPair({ subject: 'CN=node', extensions, life: certificateLife, now, signer });
}

type Order = { subject: string; extensions: Extension[]; life: number; now: number; signer?: Pair };

/** A key and its certificate, signed by itself without a signer (RFC 5280). */
async function newPair({ subject, extensions, life, now, signer }: Order): Promise<Pair> {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: algorithm.namedCurve });
  const authority = signer && new X509Certificate(signer.certificate);
  const own = publicKey.export({ type: 'spki', format: 'der' });
  const issuing = (authority?.publicKey ?? publicKey).export({ type: 'spki', format: 'der' });
  const signingKey = (signer ? createPrivateKey(signer.key) : privateKey).export({ type: 'pkcs8', format: 'der' });
  const made = await X509CertificateGenerator.create({
    subject,
    issuer: authority?.subject ?? subject,
    notBefore: new Date(now - skew),
    notAfter: new Date(now + life),
    publicKey: own,
    signingKey: await crypto.subtle.importKey('pkcs8', signingKey, algorithm, false, ['sign']),
    signingAlgorithm: algorithm,
    extensions: [...extensions, await SubjectKeyIdentifierExtension.create(own), await AuthorityKeyIdentifierExtension.create(issuing)],
  });
  return { certificate: `${made.toString('pem')}\n`, key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString() };
}
