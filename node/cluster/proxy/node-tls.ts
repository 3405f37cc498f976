// TLS between nodes: the remote node must present a certificate for its public name, or the certificate of this node.
import { createHash, X509Certificate } from 'node:crypto';
import { isIP } from 'node:net';
import { checkServerIdentity, getCACertificates, type PeerCertificate } from 'node:tls';
import type { Member } from '../nodes.ts';

export type NodeTlsOptions = {
  ca: string[];
  servername: string;
  checkServerIdentity: (host: string, certificate: PeerCertificate) => Error | undefined;
};

/**
 * No certificate contains internal IP addresses. So the certificate is verified against SVC_HOST of the remote node, or must be identical
 * to the local one, for example if all nodes share one Secret. `ownCertificate`: PEM, read for each connection because it may be renewed.
 * It is trusted in addition to the system CAs, so that a self-signed one works.
 */
export function nodeTls({ address }: Pick<Member, 'address'>, ownCertificate: string | undefined): NodeTlsOptions {
  const name = hostOf(address);
  const own = ownCertificate === undefined ? undefined : fingerprint(new X509Certificate(ownCertificate).raw);
  return {
    ca: [...getCACertificates('default'), ...(ownCertificate === undefined ? [] : [ownCertificate])],
    // RFC 6066, section 3, forbids IP addresses.
    servername: isIP(name) ? '' : name,
    checkServerIdentity: (_host, certificate) =>
      own !== undefined && fingerprint(certificate.raw) === own ? undefined : checkServerIdentity(name, certificate),
  };
}

/** The host of `host[:port][/path]`, IPv6 without brackets. */
function hostOf(address: string): string {
  return (URL.parse(`https://${address}`)?.hostname ?? '').replace(/^\[|\]$/g, '');
}

function fingerprint(certificate: Buffer): string {
  return createHash('sha256').update(certificate).digest('base64');
}
