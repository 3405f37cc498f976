// End room dialog: confirms the end of a room and shows its impact.
import { operationRequest } from '../api/operation-request.ts';
import { CopyCurl } from '../components/copy-curl.tsx';
import { ConfirmDialog } from '../components/dialog.tsx';
import { plural } from '../format.ts';
import { useSessionContext } from '../hooks/console-context.ts';
import { useAction } from '../hooks/use-action.ts';
import type { RoomRow } from './room-list.ts';

export function EndRoom({ room, onClose }: { room: Pick<RoomRow, 'id' | 'present' | 'components'>; onClose: () => void }) {
  const { api } = useSessionContext();
  const { busy, problem, run } = useAction();
  const end = async () => {
    if (await run(() => api.deleteRoom(room.id))) onClose();
  };
  return (
    <ConfirmDialog
      title="End this room?"
      confirm="End room"
      busy={busy}
      problem={problem}
      aside={<CopyCurl request={operationRequest('deleteRoom', { path: { roomId: room.id } })} what={`end ${room.id}`} />}
      onConfirm={() => void end()}
      onClose={onClose}
    >
      <p>
        <strong className="foreign">{room.id}</strong> will be closed immediately and its name becomes available.
      </p>
      <ul>
        <li>{peersMessage(room.present)}</li>
        <li>Guest links stop working.</li>
        {room.components > 0 && <li>{componentsMessage(room.components)}</li>}
      </ul>
    </ConfirmDialog>
  );
}

function peersMessage(present: number): string {
  if (present === 0) return 'No participants are connected.';
  return plural(present, '# participant will be disconnected.', '# participants will be disconnected.');
}

function componentsMessage(components: number): string {
  return plural(components, 'Its component ends; recordings are saved.', 'Its # components end; recordings are saved.');
}
