// Events tab: live event log of the room with filter and pause.
import { useDeferredValue, useState } from 'react';
import type { Room, RoomEvent } from '../../../../server-sdk/src/generated/schemas.ts';
import { Alert, EmptyState } from '../../components/page-title.tsx';
import { useStore } from '../../hooks/store.ts';
import { titleOf, UserText } from '../peers/names.tsx';
import type { LiveRoom } from '../use-room.ts';
import { type EventLog, maxEvents } from './event-log.ts';

/** Number of events that are rendered at first and added by each "Show older events". */
const page = 100;
const groups = ['Room', 'Peer', 'Track', 'Component', 'Hls', 'Recording', 'Sip'] as const;
const groupTitles: Record<(typeof groups)[number], string> = {
  Room: 'Room',
  Peer: 'Peers',
  Track: 'Tracks',
  Component: 'Components',
  Hls: 'Streams',
  Recording: 'Recordings',
  Sip: 'Phone',
};

export function EventsTab({ live }: { live: LiveRoom }) {
  return live.log ? <LogView log={live.log} room={live.room} /> : null;
}

function LogView({ log, room }: { log: EventLog; room: LiveRoom['room'] }) {
  const { events, connected, incomplete } = useStore(log);
  const [held, setHeld] = useState<readonly RoomEvent[]>();
  const [group, setGroup] = useState('');
  const [text, setText] = useState('');
  const [limit, setLimit] = useState(page);
  const wanted = useDeferredValue(text.trim().toLowerCase());
  const shown = held ?? events;
  const found = shown.filter((event) => event.type.startsWith(group) && (wanted === '' || searched(event).includes(wanted))).reverse();
  const waiting = held ? events.length - events.findLastIndex(({ id }) => id === held.at(-1)?.id) - 1 : 0;
  return (
    <>
      <div className="log-bar">
        <select aria-label="Event type" data-testid="event-group" value={group} onChange={(event) => setGroup(event.target.value)}>
          <option value="">All types</option>
          {groups.map((each) => (
            <option key={each} value={each}>
              {groupTitles[each]}
            </option>
          ))}
        </select>
        <input
          type="search"
          className="filter"
          placeholder="Search events"
          aria-label="Search events"
          data-testid="event-filter"
          value={text}
          onChange={(event) => setText(event.target.value)}
        />
        <button
          type="button"
          className="button"
          aria-pressed={held !== undefined}
          data-testid="event-pause"
          onClick={() => setHeld(held ? undefined : events)}
        >
          {held ? `Resume${waiting > 0 ? ` (${waiting} new)` : ''}` : 'Pause'}
        </button>
      </div>
      {connected === false && (
        <Alert tone="warning" testId="log-lost">
          Event stream disconnected. Reconnecting; missed events will be loaded.
        </Alert>
      )}
      {incomplete && (
        <p className="hint">Older events were dropped: nodes keep the last 10,000, this page {maxEvents.toLocaleString('en')}.</p>
      )}
      {events.length === 0 && connected && (
        <EmptyState title="No events yet" testId="no-events">
          Events of participants, tracks and components appear here immediately.
        </EmptyState>
      )}
      {events.length > 0 && found.length === 0 && <p className="empty">No matching events.</p>}
      <ol className="log" aria-label="Events, the newest first">
        {found.slice(0, limit).map((event) => (
          <EventRow key={event.id} event={event} room={room} />
        ))}
      </ol>
      {found.length > limit && (
        <button type="button" className="button" onClick={() => setLimit(limit + page)}>
          Show older events ({found.length - limit})
        </button>
      )}
    </>
  );
}

function EventRow({ event, room }: { event: RoomEvent; room: Room | null | undefined }) {
  const [open, setOpen] = useState(false);
  const id = event.componentId ?? event.peerId;
  const what = id === undefined ? undefined : (titleOf(room, id) ?? id.slice(0, 8));
  const time = new Date(event.time);
  return (
    <li data-testid="event" data-type={event.type} className={/Crashed/.test(event.type) ? 'crashed' : undefined}>
      <details onToggle={(toggled) => setOpen(toggled.currentTarget.open)}>
        <summary>
          <time dateTime={event.time} title={time.toLocaleString()}>
            {time.toLocaleTimeString([], { hour: '2-digit', minute: '2-digit', second: '2-digit', hour12: false })}
          </time>
          <span className="event-type">{event.type}</span>
          <span className="event-about">
            {event.track && `${event.track.type} `}
            {what !== undefined && <UserText>{what}</UserText>}
            {event.digit !== undefined && ` pressed ${event.digit}`}
            {event.reason !== undefined && <UserText className="hint">{event.reason.slice(0, 200)}</UserText>}
          </span>
        </summary>
        {open && (
          // Scrollable, so it must be reachable by keyboard.
          // biome-ignore lint/a11y/noNoninteractiveTabindex: see above
          <pre dir="ltr" tabIndex={0} data-testid="event-json">
            {JSON.stringify(event, undefined, 2)}
          </pre>
        )}
      </details>
    </li>
  );
}

function searched(event: RoomEvent): string {
  return JSON.stringify(event).toLowerCase();
}
