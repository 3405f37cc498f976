// Webhook signatures of Standard Webhooks (github.com/standard-webhooks/standard-webhooks, "Signature scheme", symmetric).
import { createHmac } from 'node:crypto';

const prefix = 'whsec_';

/**
 * Value of the header `webhook-signature`: one `v1` signature per secret, so that receivers can verify with the old or the new one during
 * rotation. `timestamp` in seconds. @returns undefined without secrets.
 */
export function sign(secrets: readonly string[], id: string, timestamp: number, body: string): string | undefined {
  if (secrets.length === 0) return undefined;
  return secrets
    .map((secret) => {
      const key = Buffer.from(secret.slice(secret.startsWith(prefix) ? prefix.length : 0), 'base64');
      return `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')}`;
    })
    .join(' ');
}
