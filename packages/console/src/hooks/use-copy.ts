// Puts text on the clipboard; says for a moment that it did, or for good that it could not.
import { useCallback, useEffect, useRef, useState } from 'react';

export type Copied = 'no' | 'copied' | 'refused';

const shownFor = 2_000;

export function useCopy(): [Copied, (text: string) => Promise<void>] {
  const [state, setState] = useState<Copied>('no');
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => () => clearTimeout(timer.current), []);
  const copy = useCallback(async (text: string) => {
    clearTimeout(timer.current);
    try {
      await navigator.clipboard.writeText(text);
      setState('copied');
      timer.current = setTimeout(() => setState('no'), shownFor);
    } catch {
      // Pages without https have no clipboard.
      setState('refused');
    }
  }, []);
  return [state, copy];
}
