// Recording page: tracks and report of one recording; play, download, render, delete.
import { type ReactNode, useCallback, useMemo, useState } from 'react';
import { listNodes } from '../api/cluster.ts';
import { fetchReport, recordingEndpoints } from '../api/recordings.ts';
import type { Api } from '../api/rest.ts';
import { ActionButton } from '../components/action-button.tsx';
import { CopyCurl } from '../components/copy-curl.tsx';
import { FactList } from '../components/fact-list.tsx';
import { BackIcon, TrashIcon } from '../components/icons.tsx';
import { Alert, connectionStatus, EmptyState, ErrorAlert, PageTitle } from '../components/page-title.tsx';
import { formatLength, Timestamp } from '../components/timestamp.tsx';
import { useResource } from '../hooks/use-resource.ts';
import { hashOf, type RouteOf } from '../router.ts';
import { DeleteDialog } from './delete-dialog.tsx';
import { DownloadIcon, PlayIcon } from './media-icons.tsx';
import { type Playable, Player } from './player.tsx';
import { RenderPanel } from './render-panel.tsx';
import { lengthOf, markInterrupted, type Report, readReport } from './report.ts';
import { StateBadge, UploadBadge } from './state-badges.tsx';
import { TrackTable } from './track-table.tsx';
import { useDownload } from './use-download.ts';
import './recordings.css';

const refreshIntervalMs = 4_000;

export function RecordingPage({ route: { recordingId } }: { route: RouteOf<'recording'> }) {
  const resource = useResource(['report', recordingId], (api, signal) => loadReport(api, recordingId, signal), refreshIntervalMs);
  const report = resource.data === 'deleted' ? undefined : resource.data;
  // A snapshot: the recording may be deleted before the delete request is answered.
  const [deleting, setDeleting] = useState<Report>();
  return (
    <>
      <a className="back-link" href={hashOf('recordings')}>
        <BackIcon />
        All recordings
      </a>
      <PageTitle
        title={<bdi>{report?.roomId || recordingId}</bdi>}
        freshness={connectionStatus(resource)}
        facts={report && <StateBadge state={report.state} />}
        actions={
          report && (
            <>
              <CopyCurl request={recordingEndpoints.report(recordingId)} what="get the report" compact />
              <ActionButton className="button" data-testid="delete-recording" onClick={() => setDeleting(report)}>
                <TrashIcon />
                Delete
              </ActionButton>
              <CopyCurl request={recordingEndpoints.remove(recordingId)} what="delete this recording" compact />
            </>
          )
        }
      />
      <ErrorAlert problem={resource.problem} />
      {resource.data === 'deleted' && (
        <EmptyState title="Recording not found" testId="recording-deleted">
          It was deleted, its report cannot be read, or its node is unreachable.
        </EmptyState>
      )}
      {report && <RecordingView recordingId={recordingId} report={report} />}
      {deleting && (
        <DeleteDialog
          recordingId={recordingId}
          report={deleting}
          onClose={() => setDeleting(undefined)}
          onDeleted={() => {
            window.location.hash = hashOf('recordings');
          }}
        />
      )}
    </>
  );
}

async function loadReport(api: Api, recordingId: string, signal: AbortSignal): Promise<Report | 'deleted'> {
  const found = await fetchReport(api, recordingId, signal);
  if (found === undefined) return 'deleted';
  const report = readReport(found);
  if (report.state !== 'running') return report;
  const nodes = await listNodes(api, signal);
  return markInterrupted(
    report,
    nodes.map(({ name }) => name),
  );
}

function RecordingView({ recordingId, report }: { recordingId: string; report: Report }) {
  const [playable, setPlayable] = useState<Playable>();
  const { problem, progress, start } = useDownload();
  const download = useCallback((file: string) => void start(recordingId, file), [start, recordingId]);
  const stream = useMemo(
    (): Playable => ({ recordingId, file: 'index.m3u8', kind: 'stream', originName: report.roomId, format: 'H.264 and AAC' }),
    [recordingId, report.roomId],
  );
  return (
    <>
      <Facts recordingId={recordingId} report={report} />
      {report.upload?.problem !== undefined && (
        <Alert tone={report.upload.state === 'failed' ? 'danger' : 'warning'} testId="upload-problem">
          {report.upload.state === 'failed' ? 'The upload to S3 failed permanently: ' : 'The upload to S3 failed. Retrying: '}
          <bdi>{report.upload.problem}</bdi>
        </Alert>
      )}
      <p className="visually-hidden" role="status" data-testid="download-progress">
        {progress}
      </p>
      {progress !== undefined && <p className="quiet-text">{progress}</p>}
      <ErrorAlert problem={problem} testId="download-problem" />
      {playable && <Player key={`${playable.file}`} playable={playable} onClose={() => setPlayable(undefined)} />}
      {report.type === 'hls' ? (
        <Section title="Stream">
          <button type="button" className="button primary" data-testid="play-stream" onClick={() => setPlayable(stream)}>
            <PlayIcon />
            Play
          </button>
          <CopyCurl request={recordingEndpoints.file(recordingId, stream.file)} what="get the playlist" />
        </Section>
      ) : (
        <section className="page-part" aria-label="Tracks of this recording">
          <h2>Tracks</h2>
          {report.tracks.length === 0 ? (
            <EmptyState title="No tracks yet" testId="no-tracks">
              {report.state === 'running' ? 'No media has been received yet.' : 'No media was received.'}
            </EmptyState>
          ) : (
            <TrackTable recordingId={recordingId} report={report} onPlay={setPlayable} onDownload={download} />
          )}
        </section>
      )}
      {report.type === 'recording' && <RenderPanel recordingId={recordingId} report={report} onPlay={setPlayable} onDownload={download} />}
      {report.captions !== undefined && <Captions file={report.captions} onDownload={download} />}
      <Section title="Report">
        <button type="button" className="button" data-testid="download-report" onClick={() => download('report.json')}>
          <DownloadIcon />
          report.json
        </button>
        <p className="quiet-text">Machine-readable: all of the above and the timestamps of each track.</p>
      </Section>
    </>
  );
}

function Captions({ file, onDownload }: { file: string; onDownload: (file: string) => void }) {
  return (
    <Section title="Captions">
      <button type="button" className="button" data-testid="download-captions" onClick={() => onDownload(file)}>
        <DownloadIcon />
        {file}
      </button>
      <p className="quiet-text">WebVTT of all speakers. Times start with the recording.</p>
    </Section>
  );
}

function Section({ title, children }: { title: string; children: ReactNode }) {
  return (
    <section className="page-part" aria-label={title}>
      <h2>{title}</h2>
      <div className="report-line">{children}</div>
    </section>
  );
}

function Facts({ recordingId, report }: { recordingId: string; report: Report }) {
  const { startTime, endTime, node, upload, state } = report;
  return (
    <FactList
      className="report-facts"
      testId="report-facts"
      facts={[
        ['Started', <Timestamp key="started" time={startTime} />],
        ['Ended', state === 'running' ? 'In progress' : state === 'interrupted' ? 'Unknown' : <Timestamp key="ended" time={endTime} />],
        ['Length', formatLength(lengthOf(report))],
        ['Upload', <UploadBadge key="upload" upload={upload} />],
        ['Node', <bdi key="node">{node || '–'}</bdi>],
        ['ID', <code key="id">{recordingId}</code>],
      ]}
    />
  );
}
