// Components of a node: their registry, by the settings.
import { availableParallelism } from 'node:os';
import type { AnnouncedAddresses } from '../config/announced.ts';
import type { ReloadableConfigView } from '../config/reloadable-config.ts';
import { ComponentRegistry, type ComponentRegistryOptions } from './component-registry.ts';
import type { SipNetworkConfig } from './sip/sip-user-agents.ts';

export type ComponentsContext = Pick<ComponentRegistryOptions, 'log' | 'resources' | 'node' | 'uploads' | 'archive'> & {
  hot: Pick<ReloadableConfigView, 'current'>;
  announced: Pick<AnnouncedAddresses, 'current'>;
  /** `ip` is announced for calls; null for the first announced address. */
  sip: Pick<SipNetworkConfig, 'ports' | 'rtpPorts' | 'userAgent'> & { ip: string | null };
  /** Share of all cores in use. */
  busy: () => number;
};

/** Call start() of the registry when the node listens. */
export function createComponents({ hot, announced, sip, busy, ...options }: ComponentsContext): ComponentRegistry {
  const { ip, ...network } = sip;
  return new ComponentRegistry({
    ...options,
    used: () => hot.current.componentsUsed,
    recordingTimeToLive: () => hot.current.timeouts.rawRecordingTtl,
    machine: () => ({ budget: hot.current.avMaxCpu, cores: availableParallelism(), busy: busy() }),
    sip: () => ({ ...network, announcedIp: ip ?? announced.current[0], allowPrivate: hot.current.allowPrivateAddresses }),
  });
}
