// useEnabledTypes: the component types that the node permits.
import { useQuery } from '@tanstack/react-query';
import { fetchSession } from '../api/rest.ts';

/** Undefined until the first response; if it fails, `file` is listed and the node validates the request. */
export function useEnabledTypes(base: string): readonly string[] | undefined {
  const { data, isError } = useQuery({ queryKey: ['session'], queryFn: () => fetchSession(base), networkMode: 'always', retry: false });
  return isError ? ['file'] : data?.components;
}
