// useCopy: copies text to the clipboard and reports the result; success is reported for a moment only.
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
      // Without HTTPS there is no clipboard.
      setState('refused');
    }
  }, []);
  return [state, copy];
}
