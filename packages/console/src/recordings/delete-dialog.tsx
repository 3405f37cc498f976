// Delete dialog: confirms the deletion of a recording and lists what is deleted.
import { deleteRecording } from '../api/recordings.ts';
import { ConfirmDialog } from '../components/dialog.tsx';
import { pluralize } from '../format.ts';
import { useSessionContext } from '../hooks/console-context.ts';
import { useAction } from '../hooks/use-action.ts';
import type { Report } from './report.ts';

type DeleteDialogProps = { recordingId: string; report: Report; onDeleted: () => void; onClose: () => void };

export function DeleteDialog({ recordingId, report, onDeleted, onClose }: DeleteDialogProps) {
  const { api } = useSessionContext();
  const { busy, problem, run } = useAction();
  const remove = async () => {
    if (await run(() => deleteRecording(api, recordingId))) onDeleted();
  };
  return (
    <ConfirmDialog
      title="Delete this recording?"
      confirm={busy ? 'Deleting…' : 'Delete'}
      busy={busy}
      problem={problem}
      onConfirm={() => void remove()}
      onClose={onClose}
    >
      <p data-testid="what-goes">
        This deletes {contentsOf(report)} of <bdi className="strong">{recordingId}</bdi>, {placesOf(report)}.
      </p>
      <p>{warningOf(report)} This cannot be undone.</p>
    </ConfirmDialog>
  );
}

/** `2 tracks (1 audio, 1 video), the rendered MP4 and the report` */
function contentsOf({ type, tracks, captions, rendered }: Report): string {
  const stored = tracks.filter(({ file }) => file !== undefined);
  const count = (kind: string) => stored.filter((track) => track.kind === kind).length;
  const kinds = ['audio', 'video'].flatMap((kind) => (count(kind) > 0 ? [`${count(kind)} ${kind}`] : []));
  const tracksOf = stored.length > 0 ? [`${pluralize(stored.length, 'track')} (${kinds.join(', ')})`] : [];
  const files = [...(captions === undefined ? [] : ['the captions']), ...(rendered ? ['the rendered MP4'] : []), 'the report'];
  const parts = [...(type === 'hls' ? ['the whole stream'] : tracksOf), ...files];
  return parts.length === 1 ? `${parts[0]}` : `${parts.slice(0, -1).join(', ')} and ${parts.at(-1)}`;
}

function placesOf({ node, upload }: Report): string {
  const here = node === '' ? 'on every node' : `on node ${node}`;
  return upload ? `${here} and in S3` : here;
}

function warningOf({ upload }: Report): string {
  if (upload?.state === 'pending') return 'Its upload is incomplete and will be cancelled.';
  return upload?.state === 'failed' ? 'Its upload failed; no other copy exists.' : '';
}
