// Handlers of operations on the node: health, probes, documents, and the session of the console before login.
import type { ConsoleSession } from '../../../api/console-session.ts';
import { ServiceError } from '../../../api/errors.ts';
import type { HealthView } from '../../../api/health.ts';
import type { nodeOperations } from '../../../api/operations/node.ts';
import type { Handlers } from '../../rooms/services/operations.ts';
import { requestOf } from './content-handlers.ts';

const type = 'application/json';
const up: { data: { status: 'UP' } } = { data: { status: 'UP' } };

export type NodeServices = {
  health: () => Promise<HealthView>;
  ready: () => boolean;
  consoleSession: () => ConsoleSession;
  /** JSON documents and the page, generated from the operations and messages. */
  documents: {
    openapi: () => string;
    asyncapi: () => string | undefined;
    events: () => string;
    page: () => { html: string; policy: string };
  };
};

export function nodeHandlers({ health, ready, consoleSession, documents }: NodeServices): Handlers<typeof nodeOperations> {
  return {
    getAccess: (_, caller) => ({ scope: requestOf(caller).scope === 'admin' ? 'full' : 'read' }),
    getHealth: () => health(),
    isAlive: () => up,
    isReady: () => {
      if (!ready()) throw new ServiceError('unavailable', 'The node is not ready');
      return up;
    },
    getConsoleSession: (_, caller) => {
      const { fetchSite, local } = requestOf(caller);
      if (fetchSite !== undefined && fetchSite !== 'same-origin' && fetchSite !== 'none') {
        throw new ServiceError('forbidden', 'Only the console itself may request this');
      }
      const { development, token, components } = consoleSession();
      const revealsToken = development && local();
      return { development: revealsToken, ...(revealsToken && { token }), components };
    },
    getOpenApi: () => ({ status: 200, text: documents.openapi(), type }),
    getAsyncApi: () => {
      const text = documents.asyncapi();
      if (text === undefined) throw new ServiceError('not_found', 'This node has no AsyncAPI document');
      return { status: 200, text, type };
    },
    getEventSchema: () => ({ status: 200, text: documents.events(), type }),
    getDocs: () => {
      const { html, policy } = documents.page();
      return { status: 200, text: html, type: 'text/html; charset=utf-8', headers: { 'content-security-policy': policy } };
    },
  };
}
