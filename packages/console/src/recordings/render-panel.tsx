// Render panel: state, progress and result of rendering a recording to MP4.
import { useState } from 'react';
import type { Render } from '../../../server-sdk/src/generated/schemas.ts';
import { cancelRender, fetchRender, renderEndpoints, renderedFile } from '../api/renders.ts';
import { ActionButton } from '../components/action-button.tsx';
import { CopyCurl } from '../components/copy-curl.tsx';
import { Alert, ErrorAlert } from '../components/page-title.tsx';
import { formatBytes, formatLength } from '../components/timestamp.tsx';
import { useSessionContext } from '../hooks/console-context.ts';
import { useAction } from '../hooks/use-action.ts';
import { useResource } from '../hooks/use-resource.ts';
import { DownloadIcon, PlayIcon } from './media-icons.tsx';
import type { Playable } from './player.tsx';
import { RenderDialog } from './render-dialog.tsx';
import type { Report } from './report.ts';

const refreshIntervalMs = 2_000;

type RenderPanelProps = { recordingId: string; report: Report; onPlay: (playable: Playable) => void; onDownload: (file: string) => void };

export function RenderPanel({ recordingId, report, onPlay, onDownload }: RenderPanelProps) {
  const { api } = useSessionContext();
  const { data, problem, refresh } = useResource(
    ['render', recordingId],
    (api, signal) => fetchRender(api, recordingId, signal),
    refreshIntervalMs,
  );
  const cancelling = useAction();
  const [asking, setAsking] = useState(false);
  const state = data?.state ?? 'none';
  const under = state === 'queued' || state === 'running';
  if (!data && report.rendered === undefined && problem === undefined) return null;
  const rendered = report.rendered !== undefined || state === 'done';
  return (
    <section className="page-part" aria-label="MP4" data-testid="render" data-state={data?.state}>
      <h2>MP4</h2>
      {data && under && <Progress render={data} />}
      {state === 'failed' && (
        <Alert tone="danger" testId="render-failed">
          Rendering failed: <bdi>{data?.reason ?? 'unknown reason'}</bdi>
        </Alert>
      )}
      <ErrorAlert problem={problem ?? cancelling.problem} testId="render-refused" />
      <div className="report-line">
        {rendered && (
          <>
            <button
              type="button"
              className="button primary"
              data-testid="play-rendered"
              onClick={() =>
                onPlay({ recordingId, file: renderedFile, kind: 'video', originName: report.roomId, format: 'H.264 and AAC in MP4' })
              }
            >
              <PlayIcon />
              Play
            </button>
            <button type="button" className="button" data-testid="download-rendered" onClick={() => onDownload(renderedFile)}>
              <DownloadIcon />
              {renderedFile}
            </button>
          </>
        )}
        {under ? (
          <>
            <ActionButton
              data-testid="render-cancel"
              disabled={cancelling.busy}
              onClick={async () => {
                await cancelling.run(() => cancelRender(api, recordingId));
                refresh();
              }}
            >
              Cancel
            </ActionButton>
            <CopyCurl request={renderEndpoints.cancel(recordingId)} what="cancel rendering" compact />
          </>
        ) : (
          report.state !== 'running' && (
            <ActionButton data-testid="render-open" onClick={() => setAsking(true)}>
              {rendered ? 'Render again…' : 'Render…'}
            </ActionButton>
          )
        )}
        <p className="quiet-text">{rendered ? factsOf(report) : why(report)}</p>
      </div>
      <Problems problems={report.rendered?.problems ?? data?.problems ?? []} />
      {asking && (
        <RenderDialog
          recordingId={recordingId}
          again={rendered}
          onStarted={() => {
            setAsking(false);
            refresh();
          }}
          onClose={() => setAsking(false)}
        />
      )}
    </section>
  );
}

function Progress({ render: { state, progress, reason } }: { render: Render }) {
  const percent = Math.floor(progress * 100);
  return (
    <div className="render-progress">
      <progress aria-label="Rendering" max={1} value={progress} />
      <p role="status" data-testid="render-state">
        {state === 'queued' ? 'Queued' : `Rendering, ${percent} %`}
        {reason !== undefined && (
          <>
            {': '}
            <bdi>{reason}</bdi>
          </>
        )}
      </p>
    </div>
  );
}

function Problems({ problems }: { problems: readonly string[] }) {
  if (problems.length === 0) return null;
  return (
    <Alert tone="warning" testId="render-left-out">
      <p>Missing from the MP4:</p>
      <ul>
        {problems.map((message) => (
          <li key={message}>
            <bdi>{message}</bdi>
          </li>
        ))}
      </ul>
    </Alert>
  );
}

function factsOf({ rendered }: Report): string {
  if (!rendered) return '';
  const { size, bytes, duration } = rendered;
  return [size, duration === undefined ? undefined : `${formatLength(duration)} long`, bytes === undefined ? undefined : formatBytes(bytes)]
    .filter((part) => part !== undefined)
    .join(', ');
}

function why({ state }: Report): string {
  if (state === 'interrupted') return 'Its node is not in the cluster. Only the part in S3 can be rendered.';
  return state === 'running' ? 'Can be rendered once the recording has ended.' : 'Combines all tracks into one composed file.';
}
