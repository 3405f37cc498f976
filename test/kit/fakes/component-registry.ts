// Component registry of a node, without the node.

import type { ComponentType } from '../../../api/component/types.ts';
import { ComponentRegistry } from '../../../node/components/component-registry.ts';
import type { Uploads } from '../../../node/storage/upload.ts';
import { silentLog } from '../silent-log.ts';

/** Uploads nothing. */
export const noUploads: Uploads = {
  hasPlace: () => false,
  begin: async () => undefined,
  orphaned: async () => [],
  resume: async () => undefined,
  reopen: async () => {},
};

export function makeComponentRegistry(resources: string, used: readonly ComponentType[]): ComponentRegistry {
  return new ComponentRegistry({
    used: () => used,
    resources,
    log: silentLog(),
    node: 'svc@test',
    uploads: noUploads,
    recordingTimeToLive: () => null,
    sip: () => ({
      announcedIp: '127.0.0.1',
      ports: { min: 5060, max: 5069 },
      rtpPorts: { min: 10_000, max: 10_019 },
      userAgent: 'Mediarooms/test',
      allowPrivate: true,
    }),
    machine: () => ({ budget: 1.5, cores: 2, busy: 0 }),
  });
}
