// Ends a room, after saying who and what ends with it.
import { CopyCurl } from '../components/copy-curl.tsx';
import { ConfirmDialog } from '../components/dialog.tsx';
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
      aside={<CopyCurl call={{ method: 'DELETE', path: `room/${encodeURIComponent(room.id)}` }} what={`end ${room.id}`} />}
      onConfirm={() => void end()}
      onClose={onClose}
    >
      <p>
        <strong className="foreign">{room.id}</strong> ends at once, and its name is free again.
      </p>
      <ul>
        <li>{peersMessage(room.present)}</li>
        <li>Links that guests were given lead nowhere from then on.</li>
        {room.components > 0 && <li>{componentsMessage(room.components)}</li>}
      </ul>
    </ConfirmDialog>
  );
}

function peersMessage(present: number): string {
  if (present === 0) return 'Nobody is in it.';
  return present === 1 ? 'The one person in it is disconnected.' : `All ${present.toLocaleString('en')} people in it are disconnected.`;
}

function componentsMessage(components: number): string {
  const what = components === 1 ? 'Its component ends' : `Its ${components} components end`;
  return `${what}; recordings keep what they have so far.`;
}
