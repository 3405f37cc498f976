// Chat button: opens and closes the chat, with the number of unread messages.
import type { RefObject } from 'react';
import { useStore } from '../hooks/store.ts';
import { ChatIcon } from '../session/icons.tsx';
import type { Chat } from './chat.ts';

export function ChatButton({ chat, ref }: { chat: Chat; ref: RefObject<HTMLButtonElement | null> }) {
  const { open, unread } = useStore(chat);
  const count = unread > 99 ? '99+' : String(unread);
  return (
    <button
      ref={ref}
      type="button"
      className={open ? 'toggle on chat-toggle' : 'toggle chat-toggle'}
      aria-label={unread > 0 ? `Chat, ${count} unread` : 'Chat'}
      aria-expanded={open}
      title="Chat"
      data-testid="toggle-chat"
      onClick={() => chat.setOpen(!open)}
    >
      <ChatIcon />
      {unread > 0 && (
        <span className="unread" data-testid="unread">
          {count}
        </span>
      )}
      <span className="visually-hidden" aria-live="polite">
        {unread > 0 && `${count} unread`}
      </span>
    </button>
  );
}
