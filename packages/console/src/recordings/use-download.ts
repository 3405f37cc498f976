// Hands a file of a recording to the browser's downloads: by an address that is made when it is asked for and stands nowhere in the page.
import { useCallback, useEffect, useRef, useState } from 'react';
import { checkAddress, openFile } from '../api/content-files.ts';
import { formatBytes } from '../components/timestamp.tsx';
import { useSessionContext } from '../hooks/console-context.ts';
import { type Action, useAction } from '../hooks/use-action.ts';

/** How long browsers get to begin with what is in memory. */
const downloadTtlMs = 60_000;

export type Download = Pick<Action, 'busy' | 'problem'> & {
  /** A few words on what is under way. */
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
        // A download that is refused would be a file with an error in it.
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
