// Room panel: participants, components and events of a room, whether the user has joined or not.
import { type KeyboardEvent, useEffect, useRef, useState } from 'react';
import { CloseIcon } from '../components/icons.tsx';
import { Alert } from '../components/page-title.tsx';
import { ComponentsTab } from './components/components-tab.tsx';
import { EventsTab } from './events/events-tab.tsx';
import { PeersTab } from './peers/peers-tab.tsx';
import { Tabs } from './tabs.tsx';
import type { LiveRoom } from './use-room.ts';

type PanelTab = 'peers' | 'components' | 'events';

/** `covers`: the panel covers the room and has the focus until it is closed. */
export function RoomPanel({ live, covers, onClose }: { live: LiveRoom; covers: boolean; onClose: () => void }) {
  const [tab, setTab] = useState<PanelTab>('peers');
  const panel = useRef<HTMLElement>(null);
  const { room, problem, lost } = live;
  useEffect(() => {
    if (covers) panel.current?.focus();
  }, [covers]);
  const onKey = (event: KeyboardEvent) => {
    if (covers && event.key === 'Escape' && !event.defaultPrevented) onClose();
  };
  return (
    <aside ref={panel} className="room-panel" aria-label="About this room" data-testid="room-panel" tabIndex={-1} onKeyDown={onKey}>
      <Tabs
        label="About this room"
        current={tab}
        onChange={setTab}
        tabs={[
          { name: 'peers', title: 'Participants', count: room?.peers.length, testId: 'peers' },
          { name: 'components', title: 'Components', count: room?.components.length, testId: 'components' },
          { name: 'events', title: 'Events', testId: 'events' },
        ]}
        end={
          <button
            type="button"
            className="button icon-only panel-close"
            aria-label="Close the panel"
            data-testid="panel-close"
            onClick={onClose}
          >
            <CloseIcon />
          </button>
        }
      >
        {lost && (
          <Alert tone="warning" testId="panel-lost">
            Disconnected. Reconnecting… The data shown may be out of date.
          </Alert>
        )}
        {problem && (
          <Alert tone="danger" testId="panel-problem">
            {problem}
          </Alert>
        )}
        {room === null && (
          <Alert tone="info" testId="panel-ended">
            This room has ended. Its events can still be read.
          </Alert>
        )}
        {tab === 'peers' && <PeersTab live={live} />}
        {tab === 'components' && <ComponentsTab live={live} />}
        {tab === 'events' && <EventsTab live={live} />}
      </Tabs>
    </aside>
  );
}
