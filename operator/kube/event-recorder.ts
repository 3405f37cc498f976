// Events for people (events.k8s.io/v1): told in the background, repetitions as series.
import type { Log } from '../log.ts';
import type { KubeClient } from './client.ts';
import type { KubeObject, Stored } from './objects.ts';

export type EventRecorderOptions = {
  client: Pick<KubeClient, 'create' | 'patch'>;
  /** `reportingController`, e.g. `mediarooms.dev/operator`. */
  controller: string;
  /** `reportingInstance`: which process. */
  instance: string;
  log: Log;
  now?: () => number;
  random?: () => number;
};

export class EventRecorder {
  constructor(options: EventRecorderOptions) {
    void options;
  }

  /** Returns at once; what cannot be told is dropped and counted. `action` is what was done or tried, one CamelCase word. */
  emit(_regarding: Stored<KubeObject>, _type: 'Normal' | 'Warning', _reason: string, _action: string, _note: string): void {}

  /** Tells what is left, for at most 2 s. */
  close(): Promise<void> {
    return Promise.resolve();
  }
}
