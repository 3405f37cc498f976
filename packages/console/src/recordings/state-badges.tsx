// State badges of a recording and of its upload.
import type { Upload } from '../../../server-sdk/src/generated/schemas.ts';
import { Badge } from '../components/page-title.tsx';
import { EmptyValue } from '../components/timestamp.tsx';
import type { ReportState } from './report.ts';

export function StateBadge({ state }: { state: ReportState }) {
  if (state === 'running') return <Badge tone="danger">Recording</Badge>;
  if (state === 'interrupted') return <Badge tone="warning">Interrupted</Badge>;
  return state === 'recovered' ? <Badge tone="warning">Recovered</Badge> : <Badge>Finished</Badge>;
}

/** A dash if it is not uploaded. */
export function UploadBadge({ upload }: { upload: Upload | undefined }) {
  if (!upload) return <EmptyValue words="not uploaded" />;
  const { state, problem } = upload;
  if (state === 'done') return <Badge tone="good">In S3</Badge>;
  if (state === 'failed') return <Badge tone="danger">Upload failed</Badge>;
  return problem === undefined ? <Badge tone="accent">Uploading</Badge> : <Badge tone="warning">Retrying upload</Badge>;
}
