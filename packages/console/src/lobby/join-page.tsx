// Where a guest's link leads: a name, a look at the camera, and in. No API token is needed or known here.
import { useCallback } from 'react';
import type { SessionEnd } from '../call/call-state.ts';
import { RoomSessionView } from '../call/room-session-view.tsx';
import { AppHeader, CenteredMessage } from '../components/app-header.tsx';
import type { GuestLink } from '../router.ts';

export function JoinPage({ link }: { link: GuestLink | null }) {
  const getAccess = useCallback(async () => ({ token: link?.token ?? '', url: link?.url ?? null }), [link]);
  if (!link) {
    return (
      <>
        <AppHeader home={false} />
        <main className="middle">
          <CenteredMessage title="This link is not complete">
            Parts of it are missing. Copy the whole link, or ask whoever invited you for a new one.
          </CenteredMessage>
        </main>
      </>
    );
  }
  return (
    <RoomSessionView
      roomId={link.roomId}
      guest
      base={document.baseURI}
      getAccess={getAccess}
      renderEnding={(sessionEnd, again) => <GuestEnding ending={sessionEnd} again={again} />}
    />
  );
}

const endings: Record<SessionEnd['reason'], { title: string; text?: string; again?: string }> = {
  left: { title: 'You left the room', again: 'Join again' },
  roomStopped: { title: 'This room has ended.', text: 'If it goes on elsewhere, ask whoever invited you for a new link.' },
  refused: { title: 'This room has ended.', text: 'Or this link is too old. Ask whoever invited you for a new link.' },
  removed: { title: 'You were removed from the room', text: 'Ask whoever invited you for a new link if you think that this is a mistake.' },
  takenOver: { title: 'This link was opened elsewhere', text: 'One link lets one guest in, at one place at a time.', again: 'Join here' },
  failed: { title: 'The connection ended', again: 'Join again' },
};

function GuestEnding({ ending, again }: { ending: SessionEnd; again: { join: () => void; lobby: () => void } }) {
  const { title, text, again: label } = endings[ending.reason];
  return (
    <CenteredMessage
      title={title}
      testId="guest-over"
      actions={
        label && (
          <button
            type="button"
            className="button primary"
            data-testid="rejoin"
            onClick={ending.reason === 'left' ? again.lobby : again.join}
          >
            {label}
          </button>
        )
      }
    >
      {text ?? (ending.reason === 'failed' ? ending.message : undefined)}
    </CenteredMessage>
  );
}
