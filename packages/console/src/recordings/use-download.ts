// useDownload: downloads a file of a recording by a URL that is created on demand and never part of the page.
import { useCallback, useEffect, useRef, useState } from 'react';
import { checkAddress, openFile } from '../api/content-files.ts';
import { formatBytes } from '../components/timestamp.tsx';
import { useSessionContext } from '../hooks/console-context.ts';
import { type Action, useAction } from '../hooks/use-action.ts';

/** Time for the browser to start the download of an object URL. */
const downloadTtlMs = 60_000;

export type Download = Pick<Action, 'busy' | 'problem'> & {
  /** Progress message. */
  progress: string | undefined;
  start: (recordingId: string, file: string) => Promise<void>;
};

export function useDownload(): Download {
  const { api, scope } = useSessionContext();
  const { busy, problem, run } = useAction();
  const [progress, setProgress] = useState<string>();
  const ending = useRef(new AbortController());
  useEffect(() => {
    const { current } = ending;
    return () => current.abort();
  }, []);
  const start = useCallback(
    async (recordingId: string, file: string) => {
      const { signal } = ending.current;
      await run(async () => {
        setProgress(`Preparing ${file}…`);
        const name = { recordingId, file };
        const opened = await openFile(api, scope, name, signal, (bytes, all) =>
          setProgress(`Loading ${file}: ${formatBytes(bytes)}${all === undefined ? '' : ` of ${formatBytes(all)}`}`),
        );
        // Otherwise an error response would be saved as the file.
        if (!opened.url.startsWith('blob:')) await checkAddress(opened.url, undefined, signal);
        save(opened.url, `${recordingId}-${file}`);
        setTimeout(opened.close, downloadTtlMs);
      });
      setProgress(undefined);
    },
    [api, scope, run],
  );
  return { busy, problem, progress, start };
}

function save(url: string, name: string): void {
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
}
