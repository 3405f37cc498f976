// Types of Kubernetes objects that the operator writes, from @kubernetes/client-node, as JSON.
import type {
  V1Container,
  V1ContainerPort,
  V1EnvVar,
  V1HTTPIngressPath,
  V1IngressSpec,
  V1NetworkPolicyPeer,
  V1NetworkPolicySpec,
  V1PersistentVolumeClaimSpec,
  V1PodDisruptionBudgetSpec,
  V1PodSpec,
  V1Probe,
  V1ServicePort,
  V1ServiceSpec,
  V1TopologySpreadConstraint,
  V1Volume,
  V1VolumeMount,
} from '@kubernetes/client-node';

/** The classes of client-node have Dates, and a prefix before reserved words such as `from`. */
export type Json<T> = T extends Date
  ? string
  : T extends readonly (infer E)[]
    ? Json<E>[]
    : T extends object
      ? { [K in keyof T as K extends `_${infer Name}` ? Name : K]: Json<T[K]> }
      : T;

export type PodSpec = Json<V1PodSpec>;
export type Container = Json<V1Container>;
export type ContainerPort = Json<V1ContainerPort>;
export type EnvVariable = Json<V1EnvVar>;
export type Probe = Json<V1Probe>;
export type TopologySpreadConstraint = Json<V1TopologySpreadConstraint>;
export type Volume = Json<V1Volume>;
export type VolumeMount = Json<V1VolumeMount>;
export type ServiceSpec = Json<V1ServiceSpec>;
export type ServicePort = Json<V1ServicePort>;
export type IngressSpec = Json<V1IngressSpec>;
export type IngressPath = Json<V1HTTPIngressPath>;
export type NetworkPolicySpec = Json<V1NetworkPolicySpec>;
export type NetworkPolicyPeer = Json<V1NetworkPolicyPeer>;
export type PersistentVolumeClaimSpec = Json<V1PersistentVolumeClaimSpec>;
export type PodDisruptionBudgetSpec = Json<V1PodDisruptionBudgetSpec>;
