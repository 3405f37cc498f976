// All rooms of the cluster, live: what is there, make one, join one, end one.
import { useState } from 'react';
import { type Api, sentenceOf } from '../api/rest.ts';
import type { Room } from '../api/shapes.ts';
import { ComponentsDialog } from '../components/components-dialog.tsx';
import { CreateRoom } from '../components/create-room.tsx';
import { ConfirmDialog } from '../components/dialog.tsx';
import { InviteDialog } from '../components/invite-dialog.tsx';
import { PageHeader } from '../components/page-header.tsx';
import { RoomRow } from '../components/room-row.tsx';
import { useRooms } from '../hooks/use-rooms.ts';

/** From this many rooms on, a field to find one. */
const manyRooms = 8;
const mostRows = 200;

export function RoomsPage({ api, development, logOut }: { api: Api; development: boolean; logOut: () => void }) {
  const { rooms, incomplete, connected } = useRooms(api);
  const [filter, setFilter] = useState('');
  const [inviting, setInviting] = useState<string>();
  const [showing, setShowing] = useState<string>();
  const [removing, setRemoving] = useState<Room>();
  const found = (rooms ?? []).filter((room) => room.id.toLowerCase().includes(filter.trim().toLowerCase()));
  return (
    <>
      <PageHeader home>
        {development && (
          <span className="tag">
            Development<span className="wide-only"> mode</span>
          </span>
        )}
        <a className="button quiet" href="docs" target="_blank" rel="noreferrer">
          API
        </a>
        {!development && (
          <button type="button" className="button quiet" onClick={logOut}>
            Log out
          </button>
        )}
      </PageHeader>
      <div role="status" aria-live="polite" data-testid="status" className="banner-slot">
        {!connected && <p className="banner warning">Connection to the server lost, trying again…</p>}
        {incomplete.length > 0 && <p className="banner">Some nodes did not answer, their rooms are missing: {incomplete.join(', ')}</p>}
      </div>
      <main className="rooms">
        <CreateRoom api={api} />
        <section aria-labelledby="rooms-title">
          <div className="section-head">
            <h1 id="rooms-title">Rooms</h1>
            {rooms && rooms.length > 0 && <span className="count">{rooms.length}</span>}
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
          </div>
          {!rooms && <p className="empty">Loading rooms…</p>}
          {rooms?.length === 0 && (
            <div className="empty" data-testid="no-rooms">
              <p className="empty-title">No rooms yet</p>
              <p>
                Create one above, join it, and invite others with a link. Rooms that your application makes with the API appear here as
                well.
              </p>
            </div>
          )}
          {rooms && rooms.length > 0 && found.length === 0 && (
            <p className="empty">No room has &ldquo;{filter.trim()}&rdquo; in its name.</p>
          )}
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
        </section>
      </main>
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
