// Fake Kubernetes nodes: Node objects with loopback addresses, kept ready by heartbeats until the test fails them.
import type { JsonClient } from '../https-json.ts';
import { timeText } from './pod-status.ts';

export type FakeKubernetesNode = {
  name: string;
  /** hostIP of its pods. */
  internalIP: string;
  /** External address, announced to clients. */
  externalIP: string;
};

/** A kubelet renews its Lease every 10 s; the grace period of a test's control plane is shorter. */
const leasePeriod = 1_000;
const leaseSeconds = 40;

/** Heartbeat of one Kubernetes node. */
export class Heartbeat {
  readonly #client: JsonClient;
  readonly #host: FakeKubernetesNode;
  readonly #labels: Record<string, string>;
  #timer: NodeJS.Timeout | undefined;
  #beating = false;

  constructor(client: JsonClient, host: FakeKubernetesNode, labels: Record<string, string>) {
    this.#client = client;
    this.#host = host;
    this.#labels = labels;
  }

  /** Registers the Kubernetes node and keeps it ready. */
  async start(): Promise<void> {
    const { name } = this.#host;
    const body = { metadata: { name, labels: { 'kubernetes.io/hostname': name, 'kubernetes.io/os': 'linux', ...this.#labels } } };
    const { status, body: answer } = await this.#client.call('/api/v1/nodes', { method: 'POST', body });
    if (status !== 201 && status !== 409) throw new Error(`no Node: ${JSON.stringify(answer)}`);
    this.#beating = true;
    await this.#report();
    await this.#renew();
    this.#later();
  }

  /** Stops heartbeats, as after a power failure. */
  stop(): void {
    this.#beating = false;
    clearTimeout(this.#timer);
  }

  #later(): void {
    if (!this.#beating) return;
    this.#timer = setTimeout(() => void this.#beat(), leasePeriod);
  }

  async #beat(): Promise<void> {
    // The API server may be unavailable.
    await this.#renew().catch(() => {});
    await this.#report().catch(() => {});
    this.#later();
  }

  async #renew(): Promise<void> {
    const leases = '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases';
    const { name } = this.#host;
    const renewTime = new Date().toISOString().replace('Z', '000Z');
    const spec = { holderIdentity: name, leaseDurationSeconds: leaseSeconds, renewTime };
    const body = { spec };
    const patch = { method: 'PATCH', contentType: 'application/merge-patch+json', body };
    const { status } = await this.#client.call(`${leases}/${name}`, patch);
    if (status === 404) await this.#client.call(leases, { method: 'POST', body: { metadata: { name }, spec } });
  }

  /** Only if its status is missing or was set to not ready by a controller. */
  async #report(): Promise<void> {
    const path = `/api/v1/nodes/${this.#host.name}`;
    const { body } = await this.#client.call(path);
    const conditions = (body as { status?: { conditions?: { type: string; status: string }[] } }).status?.conditions ?? [];
    if (!this.#beating || conditions.some(({ type, status }) => type === 'Ready' && status === 'True')) return;
    const now = timeText();
    const condition = (type: string, status: string, reason: string) => ({
      type,
      status,
      reason,
      message: '',
      lastHeartbeatTime: now,
      lastTransitionTime: now,
    });
    const size = { cpu: '64', memory: '64Gi', pods: '500', 'ephemeral-storage': '100Gi' };
    const status = {
      addresses: [
        { type: 'InternalIP', address: this.#host.internalIP },
        { type: 'ExternalIP', address: this.#host.externalIP },
        { type: 'Hostname', address: this.#host.name },
      ],
      capacity: size,
      allocatable: size,
      conditions: [
        condition('MemoryPressure', 'False', 'KubeletHasSufficientMemory'),
        condition('DiskPressure', 'False', 'KubeletHasNoDiskPressure'),
        condition('PIDPressure', 'False', 'KubeletHasSufficientPID'),
        condition('Ready', 'True', 'KubeletReady'),
      ],
    };
    const patch = { method: 'PATCH', contentType: 'application/strategic-merge-patch+json', body: { status } };
    await this.#client.call(`${path}/status`, patch);
  }
}
