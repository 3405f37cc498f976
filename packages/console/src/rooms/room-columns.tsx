// Room columns: the columns of the list of rooms.
import { ActionButton } from '../components/action-button.tsx';
import type { Column } from '../components/data-table.tsx';
import { LinkIcon, PeopleIcon, TrashIcon } from '../components/icons.tsx';
import { roomHash } from '../router.ts';
import type { RoomOrder, RoomRow } from './room-list.ts';

export type RoomColumnsOptions = {
  order: RoomOrder;
  onOrder: (order: RoomOrder) => void;
  onInvite: (room: RoomRow) => void;
  onEnd: (room: RoomRow) => void;
};

const codecs: Record<string, string> = { h264: 'H.264', vp8: 'VP8', none: 'Audio only' };

export function roomColumns({ order, onOrder, onInvite, onEnd }: RoomColumnsOptions): Column<RoomRow>[] {
  /** Names start at A, counts at the highest. */
  const sort = (by: RoomOrder['by']): Column<RoomRow>['sort'] => ({
    by: order.by !== by ? undefined : order.down ? 'descending' : 'ascending',
    toggle: () => onOrder(order.by === by ? { by, down: !order.down } : { by, down: by !== 'name' }),
  });
  return [
    {
      id: 'name',
      title: 'Room',
      width: 'minmax(0, 3fr)',
      narrow: 'head',
      sort: sort('name'),
      cell: (room) => (
        <span className="two-lines">
          <a className="row-name cut" href={roomHash(room.id)}>
            {room.id}
          </a>
          {room.externalId !== undefined && (
            <bdi className="quiet-text small-text cut" title="External ID">
              {room.externalId}
            </bdi>
          )}
        </span>
      ),
    },
    {
      id: 'participants',
      title: 'Participants',
      width: '132px',
      sort: sort('participants'),
      narrow: 'plain',
      cell: (room) => <Participants room={room} />,
    },
    {
      id: 'names',
      title: 'Names',
      width: 'minmax(0, 3fr)',
      narrow: 'hide',
      cell: (room) => <Names room={room} />,
    },
    {
      id: 'components',
      title: 'Components',
      width: '104px',
      numeric: true,
      sort: sort('components'),
      cell: ({ components }) =>
        components === 0 ? null : (
          <span data-testid="component-count">
            {components}
            <span className="visually-hidden">{components === 1 ? ' component' : ' components'}</span>
          </span>
        ),
    },
    {
      id: 'codec',
      title: 'Codec',
      width: '72px',
      narrow: 'plain',
      cell: ({ videoCodec }) => (videoCodec === null ? null : <span className="quiet-text">{codecs[videoCodec] ?? videoCodec}</span>),
    },
    {
      id: 'actions',
      title: 'Actions',
      quietTitle: true,
      width: '150px',
      narrow: 'actions',
      cell: (room) => (
        <div className="row-actions">
          <ActionButton
            className="button icon-only small"
            aria-label={`Invite to ${room.id}`}
            title="Invite a guest"
            data-testid="invite"
            onClick={() => onInvite(room)}
          >
            <LinkIcon />
          </ActionButton>
          <ActionButton
            className="button icon-only small"
            aria-label={`End ${room.id}`}
            title="End the room"
            data-testid="remove-room"
            onClick={() => onEnd(room)}
          >
            <TrashIcon />
          </ActionButton>
          <a className="button small join" href={roomHash(room.id)} data-testid="open-room" aria-label={`Open ${room.id}`}>
            Open
          </a>
        </div>
      ),
    },
  ];
}

function Participants({ room: { present, maxPeers, expected } }: { room: RoomRow }) {
  return (
    <span className={present > 0 ? 'participants live' : 'participants'}>
      <PeopleIcon />
      <span data-testid="peer-count">
        {present}
        {maxPeers !== null && ` of ${maxPeers}`}
      </span>
      <span className="visually-hidden"> participants</span>
      {expected > 0 && (
        <span className="quiet-text expected" title={`${expected} invited, not connected`}>
          +{expected}
          <span className="visually-hidden"> invited</span>
        </span>
      )}
    </span>
  );
}

/** Names are untrusted: each is isolated in its text direction. */
function Names({ room: { names, present } }: { room: RoomRow }) {
  const more = present - names.length;
  return (
    <span className="quiet-text cut" data-testid="names">
      {names.map((name, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: names may be the same
        <span key={index}>
          {index > 0 && ', '}
          <bdi>{name}</bdi>
        </span>
      ))}
      {names.length > 0 && more > 0 && ` and ${more} more`}
    </span>
  );
}
