// useAction: runs one user action with busy state and error message.
import { useCallback, useRef, useState } from 'react';
import { errorMessage } from '../api/rest.ts';
import { useIsMounted } from './use-is-mounted.ts';

export type Action = {
  busy: boolean;
  /** Error message of the last attempt. */
  problem: string | undefined;
  /**
   * Resolves with true if the work succeeded and the component is still mounted; otherwise the caller would change another dialog or page.
   * A second run while the first is pending does nothing.
   */
  run: (work: () => Promise<unknown>) => Promise<boolean>;
  /** Clears the error message. */
  clear: () => void;
};

export function useAction(): Action {
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<string>();
  const running = useRef(false);
  const isMounted = useIsMounted();
  const run = useCallback(
    async (work: () => Promise<unknown>): Promise<boolean> => {
      if (running.current) return false;
      running.current = true;
      setBusy(true);
      setProblem(undefined);
      try {
        await work();
        return isMounted();
      } catch (error) {
        setProblem(errorMessage(error));
        return false;
      } finally {
        running.current = false;
        setBusy(false);
      }
    },
    [isMounted],
  );
  return { busy, problem, run, clear: useCallback(() => setProblem(undefined), []) };
}
