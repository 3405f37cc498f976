// Invite dialog: creates a link for one guest, or URL and token for an encoder in its place.

import { useCallback, useEffect, useRef, useState } from 'react';
import { operationRequest } from '../api/operation-request.ts';
import { type Api, errorMessage } from '../api/rest.ts';
import { guestAddress } from '../router.ts';
import { CopyCurl } from './copy-curl.tsx';
import { CopyField } from './copy-field.tsx';
import { Dialog } from './dialog.tsx';
import { FormProblem } from './page-title.tsx';

export function InviteDialog({ api, roomId, onClose }: { api: Api; roomId: string; onClose: () => void }) {
  const [link, setLink] = useState<string>();
  const [token, setToken] = useState<string>();
  const [problem, setProblem] = useState<string>();
  const [copied, setCopied] = useState(false);
  const field = useRef<HTMLInputElement>(null);
  const asked = useRef(false);

  const make = useCallback(async () => {
    setLink(undefined);
    setProblem(undefined);
    setCopied(false);
    try {
      const peer = await api.addPeer(roomId);
      setLink(guestAddress({ roomId, token: peer.token, url: peer.url }, api.base));
      setToken(peer.token);
    } catch (error) {
      setProblem(errorMessage(error));
    }
  }, [api, roomId]);

  useEffect(() => {
    // Each link adds a peer to the room: one per opening of the dialog, however often effects run.
    if (asked.current) return;
    asked.current = true;
    void make();
  }, [make]);

  const copy = async () => {
    if (!link) return;
    field.current?.select();
    try {
      await navigator.clipboard.writeText(link);
      setCopied(true);
    } catch {
      // Without HTTPS there is no clipboard: the link is selected for the keyboard.
      setProblem('Copying is blocked by the browser. The link is selected: press Ctrl+C or Cmd+C.');
    }
  };

  return (
    <Dialog title="Invite a guest" onClose={onClose}>
      <p>Anyone with this link can join without logging in. It is valid for one guest and 24 hours; create one per guest.</p>
      <label className="field">
        <span>Link for one guest</span>
        <input
          ref={field}
          readOnly
          data-testid="invite-link"
          value={link ?? ''}
          placeholder={problem ? '' : 'Creating link…'}
          onFocus={(event) => event.target.select()}
        />
      </label>
      {token !== undefined && (
        <details className="dialog-details">
          <summary data-testid="publish-with-obs">Publish with OBS instead</summary>
          <p>
            OBS, FFmpeg and other encoders publish with WHIP. In OBS: Settings, Stream, service WHIP. The token is that of the link: use one
            of them.
          </p>
          <CopyField label="Server" value={new URL(`whip/${encodeURIComponent(roomId)}`, api.base).href} testId="whip-url" />
          <CopyField label="Bearer token" value={token} testId="whip-token" />
        </details>
      )}
      {token !== undefined && (
        <details className="dialog-details">
          <summary data-testid="play-elsewhere">Play elsewhere</summary>
          <p>
            GStreamer, media servers and other players play the active speaker with WHEP. The token is that of the link: use one of them.
          </p>
          <CopyField label="URL" value={new URL(`whep/${encodeURIComponent(roomId)}`, api.base).href} testId="whep-url" />
          <CopyField label="Bearer token" value={token} testId="whep-token" />
        </details>
      )}
      <FormProblem problem={problem} />
      <p className="visually-hidden" aria-live="polite">
        {copied ? 'The link was copied.' : ''}
      </p>
      <div className="dialog-actions">
        <button type="button" className="button" onClick={make}>
          Create another link
        </button>
        <CopyCurl request={operationRequest('addPeer', { path: { roomId }, body: { type: 'webrtc' } })} what="add a peer" />
        <span className="spacer" />
        <button type="button" className="button" data-testid="invite-close" onClick={onClose}>
          Close
        </button>
        <button type="button" className="button primary" data-testid="invite-copy" disabled={!link} onClick={copy}>
          {copied ? 'Copied' : 'Copy link'}
        </button>
      </div>
    </Dialog>
  );
}
