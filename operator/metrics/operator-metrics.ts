// What the operator tells Prometheus, under controller-runtime's names.
import { Registry } from 'prom-client';
import type { CallObservation, ControllerObserver, QueueObserver, ReconcileResult, ReflectorObserver, WatchEnd } from '../kube/observer.ts';

export class OperatorMetrics implements QueueObserver, ControllerObserver, ReflectorObserver {
  readonly #registry = new Registry();

  get contentType(): string {
    return this.#registry.contentType;
  }

  text(): Promise<string> {
    return this.#registry.metrics();
  }

  call(_call: CallObservation): void {}
  queueAdded(_queue: string): void {}
  queueRetried(_queue: string): void {}
  queueTaken(_queue: string, _waitedMs: number): void {}
  queueDone(_queue: string, _workedMs: number): void {}
  queueRefused(_queue: string): void {}
  reconciled(_controller: string, _result: ReconcileResult, _ms: number): void {}
  reconcilePanicked(_controller: string): void {}
  reconcileTimedOut(_controller: string): void {}
  workers(_controller: string, _active: number, _most: number): void {}
  watchEnded(_resource: string, _why: WatchEnd): void {}
  listed(_resource: string, _objects: number): void {}
  leading(_name: string, _leading: boolean): void {}
}
