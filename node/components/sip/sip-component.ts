// Spec of a sip component: validates its options.
import { X509Certificate } from 'node:crypto';
import { sipDefaults, sipOptionsSchema } from '../../../api/component/sip.ts';
import { invalidFieldError } from '../../../api/derive/validation-messages.ts';
import { ServiceError } from '../../../api/errors.ts';
import type { ComponentSpec } from '../../rooms/interfaces.ts';
import type { SipUserAgents } from './sip-user-agents.ts';
import { parseRegistrar } from './wire/registrar.ts';

const { registrarCredentials, caCertificate } = sipOptionsSchema.shape;
/** Schema with the checks that require SIP code. */
const optionsSchema = sipOptionsSchema.extend({
  registrarCredentials: registrarCredentials.extend({
    address: registrarCredentials.shape.address.refine(
      (text) => parseRegistrar(text) !== undefined,
      'to be the address of a registrar: [sip:]host[:port][;transport=udp|tcp|tls]',
    ),
  }),
  caCertificate: caCertificate.refine((text) => !text || isCertificate(text), 'to be a certificate in PEM'),
});

/** @throws ServiceError if an option is invalid, or `unavailable` if the node has no capacity */
export function createSipSpec(options: unknown, sipUserAgents: SipUserAgents): ComponentSpec {
  const parsed = optionsSchema.safeParse(options);
  if (!parsed.success) throw invalidFieldError(parsed.error, options, 'options', 'options');
  const { registrarCredentials, caCertificate } = parsed.data;
  const { address, username, password } = registrarCredentials;
  const registrar = parseRegistrar(address);
  if (!registrar)
    throw new ServiceError('invalid_field', 'Expected options.registrarCredentials.address to be the address of a registrar', {
      field: 'options.registrarCredentials.address',
    });
  const answerIncoming = parsed.data.answerIncoming ?? sipDefaults.answerIncoming;
  const ringTimeout = parsed.data.ringTimeout ?? sipDefaults.ringTimeout;
  const settings = () => {
    const { announcedIp, ...rest } = sipUserAgents.place;
    if (announcedIp === undefined) throw new ServiceError('unavailable', 'The address of this node is not known yet', { retryAfter: 1 });
    const ca = caCertificate ? { ca: caCertificate } : {};
    return { registrar, username, password, announcedIp, ...rest, answerIncoming, ringTimeout: ringTimeout * 1000, ...ca };
  };
  sipUserAgents.assertCapacity();
  return {
    type: 'sip',
    // Never returns the password, or a private key in the PEM of the certificate.
    properties: {
      registrarCredentials: { address, username },
      answerIncoming,
      ringTimeout,
      ...(caCertificate && { caCertificate: certificatesIn(caCertificate) }),
      registered: false,
      registrationError: null,
      calls: [],
    },
    subscribeMode: 'auto',
    receivedKinds: ['audio'],
    open: (host) => sipUserAgents.open({ host, settings }),
  };
}

/** All certificates of a PEM, without other content. */
function certificatesIn(text: string): string {
  return [...text.matchAll(/-----BEGIN CERTIFICATE-----[A-Za-z0-9+/=\s]*-----END CERTIFICATE-----/g)].map(([pem]) => `${pem}\n`).join('');
}

function isCertificate(text: string): boolean {
  try {
    return text.includes('-----BEGIN CERTIFICATE-----') && new X509Certificate(text).subject !== undefined;
  } catch {
    return false;
  }
}
