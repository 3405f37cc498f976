// Page script of RoomProvider tests: a room in strict mode, inside an error boundary.
import { Component, createElement, type ReactNode, StrictMode } from 'react';
import { flushSync } from 'react-dom';
import { createRoot } from 'react-dom/client';
import { RoomProvider, type RoomProviderProps, useConnectionState } from '../../../packages/client/src/react/index.ts';

type Caught = { error: Error | undefined };

class Boundary extends Component<{ children: ReactNode }, Caught> {
  override state: Caught = { error: undefined };

  static getDerivedStateFromError(error: Error): Caught {
    return { error };
  }

  override render(): ReactNode {
    const { error } = this.state;
    if (!error) return this.props.children;
    const again = createElement('button', { type: 'button', onClick: () => this.setState({ error: undefined }) }, 'Again');
    return createElement('p', { role: 'alert' }, `${error.name}: ${error.message}`, again);
  }
}

function State(): ReactNode {
  return createElement('p', { role: 'status' }, useConnectionState().state);
}

/** Rendered next to the room: errors of the room must not affect it. */
const sibling = createElement('p', { id: 'sibling' }, 'The rest of the page');
// An error caught by a boundary is not an error of the page.
const root = createRoot(document.body, { onCaughtError: () => {} });

/** Shows the room of these properties instead of the previous one; synchronous, so that a button pressed next belongs to the new room. */
function show(props: Pick<RoomProviderProps, 'url' | 'token' | 'options'>): void {
  const room = createElement(Boundary, null, createElement(RoomProvider, props, createElement(State)));
  flushSync(() => root.render(createElement(StrictMode, null, sibling, room)));
}

export type ProviderPage = { showRoom: typeof show };
Object.assign(globalThis, { showRoom: show } satisfies ProviderPage);
