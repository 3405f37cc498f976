// Access part of a MediaCluster: how clients reach its nodes through an Ingress, a Gateway and TURN.
import { z } from 'zod';
import { annotations, integer, limitedText, name, secretName, withRules } from './schema.ts';

const host = limitedText(
  253,
  /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/,
  'must be a host name in lower case, without a scheme, a port and a path',
).meta({ description: 'Host name of the API, the console and the websockets.' });

export const ingress = z
  .object({
    host,
    className: name.optional().meta({ description: 'IngressClass; the default one if omitted.' }),
    tls: z
      .object({ secretName: name.meta({ description: 'Secret with the certificate.' }) })
      .optional()
      .meta({ description: 'TLS; clients then get https and wss.' }),
    annotations: annotations.optional().meta({ description: 'Annotations of the Ingress.' }),
    port: integer(1, 65_535).optional().meta({ description: 'Port at which clients reach the Ingress, if not 443 or 80.' }),
  })
  .meta({ description: 'Creates an Ingress with one path for the API and one for each node.' });

const parentRefs = z
  .array(
    z
      .object({
        name: name.meta({ description: 'Its name.' }),
        namespace: name.optional().meta({ description: 'Its namespace; the namespace of the MediaCluster if omitted.' }),
        sectionName: name.optional().meta({ description: 'Its listener; all that match if omitted.' }),
      })
      .meta({ description: 'A Gateway.' }),
  )
  .min(1)
  .max(8)
  .meta({ description: 'Gateways to which the routes are attached.' });

export const gateway = z
  .object({
    parentRefs,
    host,
    tls: z.boolean().default(true).meta({ description: 'Whether the listener uses TLS; clients then get https and wss.' }),
    port: integer(1, 65_535).optional().meta({ description: 'Port at which clients reach the Gateway, if not 443 or 80.' }),
  })
  .meta({ description: 'Creates HTTPRoutes of the Gateway API instead of an Ingress, if the API server supports them.' });

const entryPoint = limitedText(
  63,
  /^[A-Za-z0-9]([-_A-Za-z0-9]*[A-Za-z0-9])?$/,
  'must be the name of an entry point: letters, digits, - and _',
);

const tlsRoutes = withRules(
  z.object({
    host: host.meta({
      description: 'Clients use `<pod>.<host>`; DNS must resolve these names to the proxy, and the certificate must contain `*.<host>`.',
    }),
    port: integer(1, 65_535).default(443).meta({ description: 'Port at which clients reach the proxy.' }),
    proxyProtocol: z.boolean().optional().meta({
      description:
        'Whether the proxy sends a PROXY protocol header (version 1 or 2) to the nodes. They then require it, and limit the connections of one client network. The IngressRouteTCP makes Traefik send it; set it in other proxies yourself. A change causes a rollout.',
    }),
    gateway: z.object({ parentRefs }).optional().meta({
      description:
        'Creates a TLSRoute of the Gateway API (v1) for each node, if the API server supports them. The listener must be of mode Passthrough.',
    }),
    traefik: z
      .object({
        entryPoints: z
          .array(entryPoint.meta({ description: 'Its name.' }))
          .min(1)
          .max(8)
          .optional()
          .meta({ description: 'Entry points of Traefik, for example websecure; the default ones if omitted.' }),
      })
      .optional()
      .meta({ description: 'Creates an IngressRouteTCP of Traefik, if the API server supports them.' }),
    annotations: annotations.optional().meta({ description: 'Annotations of the routes, for example of external-dns.' }),
  }),
  { rule: '!(has(self.gateway) && has(self.traefik))', message: 'accepts gateway or traefik, not both' },
).meta({
  description:
    'TURN over TLS behind a proxy that forwards TLS without ending it, by its server name (SNI): port 443 of an Ingress controller or a Gateway. Creates a Service `<pod>-turn` for each node.',
});

export const turn = withRules(
  z.object({
    enabled: z.boolean().default(false).meta({ description: 'Run a TURN server next to every node.' }),
    tlsSecretName: secretName
      .optional()
      .meta({ description: 'Secret of type kubernetes.io/tls (`tls.crt`, `tls.key`): enables TURN over TLS.' }),
    tlsHost: limitedText(
      253,
      /^(\*|(\*\.)?[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*)$/,
      "must be a host name in lower case, in which a leading '*' stands for the address of a pod",
    )
      .optional()
      .meta({
        description:
          'Host in the TURN over TLS URLs of clients, which the certificate must contain; a leading `*` stands for the media address of the pod, `203-0-113-7` for 203.0.113.7. The address itself if omitted.',
      }),
    tlsPort: integer(1, 65_535).optional().meta({
      description: 'Port of TURN over TLS at the load balancer of the pod, for example 443; the port of the pod if omitted.',
    }),
    tlsRoutes: tlsRoutes.optional(),
  }),
  { rule: '!has(self.tlsSecretName) || self.enabled', message: 'tlsSecretName needs enabled: true' },
  { rule: '!has(self.tlsHost) || has(self.tlsSecretName)', message: 'tlsHost needs tlsSecretName' },
  { rule: '!has(self.tlsPort) || has(self.tlsSecretName)', message: 'tlsPort needs tlsSecretName' },
  { rule: '!has(self.tlsRoutes) || has(self.tlsSecretName)', message: 'tlsRoutes needs tlsSecretName' },
  {
    rule: '!(has(self.tlsRoutes) && (has(self.tlsHost) || has(self.tlsPort)))',
    message: 'accepts tlsRoutes, or tlsHost and tlsPort, not both',
  },
).meta({
  description:
    'A TURN server next to every node, which relays only to the media address of that node (any UDP port). A change causes a rollout.',
});
