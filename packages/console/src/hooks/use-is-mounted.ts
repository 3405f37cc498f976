// Whether what is on the page is still there when an answer comes.
import { useCallback, useEffect, useRef } from 'react';

/** @returns a function that stays the same */
export function useIsMounted(): () => boolean {
  const there = useRef(true);
  useEffect(() => {
    there.current = true;
    return () => {
      there.current = false;
    };
  }, []);
  return useCallback(() => there.current, []);
}
