// What runs in the plain page of a test of RoomProvider: a room in strict mode, with an error boundary around it.
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

/** Shown beside the room: what happens in that is no matter of the rest of the page. */
const beside = createElement('p', { id: 'beside' }, 'The rest of the page');
// What a boundary catches is not an error of the page.
const root = createRoot(document.body, { onCaughtError: () => {} });

/** Shows the room that these lead to, in place of the one before: when it returns, a button that is pressed next is one of now. */
function show(props: Pick<RoomProviderProps, 'url' | 'token' | 'options'>): void {
  const room = createElement(Boundary, null, createElement(RoomProvider, props, createElement(State)));
  flushSync(() => root.render(createElement(StrictMode, null, beside, room)));
}

export type ProviderPage = { showRoom: typeof show };
Object.assign(globalThis, { showRoom: show } satisfies ProviderPage);
