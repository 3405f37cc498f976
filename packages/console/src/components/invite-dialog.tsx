// Makes a link that lets one guest in.
import { useCallback, useEffect, useRef, useState } from 'react';
import { type Api, errorMessage } from '../api/rest.ts';
import { guestAddress } from '../router.ts';
import { CopyCurl } from './copy-curl.tsx';
import { Dialog } from './dialog.tsx';

export function InviteDialog({ api, roomId, onClose }: { api: Api; roomId: string; onClose: () => void }) {
  const [link, setLink] = useState<string>();
  const [problem, setProblem] = useState<string>();
  const [copied, setCopied] = useState(false);
  const field = useRef<HTMLInputElement>(null);
  const asked = useRef(false);

  const make = useCallback(async () => {
    setLink(undefined);
    setProblem(undefined);
    setCopied(false);
    try {
      const { token, url } = await api.addPeer(roomId);
      setLink(guestAddress({ roomId, token, url }, api.base));
    } catch (error) {
      setProblem(errorMessage(error));
    }
  }, [api, roomId]);

  useEffect(() => {
    // Each link is a peer of the room: one for each time the dialog opens, however often it renders.
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
      // Pages without https have no clipboard: the link is selected, so that the keys copy it.
      setProblem('The browser does not let this page copy. The link is selected: press Ctrl+C or Cmd+C.');
    }
  };

  return (
    <Dialog title="Invite a guest" onClose={onClose}>
      <p>
        Whoever opens this link can join the room without logging in. It lets one guest in, for 24 hours: make another one for each guest.
      </p>
      <label className="field">
        <span>Link for one guest</span>
        <input
          ref={field}
          readOnly
          data-testid="invite-link"
          value={link ?? ''}
          placeholder={problem ? '' : 'Making the link…'}
          onFocus={(event) => event.target.select()}
        />
      </label>
      {problem && (
        <p className="problem" role="alert">
          {problem}
        </p>
      )}
      <p className="visually-hidden" aria-live="polite">
        {copied ? 'The link was copied.' : ''}
      </p>
      <div className="dialog-actions">
        <button type="button" className="button" onClick={make}>
          Another link
        </button>
        <CopyCurl call={{ method: 'POST', path: `room/${encodeURIComponent(roomId)}/peer`, body: { type: 'webrtc' } }} what="add a peer" />
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
