// Fake store of Leases with the rules of the API server: a write needs the version that was read.
import { KubeError } from '../../../../operator/kube/http/kube-error.ts';
import type { KubeObject, Resource, Stored } from '../../../../operator/kube/objects.ts';

type Lease = Stored<KubeObject & { spec: Record<string, unknown> }>;

export class FakeLeases {
  lease: Lease | undefined;
  /** Called before each request; it may wait, or throw like a broken connection. */
  before: (verb: 'get' | 'create' | 'patch', client: string) => Promise<void> | void = () => {};
  writes = 0;
  #version = 0;

  /** Client of a LeaderElector; `name` identifies the elector. */
  client(name: string) {
    const api = {
      get: async () => {
        await this.before('get', name);
        return structuredClone(this.lease);
      },
      create: async (_resource: Resource, object: KubeObject) => {
        await this.before('create', name);
        if (this.lease) throw new KubeError({ status: 409, reason: 'AlreadyExists', message: 'leases "operator" already exists' });
        return this.#store(object as Lease);
      },
      patch: async (_resource: Resource, _ref: unknown, patch: { metadata?: Record<string, unknown>; spec?: unknown }) => {
        await this.before('patch', name);
        if (!this.lease) return undefined;
        if (patch.metadata?.resourceVersion !== this.lease.metadata.resourceVersion)
          throw new KubeError({ status: 409, reason: 'Conflict', message: 'the object has been modified' });
        return this.#store({ ...this.lease, spec: { ...this.lease.spec, ...(patch.spec as object) } });
      },
    };
    return { scoped: () => api } as unknown as { scoped: () => never };
  }

  /** Overwrites the Lease like another process, without a precondition. */
  overwrite(spec: Record<string, unknown>): void {
    if (this.lease) this.#store({ ...this.lease, spec });
    this.writes -= 1;
  }

  #store(lease: Lease): Lease {
    this.#version += 1;
    this.writes += 1;
    this.lease = { ...lease, metadata: { ...lease.metadata, uid: 'uid', resourceVersion: String(this.#version) } };
    return structuredClone(this.lease);
  }
}
