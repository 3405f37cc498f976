// Options of a sip component.
import { z } from 'zod';
import { kube, matches } from '../core/kube.ts';
import { integer, trueOrFalse } from './option.ts';

/** Defaults for options that are omitted or null. Times in seconds. */
export const sipDefaults = { answerIncoming: false, ringTimeout: 60 } as const;

const registrar =
  /^([sS][iI][pP][sS]?:)?(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(:[0-9]{1,5})?(;transport=([uU][dD][pP]|[tT][cC][pP]|[tT][lL][sS]))?$/;

const userPattern = /^[A-Za-z0-9\-_.!~*'()&=+$,%]{1,128}$/;

const registrarCredentials = z.strictObject({
  address: z
    .string()
    .max(512)
    .register(kube, {
      as: 'registrarAddress',
      rules: [matches(registrar, 'must be the address of a registrar: [sip:|sips:]host[:port][;transport=udp|tcp|tls]')],
    })
    .meta({ description: 'Address of the registrar: [sip:|sips:]host[:port][;transport=udp|tcp|tls]' }),
  username: z
    .string()
    .regex(userPattern, 'to be the name of a user: letters, digits and -_.!~*()&=+$,%')
    .register(kube, {
      maxLength: 128,
      rules: [matches(userPattern, "must be a user name: letters, digits and -_.!~*'()&=+$,%")],
      doc: 'User at the registrar.',
    }),
  password: z
    .string()
    .min(1)
    .max(1024)
    .meta({ format: 'password' })
    .register(kube, { as: 'passwordSecretRef', key: true, doc: 'Secret and key of the password.' }),
});

export const sipOptionsSchema = z
  .strictObject({
    registrarCredentials: registrarCredentials.register(kube, { flat: true }),
    answerIncoming: trueOrFalse.meta({
      description: 'Accept incoming calls; otherwise they are rejected.',
      default: sipDefaults.answerIncoming,
    }),
    ringTimeout: integer(5, 300, 'to be a whole number of seconds from 5 to 300')
      .nullable()
      .optional()
      .meta({ description: 'Maximum ringing time in seconds.', default: sipDefaults.ringTimeout }),
    caCertificate: z
      .string()
      .max(32_768)
      .register(kube, { rules: [matches(/^-----BEGIN CERTIFICATE-----/, 'must be a certificate in PEM')] })
      .nullable()
      .optional()
      .meta({ description: 'PEM certificate of a private certificate authority, for TLS.', contentMediaType: 'application/x-pem-file' }),
  })
  .meta({ id: 'SipOptions', description: 'A SIP user agent: registers, makes and accepts calls, and connects their audio to the room.' });
