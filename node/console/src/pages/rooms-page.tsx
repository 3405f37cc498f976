// All rooms of the cluster, live: what is there, make one, join one, end one.
import { useState } from 'react';
import { type Api, sentenceOf } from '../api/rest.ts';
import type { Room } from '../api/shapes.ts';
import { ComponentsDialog } from '../components/components-dialog.tsx';
import { CreateRoom } from '../components/create-room.tsx';
import { ConfirmDialog } from '../components/dialog.tsx';
import { InviteDialog } from '../components/invite-dialog.tsx';
import { EmptyState, Note, PageHead } from '../components/page-head.tsx';
import { RoomRow } from '../components/room-row.tsx';
import { useConsole } from '../hooks/console-context.ts';
import { useRooms } from '../hooks/use-rooms.ts';
import '../styles/rooms.css';

/** From this many rooms on, a field to find one. */
const manyRooms = 8;
const mostRows = 200;

export function RoomsPage() {
  const { api } = useConsole();
  const { rooms, incomplete, connected } = useRooms(api);
  const [filter, setFilter] = useState('');
  const [inviting, setInviting] = useState<string>();
  const [showing, setShowing] = useState<string>();
  const [removing, setRemoving] = useState<Room>();
  const found = (rooms ?? []).filter((room) => room.id.toLowerCase().includes(filter.trim().toLowerCase()));
  return (
    <>
      <PageHead title="Rooms" freshness={!connected ? 'lost' : rooms ? 'live' : 'loading'} facts={rooms && `${rooms.length} rooms`} />
      {incomplete.length > 0 && <Note tone="warning">Some nodes did not answer, their rooms are missing: {incomplete.join(', ')}</Note>}
      <CreateRoom api={api} />
      {rooms && rooms.length >= manyRooms && (
        <input
          className="filter"
          type="search"
          placeholder="Find a room"
          aria-label="Find a room"
          value={filter}
          onChange={(event) => setFilter(event.target.value)}
        />
      )}
      {rooms?.length === 0 && (
        <EmptyState title="No rooms yet" testId="no-rooms">
          Create one above, join it, and invite others with a link. Rooms that your application makes with the API appear here as well.
        </EmptyState>
      )}
      {rooms && rooms.length > 0 && found.length === 0 && <p className="empty">No room has &ldquo;{filter.trim()}&rdquo; in its name.</p>}
      <ul className="room-list">
        {found.slice(0, mostRows).map((room) => (
          <RoomRow
            key={room.incarnation}
            room={room}
            onInvite={() => setInviting(room.id)}
            onRemove={() => setRemoving(room)}
            onComponents={() => setShowing(room.id)}
          />
        ))}
      </ul>
      {found.length > mostRows && <p className="hint">The first {mostRows} are shown. Type part of a name to find others.</p>}
      {inviting !== undefined && <InviteDialog api={api} roomId={inviting} onClose={() => setInviting(undefined)} />}
      {showing !== undefined && <ComponentsDialog api={api} roomId={showing} onClose={() => setShowing(undefined)} />}
      {removing && <RemoveRoom api={api} room={removing} onClose={() => setRemoving(undefined)} />}
    </>
  );
}

function RemoveRoom({ api, room, onClose }: { api: Api; room: Room; onClose: () => void }) {
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<string>();
  const present = room.peers.filter((peer) => peer.status === 'connected').length;
  const remove = async () => {
    setBusy(true);
    try {
      await api.deleteRoom(room.id);
      onClose();
    } catch (error) {
      setProblem(sentenceOf(error));
      setBusy(false);
    }
  };
  return (
    <ConfirmDialog title="Remove this room?" confirm="Remove room" busy={busy} problem={problem} onConfirm={remove} onClose={onClose}>
      <strong className="room-name">{room.id}</strong> ends at once
      {present > 0 ? ` for the ${present === 1 ? 'one person' : `${present} people`} in it.` : '. Nobody is in it.'}
    </ConfirmDialog>
  );
}
