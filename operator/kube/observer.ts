// Observer interfaces of the kube layer, implemented by the metrics of the operator.

/** One attempt of a request; for a watch when its response began. */
export type CallObservation = {
  verb: 'get' | 'list' | 'watch' | 'create' | 'apply' | 'patch' | 'delete';
  method: string;
  host: string;
  /** Plural of the kind. */
  resource: string;
  /** HTTP status, or 0 without a response. */
  status: number;
  /** Time to the response in milliseconds. */
  ms: number;
  /** 0 for the first attempt, 1 for the first retry. */
  attempt: number;
};

export type ReconcileResult = 'success' | 'error' | 'requeue_after' | 'terminal_error';

/** Events of one queue, by its name. */
export type QueueObserver = {
  /** Read at each scrape. */
  queueCreated: (queue: { name: string; depth: number; workTimes: () => number[] }) => void;
  queueAdded: (queue: string) => void;
  queueRetried: (queue: string) => void;
  /** `waitedMs`: how long the key was queued. */
  queueTaken: (queue: string, waitedMs: number) => void;
  queueDone: (queue: string, workedMs: number) => void;
  /** A key was rejected because the queue was full. */
  queueRefused: (queue: string) => void;
};

export type ControllerObserver = {
  reconciled: (controller: string, result: ReconcileResult, ms: number) => void;
  reconcilePanicked: (controller: string) => void;
  reconcileTimedOut: (controller: string) => void;
  workers: (controller: string, active: number, most: number) => void;
};

/** How a watch ended: normally; broken connection or busy server; idle; resource version expired; other failure. */
export type WatchEnd = 'closed' | 'cut' | 'stalled' | 'expired' | 'failed';

export type ReflectorObserver = {
  /** Read at each scrape: number of cached objects, and milliseconds since the last message. */
  reflectorCreated: (resource: string, reflector: { size: number; silence: number }) => void;
  watchEnded: (resource: string, why: WatchEnd) => void;
  /** A full list completed, at startup or later. */
  listed: (resource: string, objects: number) => void;
};
