// Interface of the Room controller to MediaClusters: lookup, nodes, token and public URLs.
import type { ConditionReason } from '../kube/conditions.ts';
import type { Stored } from '../kube/objects.ts';
import type { MediaCluster } from '../objects.ts';

/** A pod of a MediaCluster. */
export type ClusterNode = {
  /** Name of the pod. */
  pod: string;
  /** Name of its Kubernetes node. */
  host?: string;
  /** Base URL of its REST API for the operator: `http://<pod IP>:8080`, without a trailing slash. */
  url: string;
  /** Requests to it are signed with the token, which is not sent. */
  signed: boolean;
  ready: boolean;
  /** It has a deletionTimestamp. */
  terminating: boolean;
  /** Its Kubernetes node is lost. */
  lost: boolean;
};

export interface ClusterAccess {
  /** The MediaCluster of that name, or the only one of the namespace. */
  find(namespace: string, name: string | undefined): { cluster: Stored<MediaCluster> } | ConditionReason;
  /** Its existing pods with an address. */
  nodes(namespace: string, cluster: string): ClusterNode[];
  /** Reads what `token` returns, after a change of its Secret. */
  prepare(namespace: string, cluster: string): Promise<void>;
  /** API token of the operator; read for every request, because it may rotate. */
  token(namespace: string, cluster: string): string | undefined;
  /** Base URL of any node for clients (`http[s]://host[:port][/path]`); undefined if clients use the address of each node (http and ws). */
  publicUrl(cluster: Stored<MediaCluster>): string | undefined;
}
