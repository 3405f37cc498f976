// A copy of all objects of one kind, kept by list and watch.
import type { Log } from '../log.ts';
import type { KubeClient } from './client.ts';
import type { KubeObject, Resource, Stored } from './objects.ts';
import type { ReflectorObserver } from './observer.ts';

export type ReflectorOptions<T extends KubeObject> = {
  client: Pick<KubeClient, 'list' | 'watch'>;
  resource: Resource;
  /** None: all of them. */
  namespaces: readonly string[];
  labelSelector?: string;
  fieldSelector?: string;
  log: Log;
  /** Also called by a resync, with the same object twice. Must only put keys into queues. */
  onChange: (object: Stored<T>, old?: Stored<T>) => void;
  onDelete: (object: Stored<T>) => void;
  /** Names of values to look objects up by: see `where`. */
  indexes?: Readonly<Record<string, (object: Stored<T>) => readonly string[]>>;
  /** Default 90 s. */
  idleMs?: number;
  /** Without it there is no resync. */
  resyncMs?: number;
  random?: () => number;
  metrics?: ReflectorObserver;
};

export class Reflector<T extends KubeObject> {
  constructor(options: ReflectorOptions<T>) {
    void options;
  }

  /** Whether everything was listed once. */
  get synced(): boolean {
    return false;
  }

  /** Until the signal aborts; never rejects. */
  run(_signal: AbortSignal): Promise<void> {
    return Promise.reject(new Error('not built yet'));
  }

  /** Resolves once everything was listed; rejects with the signal's reason. */
  whenSynced(_signal: AbortSignal): Promise<void> {
    return Promise.reject(new Error('not built yet'));
  }

  /** By `namespace/name`, as keyOf gives it. */
  get(_key: string): Stored<T> | undefined {
    return undefined;
  }

  list(): Stored<T>[] {
    return [];
  }

  /** Those to which that index gives that value. */
  where(_index: string, _value: string): Stored<T>[] {
    return [];
  }
}
