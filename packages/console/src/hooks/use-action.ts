// One thing that somebody asked for: under way, done, or refused with a sentence.
import { useCallback, useRef, useState } from 'react';
import { errorMessage } from '../api/rest.ts';
import { useIsMounted } from './use-is-mounted.ts';

export type Action = {
  busy: boolean;
  /** Why the last attempt failed. */
  problem: string | undefined;
  /**
   * Resolves with whether it was done and whoever asked is still there: what follows would be done to the next dialog, or another page. A second call
   * while the first is under way does nothing.
   */
  run: (work: () => Promise<unknown>) => Promise<boolean>;
  /** Forgets the problem. */
  clear: () => void;
};

export function useAction(): Action {
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<string>();
  const running = useRef(false);
  const isThere = useIsMounted();
  const run = useCallback(
    async (work: () => Promise<unknown>): Promise<boolean> => {
      if (running.current) return false;
      running.current = true;
      setBusy(true);
      setProblem(undefined);
      try {
        await work();
        return isThere();
      } catch (error) {
        setProblem(errorMessage(error));
        return false;
      } finally {
        running.current = false;
        setBusy(false);
      }
    },
    [isThere],
  );
  return { busy, problem, run, clear: useCallback(() => setProblem(undefined), []) };
}
