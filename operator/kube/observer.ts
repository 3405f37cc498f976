// What the kube layer tells of itself; the operator's metrics take it, tests may.

/** One attempt of a call, a watch included (told when its answer began). */
export type CallObservation = {
  verb: 'get' | 'list' | 'watch' | 'create' | 'apply' | 'patch' | 'delete';
  method: string;
  host: string;
  /** The plural of the kind. */
  resource: string;
  /** The HTTP status, or 0 where none came. */
  status: number;
  /** Time to the answer in milliseconds. */
  ms: number;
  /** 0 for the first attempt, 1 for its first repetition. */
  attempt: number;
};

export type ReconcileResult = 'success' | 'error' | 'requeue_after' | 'terminal_error';

/** Of one queue, by its name. */
export type QueueObserver = {
  queueAdded: (queue: string) => void;
  queueRetried: (queue: string) => void;
  /** `waitedMs`: how long the key stood in the queue. */
  queueTaken: (queue: string, waitedMs: number) => void;
  queueDone: (queue: string, workedMs: number) => void;
  /** A key that found no place. */
  queueRefused: (queue: string) => void;
};

export type ControllerObserver = {
  reconciled: (controller: string, result: ReconcileResult, ms: number) => void;
  reconcilePanicked: (controller: string) => void;
  reconcileTimedOut: (controller: string) => void;
  workers: (controller: string, active: number, most: number) => void;
};

/** How a watch ended: by the server in good order; its connection broke or the server was busy; silence; its version is too old; anything else. */
export type WatchEnd = 'closed' | 'cut' | 'stalled' | 'expired' | 'failed';

export type ReflectorObserver = {
  watchEnded: (resource: string, why: WatchEnd) => void;
  /** Everything was listed, at the start or anew. */
  listed: (resource: string, objects: number) => void;
};
