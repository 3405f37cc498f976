// What the token of this tab allows.
import { type Api, ApiError } from './rest.ts';

/** `full` where the node has no such answer: then it refuses what is not allowed by itself. */
export async function fetchScope(api: Api): Promise<'full' | 'read'> {
  try {
    const { data } = await api.call('GET', 'access');
    return (data as { scope?: unknown } | undefined)?.scope === 'read' ? 'read' : 'full';
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return 'full';
    throw error;
  }
}
