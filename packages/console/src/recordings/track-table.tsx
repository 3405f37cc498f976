// Track table: the tracks of a recording with origin, codec and time span; play and download.
import { useMemo } from 'react';
import { recordingEndpoints } from '../api/recordings.ts';
import { CopyCurl } from '../components/copy-curl.tsx';
import { type Column, DataTable } from '../components/data-table.tsx';
import { formatLength } from '../components/timestamp.tsx';
import { DownloadIcon, PlayIcon } from './media-icons.tsx';
import type { Playable } from './player.tsx';
import { lengthOf, type Report, type ReportTrack } from './report.ts';

type TrackTableProps = { recordingId: string; report: Report; onPlay: (playable: Playable) => void; onDownload: (file: string) => void };

export function TrackTable({ recordingId, report, onPlay, onDownload }: TrackTableProps) {
  const length = lengthOf(report);
  const columns = useMemo((): readonly Column<ReportTrack>[] => {
    const play = ({ file, kind, encoding, originName }: ReportTrack) =>
      file !== undefined && onPlay({ recordingId, file, kind, originName, format: `${encoding.toUpperCase()} in ${containerOf(file)}` });
    return [
      {
        id: 'origin',
        title: 'Origin',
        width: 'minmax(0, 1.6fr)',
        narrow: 'head',
        cell: ({ originName, origin, about }) => (
          <div className="two-lines">
            <bdi className="cut strong">{originName}</bdi>
            <bdi className="cut quiet-text small-text">{[origin, about].filter(Boolean).join(' · ')}</bdi>
          </div>
        ),
      },
      {
        id: 'kind',
        title: 'Kind',
        width: '84px',
        cell: ({ kind, size }) => (
          <span>
            {kind} {size && <span className="quiet-text">{size}</span>}
          </span>
        ),
      },
      { id: 'codec', title: 'Codec', width: '84px', cell: ({ encoding }) => <bdi>{encoding.toUpperCase()}</bdi> },
      {
        id: 'when',
        title: 'Time span',
        width: 'minmax(0, 1.4fr)',
        cell: (track) => <Span track={track} length={length} />,
      },
      { id: 'lost', title: 'Lost packets', width: '110px', numeric: true, cell: ({ lostPackets }) => lostPackets },
      {
        id: 'actions',
        title: 'Actions',
        width: '136px',
        narrow: 'actions',
        quietTitle: true,
        cell: (track) => {
          const { file, problem, originName, kind } = track;
          if (file === undefined) return <span className="track-problem">{problem ?? 'Nothing was recorded'}</span>;
          const label = `${kind} of ${originName}`;
          return (
            <div className="row-actions">
              <button
                type="button"
                className="button icon-only small"
                aria-label={`Play ${label}`}
                title="Play"
                data-testid="play"
                onClick={() => play(track)}
              >
                <PlayIcon />
              </button>
              <button
                type="button"
                className="button icon-only small"
                aria-label={`Download ${label}`}
                title={`Download ${file}`}
                data-testid="download"
                onClick={() => onDownload(file)}
              >
                <DownloadIcon />
              </button>
              <CopyCurl request={recordingEndpoints.file(recordingId, file)} what={`download ${label}`} compact />
            </div>
          );
        },
      },
    ];
  }, [recordingId, length, onPlay, onDownload]);
  return <DataTable label="Tracks" columns={columns} rows={report.tracks} keyOf={keyOf} testId="track-row" attributes={attributesOf} />;
}

const keyOf = ({ id, file }: ReportTrack): string => file ?? id;
const attributesOf = ({ kind, originName }: ReportTrack): Record<`data-${string}`, string> => ({
  'data-kind': kind,
  'data-origin': originName,
});

/** Time span within the recording, as text and as a bar. */
function Span({ track: { offset, duration, problem, file }, length }: { track: ReportTrack; length: number }) {
  if (offset === undefined) return <span className="quiet-text">{file === undefined ? '–' : 'pending'}</span>;
  const share = (time: number) => (length > 0 ? Math.min(100, (time / length) * 100) : 0);
  return (
    <div className="span">
      <span>
        {formatLength(offset)}
        {duration === undefined ? '' : ` to ${formatLength(offset + duration)}`}
      </span>
      <svg className="span-bar" viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true" focusable="false">
        <rect className="span-all" width="100" height="4" />
        <rect className="span-part" x={share(offset)} width={Math.max(1, share(duration ?? length - offset))} height="4" />
      </svg>
      {problem !== undefined && file !== undefined && <bdi className="track-problem">{problem}</bdi>}
    </div>
  );
}

const containers: Readonly<Record<string, string>> = { webm: 'WebM', mkv: 'Matroska', ogg: 'Ogg', mp4: 'MP4' };

function containerOf(file: string): string {
  const extension = file.slice(file.lastIndexOf('.') + 1).toLowerCase();
  return containers[extension] ?? extension;
}
