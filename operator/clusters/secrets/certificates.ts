// CA of a cluster and the certificate shared by its nodes (`distributionTls`): computes the next content of their Secret. Pure.
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
/** A new CA is added when the newest one has half of this lifetime left. */
const authorityLife = 730 * day;
const certificateLife = 90 * day;
/** The certificate is renewed when it has this lifetime left. */
const certificateRest = 30 * day;
/** Time for all nodes to load a new CA before it signs anything. */
const spread = day;
/** Tolerance for clock skew between Kubernetes nodes. */
const skew = 3_600_000;

const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;

export type CertificateStep = { data: SecretData; message: string };

type Material = {
  /** PEM, newest first. The keys of older CAs were dropped; the certificates that they signed stay valid. */
  authorities: string[];
  authorityKey: string;
  certificate: string;
  key: string;
};

/** Next content of the Secret; undefined if nothing changes. Invalid content is replaced. */
export async function certificateStep(data: SecretData | undefined, now: number): Promise<CertificateStep | undefined> {
  const there = data && materialIn(data);
  if (!there) {
    const authority = await newAuthority(now);
    const made = { ...(await newCertificate(authority, now)), authorities: [authority.certificate], authorityKey: authority.key };
    return { data: dataOf(made), message: 'Created the CA of the cluster and the certificate of its nodes.' };
  }
  const authorities = there.authorities.map((pem) => ({ pem, parsed: new X509Certificate(pem) }));
  const certificate = new X509Certificate(there.certificate);
  const newest = authorities[0]?.parsed ?? certificate;
  const due = now >= certificate.validToDate.getTime() - certificateRest || !certificate.checkIssued(newest);
  const known = now >= newest.validFromDate.getTime() + skew + spread;
  if (due && (known || now >= certificate.validToDate.getTime())) {
    const signer = { certificate: newest.toString(), key: there.authorityKey };
    const made = { ...there, ...(await newCertificate(signer, now)) };
    return { data: dataOf(made), message: 'Renewed the certificate of the nodes.' };
  }
  if (now < newest.validToDate.getTime() - authorityLife / 2) return undefined;
  const authority = await newAuthority(now);
  const living = authorities.filter(({ parsed }) => now < parsed.validToDate.getTime()).map(({ pem }) => pem);
  const made = { ...there, authorities: [authority.certificate, ...living], authorityKey: authority.key };
  return { data: dataOf(made), message: 'Distributing a new CA to all nodes; it will sign certificates in a day.' };
}

/** undefined if a part is missing, is not PEM or does not match the others. */
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

/** Every CA has a unique name, by which the issuer of a certificate is found. */
function newAuthority(now: number): Promise<Pair> {
  const subject = `CN=mediarooms ${randomBytes(8).toString('hex')}`;
  const extensions = [new BasicConstraintsExtension(true, 0, true), new KeyUsagesExtension(KeyUsageFlags.keyCertSign, true)];
  return newPair({ subject, extensions, life: authorityLife, now });
}

/** The certificate names no node: every holder of a certificate of this CA is a node (node/cluster/erlang/dist-tls.ts). */
function newCertificate(signer: Pair, now: number): Promise<Pair> {
  const extensions = [
    new BasicConstraintsExtension(false, undefined, true),
    new KeyUsagesExtension(KeyUsageFlags.digitalSignature, true),
    new ExtendedKeyUsageExtension([ExtendedKeyUsage.serverAuth, ExtendedKeyUsage.clientAuth]),
  ];
  return newPair({ subject: 'CN=node', extensions, life: certificateLife, now, signer });
}

type Order = { subject: string; extensions: Extension[]; life: number; now: number; signer?: Pair };

/** A key and its certificate (RFC 5280), self-signed if no signer is given. */
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
