// One room in the list.
import { nameOf, type Room } from '../api/shapes.ts';
import { roomHash } from '../router.ts';
import { LinkIcon, PeopleIcon, TrashIcon } from './icons.tsx';

export type RoomRowProps = { room: Room; onInvite: () => void; onRemove: () => void; onComponents: () => void };

export function RoomRow({ room, onInvite, onRemove, onComponents }: RoomRowProps) {
  const present = room.peers.filter((peer) => peer.status === 'connected');
  const names = present.map((peer) => nameOf(peer.metadata)).filter((name) => name !== undefined);
  const absent = room.peers.length - present.length;
  return (
    <li className="room-row" data-testid="room-row" data-room={room.id}>
      <div className="room-about">
        <a className="room-name" href={roomHash(room.id)}>
          {room.id}
        </a>
        <p className="room-facts">
          <span className={present.length > 0 ? 'people live' : 'people'}>
            <PeopleIcon />
            <span data-testid="peer-count">
              {present.length}
              {room.config.maxPeers !== null && ` of ${room.config.maxPeers}`}
            </span>
            <span className="visually-hidden"> in the room</span>
          </span>
          {names.length > 0 && (
            <span className="names">{names.slice(0, 4).join(', ') + (names.length > 4 ? ` and ${names.length - 4} more` : '')}</span>
          )}
          {absent > 0 && <span>{absent} expected</span>}
          {room.components.length > 0 && (
            <button type="button" className="fact-link" data-testid="component-count" onClick={onComponents}>
              {room.components.length} {room.components.length === 1 ? 'component' : 'components'}
            </button>
          )}
          {room.config.videoCodec && <span>{room.config.videoCodec.toUpperCase()}</span>}
        </p>
      </div>
      <div className="room-actions">
        <button
          type="button"
          className="button icon-only"
          aria-label={`Invite to ${room.id}`}
          title="Invite"
          data-testid="invite"
          onClick={onInvite}
        >
          <LinkIcon />
        </button>
        <button
          type="button"
          className="button icon-only"
          aria-label={`Remove ${room.id}`}
          title="Remove"
          data-testid="remove-room"
          onClick={onRemove}
        >
          <TrashIcon />
        </button>
        <a className="button primary" href={roomHash(room.id)} data-testid="open-room" aria-label={`Join ${room.id}`}>
          Join
        </a>
      </div>
    </li>
  );
}
