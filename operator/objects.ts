// Stored Room and MediaCluster objects of the operator.
import type { MediaClusterSpec, MediaClusterStatus, RoomSpec, RoomStatus } from '../crds/types.ts';
import type { KubeObject } from './kube/objects.ts';

export type Room = KubeObject & { spec: RoomSpec; status?: RoomStatus };
export type MediaCluster = KubeObject & { spec: MediaClusterSpec; status?: MediaClusterStatus };
