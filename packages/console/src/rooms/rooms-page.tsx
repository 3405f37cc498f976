// Rooms page: live list of the rooms of the cluster; search, create, invite, open and end.
import { useDeferredValue, useEffect, useMemo, useState } from 'react';
import type { Api } from '../api/rest.ts';
import { ActionButton } from '../components/action-button.tsx';
import { type Column, DataTable } from '../components/data-table.tsx';
import { PlusIcon } from '../components/icons.tsx';
import { InviteDialog } from '../components/invite-dialog.tsx';
import { EmptyState, PageTitle, UnreachableNodes } from '../components/page-title.tsx';
import { SearchField } from '../components/search-field.tsx';
import { formatNumber, pluralize } from '../format.ts';
import { useSessionContext } from '../hooks/console-context.ts';
import { useStore } from '../hooks/store.ts';
import { CreateRoom } from '../rooms/create-room.tsx';
import { EndRoom } from '../rooms/end-room.tsx';
import { LiveRooms } from '../rooms/live-rooms.ts';
import { roomColumns } from '../rooms/room-columns.tsx';
import { type RoomOrder, type RoomRow, searchRooms, sortRooms } from '../rooms/room-list.ts';
import './rooms.css';

/** Maximum number of listed rooms. */
const maxRows = 2_000;

type Open = { what: 'create' } | { what: 'invite' | 'end'; room: RoomRow };

export function RoomsPage() {
  const { api } = useSessionContext();
  const live = useLiveRooms(api);
  return live && <Rooms api={api} live={live} />;
}

function Rooms({ api, live }: { api: Api; live: LiveRooms }) {
  const { rows, incomplete, connected } = useStore(live);
  const [search, setSearch] = useState('');
  const [order, setOrder] = useState<RoomOrder>({ by: 'name', down: false });
  const [open, setOpen] = useState<Open>();
  const [made, setMade] = useState<string>();
  const wanted = useDeferredValue(search);
  const found = useMemo(() => sortRooms(searchRooms(rows ?? [], wanted), order), [rows, wanted, order]);
  const shown = useMemo(() => found.slice(0, maxRows), [found]);
  const columns: Column<RoomRow>[] = useMemo(
    () =>
      roomColumns({
        order,
        onOrder: setOrder,
        onInvite: (room) => setOpen({ what: 'invite', room }),
        onEnd: (room) => setOpen({ what: 'end', room }),
      }),
    [order],
  );
  const close = () => setOpen(undefined);
  return (
    <>
      <PageTitle
        title="Rooms"
        freshness={connected ? (rows ? 'live' : 'loading') : 'lost'}
        facts={rows && factsOf(rows)}
        actions={
          <>
            <SearchField
              label="Search rooms by name, external ID or participant"
              placeholder="Search rooms"
              testId="search"
              value={search}
              onChange={setSearch}
            />
            <ActionButton className="button primary" data-testid="create-room" onClick={() => setOpen({ what: 'create' })}>
              <PlusIcon />
              New room
            </ActionButton>
          </>
        }
      />
      <UnreachableNodes nodes={incomplete} what="rooms" testId="incomplete" />
      {rows?.length === 0 && (
        <EmptyState title="No rooms yet" testId="no-rooms">
          Create a room, join it and invite others with a link. Rooms created through the API appear here too.
        </EmptyState>
      )}
      {rows && rows.length > 0 && found.length === 0 && (
        <EmptyState title="No matching rooms" testId="none-found">
          No room name, external ID or participant name contains <bdi>“{wanted.trim()}”</bdi>.
        </EmptyState>
      )}
      {shown.length > 0 && (
        <DataTable label="Rooms" columns={columns} rows={shown} keyOf={keyOf} testId="room-row" attributes={attributesOf} />
      )}
      {found.length > maxRows && <p className="hint">Showing the first {formatNumber(maxRows)} rooms. Search to find others.</p>}
      <p className="visually-hidden" aria-live="polite">
        {made && `Room ${made} created.`}
      </p>
      {open?.what === 'create' && <CreateRoom onMade={setMade} onClose={close} />}
      {open?.what === 'invite' && <InviteDialog api={api} roomId={open.room.id} onClose={close} />}
      {open?.what === 'end' && <EndRoom room={open.room} onClose={close} />}
    </>
  );
}

const keyOf = (room: RoomRow): string => room.incarnation;
const attributesOf = (room: RoomRow): Record<`data-${string}`, string> => ({ 'data-room': room.id });

function factsOf(rows: readonly RoomRow[]): string {
  const present = rows.reduce((sum, row) => sum + row.present, 0);
  return `${pluralize(rows.length, 'room')} · ${pluralize(present, 'participant')}`;
}

/** Undefined before the first effect. */
function useLiveRooms(api: Api): LiveRooms | undefined {
  const [live, setLive] = useState<LiveRooms>();
  useEffect(() => {
    const made = new LiveRooms(api);
    setLive(made);
    return () => made.close();
  }, [api]);
  return live;
}
