// Access API: reads the scope of the token of this tab.
import { operationRequest } from './operation-request.ts';
import { type Api, ApiError } from './rest.ts';

/** `full` if the node does not have this endpoint: then the node itself rejects what the token does not permit. */
export async function fetchScope(api: Api): Promise<'full' | 'read'> {
  try {
    return (await api.send(operationRequest('getAccess'))).data?.scope === 'read' ? 'read' : 'full';
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return 'full';
    throw error;
  }
}
