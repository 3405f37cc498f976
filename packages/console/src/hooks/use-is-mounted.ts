// useIsMounted: lets asynchronous code check that its component is still mounted.
import { useCallback, useEffect, useRef } from 'react';

/** @returns a stable function */
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
