// Network part of a MediaCluster: Services, DNS names of pods and trusted proxies.
import { z } from 'zod';
import { isCidr } from '../api/settings/values.ts';
import { annotations, limitedText, withRules } from './schema.ts';

export const network = withRules(
  z
    .string()
    .max(64)
    .refine((text) => text.includes('/') && isCidr(text), 'must be a network such as 10.42.3.0/24'),
  { rule: 'isCIDR(self)', message: 'must be a network such as 10.42.3.0/24 or fd00:42::/64' },
);

export const services = withRules(
  z.object({
    annotations: annotations.optional().meta({
      description: 'Annotations of the Services for HTTP, for example cloud.google.com/backend-config. A change causes no rollout.',
    }),
    ipFamilyPolicy: z.enum(['SingleStack', 'PreferDualStack', 'RequireDualStack']).optional().meta({
      description:
        'As ipFamilyPolicy of a Service; SingleStack if omitted. With PreferDualStack or RequireDualStack nodes also listen on IPv6, and announce addresses of both families. A change causes a rollout.',
    }),
    ipFamilies: z
      .array(z.enum(['IPv4', 'IPv6']))
      .min(1)
      .max(2)
      .optional()
      .meta({ description: 'As ipFamilies of a Service, the preferred family first; those of the Kubernetes cluster if omitted.' }),
  }),
  {
    rule: '!has(self.ipFamilies) || self.ipFamilies.size() < 2 || self.ipFamilies[0] != self.ipFamilies[1]',
    message: 'must not name a family twice',
    fieldPath: '.ipFamilies',
  },
  {
    rule: "!has(self.ipFamilies) || self.ipFamilies.size() < 2 || (has(self.ipFamilyPolicy) && self.ipFamilyPolicy != 'SingleStack')",
    message: 'must have one family with SingleStack, the default',
    fieldPath: '.ipFamilies',
  },
).meta({
  description:
    'Services for HTTP (annotations, address families) and for media (address families). The headless Service, over which nodes find each other, always has one family.',
});

export const externalDns = z
  .object({
    hostname: limitedText(
      200,
      /^\{pod\}(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)+$/,
      'must be {pod} followed by a domain, for example {pod}.media.example.com',
    ).meta({ description: 'DNS name of each pod, in which {pod} stands for the name of the pod, for example {pod}.media.example.com.' }),
  })
  .meta({
    description:
      'Annotations from which external-dns creates a DNS record for the media address of each pod: on its media Service (nodePort, loadBalancer), otherwise on the pod.',
  });
