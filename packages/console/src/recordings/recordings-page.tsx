// Recordings page: recordings and saved streams of the cluster, the newest first.
import { useMemo, useState } from 'react';
import { listNodes } from '../api/cluster.ts';
import { listRecordings, recordingEndpoints } from '../api/recordings.ts';
import type { Api } from '../api/rest.ts';
import { CopyCurl } from '../components/copy-curl.tsx';
import { type Column, DataTable } from '../components/data-table.tsx';
import { Alert, connectionStatus, EmptyState, ErrorAlert, PageTitle, UnreachableNodes } from '../components/page-title.tsx';
import { SearchField } from '../components/search-field.tsx';
import { EmptyValue, formatLength, Timestamp } from '../components/timestamp.tsx';
import { pluralize } from '../format.ts';
import { useResource } from '../hooks/use-resource.ts';
import { recordingHash } from '../router.ts';
import { matching, type RecordingRow, rowsOf } from './recording-list.ts';
import { StateBadge, UploadBadge } from './state-badges.tsx';
import './recordings.css';

const refreshIntervalMs = 5_000;
const pageSize = 200;

const contents = { hls: 'Stream', recording: 'Tracks' };

const columns: readonly Column<RecordingRow>[] = [
  {
    id: 'recording',
    title: 'Recording',
    width: 'minmax(0, 2fr)',
    narrow: 'head',
    cell: ({ id, roomId }) => (
      <a className="row-name" href={recordingHash(id)} data-testid="recording-link">
        <bdi>{roomId}</bdi>
      </a>
    ),
  },
  { id: 'started', title: 'Started', width: '212px', cell: ({ start }) => <Timestamp time={start} /> },
  {
    id: 'length',
    title: 'Length',
    width: '80px',
    numeric: true,
    cell: ({ start, summary }) => {
      if (!summary?.endTime || start === undefined) return <EmptyValue words="pending" />;
      return formatLength(Date.parse(summary.endTime) - start);
    },
  },
  {
    id: 'type',
    title: 'Type',
    width: '100px',
    cell: ({ summary }) => (summary ? contents[summary.type] : <EmptyValue words="unknown" />),
  },
  {
    id: 'state',
    title: 'State',
    width: '140px',
    cell: ({ summary }) => (summary ? <StateBadge state={summary.state} /> : <EmptyValue words="unknown" />),
  },
  { id: 'upload', title: 'Upload', width: '140px', cell: ({ summary }) => <UploadBadge upload={summary?.upload} /> },
  {
    id: 'node',
    title: 'Node',
    width: 'minmax(0, 1.5fr)',
    cell: ({ summary }) => (summary ? <bdi className="foreign">{summary.node}</bdi> : <EmptyValue words="unknown" />),
  },
];

const keyOf = ({ id }: RecordingRow): string => id;
const attributesOf = ({ id }: RecordingRow): Record<`data-${string}`, string> => ({ 'data-recording': id });

export function RecordingsPage() {
  const list = useResource(['recordings'], loadRows, refreshIntervalMs);
  const [search, setSearch] = useState('');
  const [shown, setShown] = useState(pageSize);
  const { rows, incomplete = [] } = list.data ?? {};
  const found = useMemo(() => rows && matching(rows, search), [rows, search]);
  const drawn = useMemo(() => found?.slice(0, shown) ?? [], [found, shown]);
  const running = rows?.filter(({ summary }) => summary?.state === 'running').length ?? 0;
  return (
    <>
      <PageTitle
        title="Recordings"
        freshness={connectionStatus(list)}
        facts={rows && `${pluralize(rows.length, 'recording')}${running > 0 ? `, ${running} in progress` : ''}`}
        actions={<CopyCurl request={recordingEndpoints.list} what="list recordings" />}
      />
      <ErrorAlert problem={list.problem} />
      <UnreachableNodes nodes={incomplete.filter((place) => place !== 's3')} what="recordings" testId="incomplete" />
      {incomplete.includes('s3') && (
        <Alert tone="warning" testId="s3-unreachable">
          S3 is unreachable; recordings stored only in S3 are not listed.
        </Alert>
      )}
      {rows && rows.length > 0 && (
        <SearchField
          label="Search recordings"
          placeholder="Search room, node, state"
          testId="recording-search"
          value={search}
          onChange={setSearch}
        />
      )}
      {rows?.length === 0 && (
        <EmptyState title="No recordings" testId="no-recordings">
          Add a component of type “recording”, or of type “hls” with “persistent” enabled, to a room.
        </EmptyState>
      )}
      {found && rows && rows.length > 0 && found.length === 0 && <EmptyState title="No matching recordings" testId="no-match" />}
      {found && found.length > 0 && (
        <DataTable label="Recordings" columns={columns} rows={drawn} keyOf={keyOf} testId="recording-row" attributes={attributesOf} />
      )}
      {found && found.length > shown && (
        <button type="button" className="button" data-testid="more" onClick={() => setShown((before) => before + pageSize)}>
          Show {Math.min(pageSize, found.length - shown)} more of {found.length - shown}
        </button>
      )}
    </>
  );
}

async function loadRows(api: Api, signal: AbortSignal): Promise<{ rows: RecordingRow[]; incomplete: string[] }> {
  const list = await listRecordings(api, signal);
  // The nodes are needed to detect interrupted recordings, which are listed as running.
  const nodes = list.described.some(({ state }) => state === 'running') ? await listNodes(api, signal) : [];
  const names = nodes.map(({ name }) => name);
  return { rows: rowsOf(list, names), incomplete: list.incomplete };
}
