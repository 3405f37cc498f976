// Operations of components.
import { componentOptionsSchema, componentSubscriptionSchema, componentViewSchema } from '../component/component.ts';
import { componentTypeSchema, documentedComponentOptions } from '../component/types.ts';
import { operation } from '../core/operation.ts';
import { creates, does, shows } from '../core/response.ts';
import { formatValue } from '../derive/validation-messages.ts';
import { roomErrors } from './rooms.ts';

const component = { tag: 'component', errors: [...roomErrors, 'component_not_found'], runs: 'room' } as const;
/** Longer, so that the start or end of a process in progress is not reported as failed. */
const processTimeoutMs = 20_000;

export const componentOperations = {
  addComponent: operation('POST /room/{roomId}/component', {
    ...component,
    summary: 'Add a component to a room.',
    body: { schema: componentOptionsSchema, documented: documentedComponentOptions, required: true, refuse: refuseType },
    response: creates(
      componentViewSchema,
      'The new component; `properties` are the options it was created with.',
      'The component that an earlier request with this externalId created.',
    ),
    errors: [...roomErrors, 'bad_request', 'not_found', 'conflict', 'room_full', 'unavailable'],
    timeoutMs: processTimeoutMs,
    repeatable: true,
    sdk: 'components.add(component)',
    // Starts a process.
    sdkTimeoutMs: 60_000,
  }),
  getComponent: operation('GET /room/{roomId}/component/{componentId}', {
    ...component,
    summary: 'Show a component.',
    response: shows(componentViewSchema, 'The component.'),
    sdk: 'components.get()',
  }),
  deleteComponent: operation('DELETE /room/{roomId}/component/{componentId}', {
    ...component,
    summary: 'Stop a component and remove it from its room.',
    response: does(204, 'The component was removed.'),
    timeoutMs: processTimeoutMs,
    sdk: 'components.delete()',
  }),
  subscribeComponent: operation('POST /room/{roomId}/component/{componentId}/subscribe', {
    ...component,
    summary: 'Subscribe a component in manual mode to the tracks of peers and components.',
    body: { schema: componentSubscriptionSchema, required: true },
    response: does(201, 'It receives their current and future tracks.'),
    errors: [...component.errors, 'bad_request'],
    repeatable: true,
    sdk: 'components.subscribe(origins)',
  }),
};

function refuseType(body: unknown, field: string | undefined): string | undefined {
  if (field !== 'type' || typeof body !== 'object' || body === null || !('type' in body)) return undefined;
  return `Invalid component type: expected one of ${componentTypeSchema.options.join(', ')}, got: ${formatValue(body.type)}`;
}
