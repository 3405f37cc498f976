// Chat panel: list of messages and input of the next one.
import { type FormEvent, type KeyboardEvent, useEffect, useLayoutEffect, useRef, useState } from 'react';
import { CloseIcon } from '../components/icons.tsx';
import { useStore } from '../hooks/store.ts';
import { SendIcon } from '../session/icons.tsx';
import type { Chat, ChatMessage } from './chat.ts';
import { maxMessageLength, textParts } from './chat-text.ts';
import './chat.css';

export type ChatPanelProps = {
  chat: Chat;
  /** Why sending is not permitted; undefined if it is. */
  readOnlyReason: string | undefined;
  isEmpty: boolean;
  onClose: () => void;
};

export function ChatPanel({ chat, readOnlyReason, isEmpty, onClose }: ChatPanelProps) {
  const { messages, flooded } = useStore(chat);
  return (
    <aside className="chat" aria-label="Chat" data-testid="chat">
      <header className="chat-head">
        <h2>Chat</h2>
        <button type="button" className="button icon-only" aria-label="Close chat" data-testid="chat-close" onClick={onClose}>
          <CloseIcon />
        </button>
      </header>
      <Messages messages={messages} onAgain={(id) => chat.sendAgain(id)} />
      {flooded !== undefined && (
        <p className="note chat-note" role="status">
          <bdi>{flooded}</bdi> is sending messages too fast; some are not shown.
        </p>
      )}
      <Composer silenced={readOnlyReason} alone={isEmpty} onSend={(text) => chat.send(text)} />
    </aside>
  );
}

function Messages({ messages, onAgain }: { messages: readonly ChatMessage[]; onAgain: (id: number) => void }) {
  const list = useRef<HTMLDivElement>(null);
  const atEnd = useRef(true);
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new message scrolls the list only if it was at its end
  useLayoutEffect(() => {
    const element = list.current;
    if (element && atEnd.current) element.scrollTop = element.scrollHeight;
  }, [messages]);
  return (
    <div
      ref={list}
      className="chat-list"
      role="log"
      aria-label="Messages"
      // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrollable region must be reachable by keyboard
      tabIndex={0}
      onScroll={({ currentTarget: { scrollTop, clientHeight, scrollHeight } }) => {
        atEnd.current = scrollTop + clientHeight > scrollHeight - 40;
      }}
    >
      {messages.length === 0 && <p className="chat-empty">No messages yet. Participants who join later cannot see earlier messages.</p>}
      {messages.map((message, index) => (
        <Message key={message.id} message={message} follows={follows(message, messages[index - 1])} onAgain={onAgain} />
      ))}
    </div>
  );
}

/** True if it continues the previous message: same sender, within two minutes. */
function follows(message: ChatMessage, before: ChatMessage | undefined): boolean {
  return (
    before !== undefined &&
    before.own === message.own &&
    before.name === message.name &&
    message.at.getTime() - before.at.getTime() < 120_000
  );
}

function Message({ message, follows: joined, onAgain }: { message: ChatMessage; follows: boolean; onAgain: (id: number) => void }) {
  const { id, name, own, text, at, state, problem } = message;
  return (
    <div className={`chat-message${own ? ' own' : ''}${joined ? ' joined' : ''}`} data-testid="chat-message" data-state={state}>
      <p className={joined ? 'visually-hidden' : 'chat-who'}>
        <bdi>{own ? 'You' : name}</bdi>{' '}
        <time dateTime={at.toISOString()}>{at.toLocaleTimeString([], { hour: '2-digit', minute: '2-digit' })}</time>
      </p>
      <p className="chat-text" dir="auto" data-testid="chat-text">
        {textParts(text).map((part, index) =>
          part.href ? (
            // biome-ignore lint/suspicious/noArrayIndexKey: the parts of a message never change
            <a key={index} href={part.href} target="_blank" rel="noopener noreferrer">
              {part.text}
            </a>
          ) : (
            part.text
          ),
        )}
      </p>
      {state === 'sending' && <p className="chat-state">Sending…</p>}
      {state === 'failed' && (
        <p className="chat-state failed" role="alert">
          Not sent. {problem}{' '}
          <button type="button" className="button quiet small" onClick={() => onAgain(id)}>
            Send again
          </button>
        </p>
      )}
    </div>
  );
}

function Composer({ silenced, alone, onSend }: { silenced: string | undefined; alone: boolean; onSend: (text: string) => void }) {
  const [text, setText] = useState('');
  const input = useRef<HTMLTextAreaElement>(null);
  useEffect(() => input.current?.focus(), []);
  const submit = (event?: FormEvent) => {
    event?.preventDefault();
    if (text.trim() === '') return;
    onSend(text);
    setText('');
  };
  const onKey = (event: KeyboardEvent) => {
    // During IME composition (e.g. Japanese), Enter confirms the composed word.
    if (event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing) return;
    event.preventDefault();
    submit();
  };
  if (silenced !== undefined) return <p className="note chat-note">{silenced}</p>;
  return (
    <form className="chat-form" onSubmit={submit}>
      <textarea
        ref={input}
        value={text}
        rows={1}
        dir="auto"
        maxLength={maxMessageLength}
        placeholder={alone ? 'No one else is here' : 'Message everyone'}
        aria-label="Message everyone"
        data-testid="chat-input"
        onChange={(event) => setText(event.target.value)}
        onKeyDown={onKey}
      />
      <button type="submit" className="button primary chat-send" aria-label="Send" data-testid="chat-send">
        <SendIcon />
      </button>
      {text.length > maxMessageLength * 0.9 && (
        <p className="hint chat-left" role="status">
          {maxMessageLength - text.length} characters left
        </p>
      )}
    </form>
  );
}
