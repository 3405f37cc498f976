// Client of a controller in the process of a test: records its requests, and writes its Events.
import { KubeClient } from '../../../../operator/kube/client.ts';
import { EventRecorder } from '../../../../operator/kube/event-recorder.ts';
import type { CallObservation } from '../../../../operator/kube/observer.ts';
import { createLog, type Log } from '../../../../operator/log.ts';
import { silentLog } from '../../silent-log.ts';

export type ControllerClient = {
  client: KubeClient;
  recorder: EventRecorder;
  log: Log;
  /** Every request to the API server except watches. */
  calls: CallObservation[];
  close: () => Promise<void>;
};

/** With the environment variable OPERATOR_LOG the controller logs. */
export async function connectController(kubeconfig: string, givenLog?: Log): Promise<ControllerClient> {
  const log = givenLog ?? (process.env.OPERATOR_LOG ? createLog({ level: 'debug', structured: false }) : silentLog());
  const calls: CallObservation[] = [];
  const observe = (call: CallObservation) => {
    if (call.verb !== 'watch') calls.push(call);
  };
  const fieldManager = 'mediarooms-operator';
  const client = await KubeClient.connect({ kubeconfig, log, userAgent: 'mediarooms-test', timeoutMs: 30_000, fieldManager, observe });
  const recorder = new EventRecorder({ client, controller: 'mediarooms.dev/operator', instance: 'test', log });
  const close = async () => {
    await recorder.close();
    await client.close();
  };
  return { client, recorder, log, calls, close };
}
