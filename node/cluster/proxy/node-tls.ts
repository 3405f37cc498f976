// TLS from node to node: the other node must show a certificate for its public name, or this node's own one.
import { createHash, X509Certificate } from 'node:crypto';
import { isIP } from 'node:net';
import { checkServerIdentity, getCACertificates, type PeerCertificate } from 'node:tls';
import type { Member } from '../membership.ts';

export type NodeTlsOptions = {
  ca: string[];
  servername: string;
  checkServerIdentity: (host: string, certificate: PeerCertificate) => Error | undefined;
};

/**
 * Internal addresses are IP addresses that no certificate names. So the certificate is checked against the other node's SVC_HOST;
 * or it is the very certificate that this node has, as where all nodes share one Secret. `ownCertificate`: PEM, read for each
 * connection, since it may be renewed; it is trusted beside the authorities of the system, so that one that signs itself will do.
 */
export function nodeTls({ address }: Pick<Member, 'address'>, ownCertificate: string | undefined): NodeTlsOptions {
  const name = hostOf(address);
  const own = ownCertificate === undefined ? undefined : fingerprint(new X509Certificate(ownCertificate).raw);
  return {
    ca: [...getCACertificates('default'), ...(ownCertificate === undefined ? [] : [ownCertificate])],
    // RFC 6066, section 3: no IP addresses.
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
