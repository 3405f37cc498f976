// Components of a node: their registry, by the settings, and the content on disk that they write.
import { availableParallelism } from 'node:os';
import type { FeatureContext } from '../common/feature-context.ts';
import type { AnnouncedAddresses } from '../config/announced.ts';
import type { ReloadableConfigView } from '../config/reloadable-config.ts';
import { LocalContent } from '../storage/local-content.ts';
import { NodeContent, type NodeContentOptions } from '../storage/node-content.ts';
import { ComponentRegistry, type ComponentRegistryOptions } from './component-registry.ts';
import type { SipNetworkConfig } from './sip/sip-user-agents.ts';

export type ComponentsContext = Pick<FeatureContext, 'closers'> &
  Pick<ComponentRegistryOptions, 'log' | 'resources' | 'node' | 'archive'> & {
    hot: Pick<ReloadableConfigView, 'current'>;
    announced: Pick<AnnouncedAddresses, 'current'>;
    uploads: ComponentRegistryOptions['uploads'] & NodeContentOptions['uploads'];
    /** `ip` is announced for calls; null for the first announced address. */
    sip: Pick<SipNetworkConfig, 'ports' | 'rtpPorts'> & { ip: string | null };
    userAgent: string;
    /** `read()`: share of all cores in use. */
    cpu: { read(): number };
  };

/** Call `components.start()` when the node listens. */
export function createComponents(context: ComponentsContext): { components: ComponentRegistry; content: NodeContent } {
  const { log, resources, node, uploads, archive, hot, announced, sip, userAgent, cpu, closers } = context;
  const { ip, ...ports } = sip;
  const components = new ComponentRegistry({
    ...{ log, resources, node, uploads, archive },
    used: () => hot.current.componentsUsed,
    recordingTimeToLive: () => hot.current.timeouts.rawRecordingTtl,
    machine: () => ({ budget: hot.current.avMaxCpu, cores: availableParallelism(), busy: cpu.read() }),
    sip: () => ({ ...ports, userAgent, announcedIp: ip ?? announced.current[0], allowPrivate: hot.current.allowPrivateAddresses }),
  });
  closers.add('components', () => components.close());
  const { recordings, streams, renders } = components;
  const local = new LocalContent(resources, (id) => recordings.isRunning(id), streams);
  return { components, content: new NodeContent({ resources, local, uploads, renders }) };
}
