// The kinds of components of a node, without the node.
import { Kinds } from '../../node/components/kinds.ts';
import { silentLog } from '../../node/log.ts';
import type { ComponentType } from '../../node/rooms/views.ts';

export function makeKinds(resources: string, used: readonly ComponentType[]): Kinds {
  return new Kinds({ used: () => used, resources, log: silentLog(), node: () => 'svc@test', recordingTimeToLive: () => null });
}
