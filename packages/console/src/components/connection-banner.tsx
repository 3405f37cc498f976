// Connection banner: shows the outage messages while media or the server is unreachable.
import { useEffect, useState } from 'react';
import { isInterrupted, type OutageState, outageText } from '../session/outage.ts';

const refreshIntervalMs = 1_000;

export function ConnectionBanner({ link }: { link: OutageState }) {
  const [now, setNow] = useState(() => new Date());
  const trouble = link.outage !== undefined || isInterrupted(link.mediaPath);
  useEffect(() => {
    setNow(new Date());
    if (!trouble) return undefined;
    const timer = setInterval(() => setNow(new Date()), refreshIntervalMs);
    return () => clearInterval(timer);
  }, [trouble]);
  const words = trouble ? outageText(link, now) : undefined;
  if (!words) return null;
  return (
    <div className="note link-notice" data-testid="link-notice" data-lost={link.outage ? 'server' : 'media'}>
      <p>
        {/* Not announced: a screen reader would read every second. */}
        <strong aria-live="off">{words.title}</strong>
      </p>
      <p aria-live="off">{words.tried}</p>
      <p data-testid="link-others">{words.others}</p>
    </div>
  );
}
