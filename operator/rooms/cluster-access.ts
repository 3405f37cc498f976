// What the Room controller asks about MediaClusters: which one is meant, its nodes, how to get in, and where clients get in.
import type { Stored } from '../kube/objects.ts';
import type { MediaCluster } from '../objects.ts';

/** A pod of a MediaCluster. */
export type ClusterNode = {
  /** Name of the pod. */
  pod: string;
  /** Name of the Kubernetes node that it runs on. */
  host?: string;
  /** Where the operator reaches its REST API: `http://<pod IP>:8080`, without a slash at the end. */
  url: string;
  /** Calls to it are signed with the token, which is not sent. */
  signed: boolean;
  ready: boolean;
  /** It is about to go: it has a deletionTimestamp. */
  terminating: boolean;
  /** Nothing comes back from it: its host is lost. */
  lost: boolean;
};

/** What stands in the way, for a condition: one word and one sentence. */
export type Refusal = { reason: string; message: string };

export interface ClusterAccess {
  /** The MediaCluster of that name, or the only one of the namespace. */
  find(namespace: string, name: string | undefined): { cluster: Stored<MediaCluster> } | Refusal;
  /** Its pods that exist and have an address. */
  nodes(namespace: string, cluster: string): ClusterNode[];
  /** The operator's API token; read for every call, so that it may rotate. */
  token(namespace: string, cluster: string): string | undefined;
  /** How clients reach any node (`http[s]://host[:port][/path]`); undefined where they come to each node's own address, by http and ws. */
  publicUrls(cluster: Stored<MediaCluster>): { api: string; secure: boolean } | undefined;
}
