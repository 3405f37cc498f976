// Render dialog: options of the MP4 of a recording.
import { type FormEvent, useState } from 'react';
import type { RenderOptions } from '../../../server-sdk/src/generated/schemas.ts';
import { renderEndpoints, startRender } from '../api/renders.ts';
import { CopyCurl } from '../components/copy-curl.tsx';
import { Dialog } from '../components/dialog.tsx';
import { ErrorAlert } from '../components/page-title.tsx';
import { useSessionContext } from '../hooks/console-context.ts';
import { useAction } from '../hooks/use-action.ts';

type RenderSettings = Required<RenderOptions>;

const sizes = [
  [640, 360],
  [1280, 720],
  [1920, 1080],
] as const;
const framerates = [15, 24, 30];
const layouts: Readonly<Record<RenderSettings['layout'], string>> = {
  grid: 'Grid',
  speaker: 'Active speaker with thumbnails',
  single: 'Active speaker only',
};
const defaults: RenderSettings = { width: 1280, height: 720, framerate: 24, layout: 'grid' };

type RenderDialogProps = { recordingId: string; again: boolean; onStarted: () => void; onClose: () => void };

export function RenderDialog({ recordingId, again, onStarted, onClose }: RenderDialogProps) {
  const { api } = useSessionContext();
  const { busy, problem, run } = useAction();
  const [options, setOptions] = useState(defaults);
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    if (await run(() => startRender(api, recordingId, options))) onStarted();
  };
  return (
    <Dialog title="Render MP4" onClose={onClose}>
      <p>
        Combines all tracks into one MP4 file. Rendering runs on the node that stores the recording, one recording at a time, with lower
        priority than live media.
        {again && ' The existing MP4 is replaced when the new one is complete.'}
      </p>
      <form className="render-form" onSubmit={(event) => void submit(event)}>
        <label className="field">
          <span>Resolution</span>
          <select
            data-testid="render-size"
            value={options.width}
            onChange={({ target }) => {
              const [width, height] = sizes.find(([each]) => each === Number(target.value)) ?? sizes[1];
              setOptions({ ...options, width, height });
            }}
          >
            {sizes.map(([width, height]) => (
              <option key={width} value={width}>
                {width}×{height}
              </option>
            ))}
          </select>
        </label>
        <label className="field">
          <span>Frame rate</span>
          <select
            data-testid="render-framerate"
            value={options.framerate}
            onChange={({ target }) => setOptions({ ...options, framerate: Number(target.value) })}
          >
            {framerates.map((rate) => (
              <option key={rate}>{rate}</option>
            ))}
          </select>
        </label>
        <label className="field render-layout">
          <span>Layout</span>
          <select
            data-testid="render-layout"
            value={options.layout}
            onChange={({ target }) => setOptions({ ...options, layout: target.value as RenderSettings['layout'] })}
          >
            {Object.entries(layouts).map(([layout, words]) => (
              <option key={layout} value={layout}>
                {words}
              </option>
            ))}
          </select>
        </label>
        <ErrorAlert problem={problem} testId="render-problem" />
        <div className="dialog-actions">
          <CopyCurl request={renderEndpoints.start(recordingId, options)} what="render this recording" />
          <span className="spacer" />
          <button type="button" className="button" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" className="button primary" data-testid="render-start" disabled={busy}>
            Render
          </button>
        </div>
      </form>
    </Dialog>
  );
}
