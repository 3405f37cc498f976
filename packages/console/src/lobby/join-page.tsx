// Join page: target of a guest link. It neither needs nor has an API token.
import { useCallback } from 'react';
import { AppHeader, CenteredMessage } from '../components/app-header.tsx';
import type { GuestLink } from '../router.ts';
import { RoomSessionView } from '../session/room-session-view.tsx';
import type { SessionEnd } from '../session/session-state.ts';

export function JoinPage({ link }: { link: GuestLink | null }) {
  const getAccess = useCallback(async () => ({ token: link?.token ?? '', url: link?.url ?? null }), [link]);
  if (!link) {
    return (
      <>
        <AppHeader home={false} />
        <main className="middle">
          <CenteredMessage title="Incomplete link">Copy the whole link, or ask the person who invited you for a new one.</CenteredMessage>
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
  roomStopped: { title: 'This room has ended', text: 'If the meeting continues elsewhere, ask for a new link.' },
  refused: { title: 'This room has ended or the link has expired', text: 'Ask for a new link.' },
  removed: { title: 'You were removed from the room', text: 'If this is a mistake, ask the person who invited you for a new link.' },
  denied: { title: 'You were not admitted to the room', text: 'If this is a mistake, ask the person who invited you for a new link.' },
  takenOver: { title: 'This link was opened elsewhere', text: 'Each link admits one guest on one device at a time.', again: 'Join here' },
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
