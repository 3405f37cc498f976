// The messages beside the call, and the line to write the next one.
import { type FormEvent, type KeyboardEvent, useEffect, useLayoutEffect, useRef, useState } from 'react';
import { CloseIcon, SendIcon } from '../call/icons.tsx';
import { useStore } from '../hooks/store.ts';
import type { Chat, ChatMessage } from './chat.ts';
import { maxMessageLength, textParts } from './chat-text.ts';
import './chat.css';

export type ChatPanelProps = {
  chat: Chat;
  /** Why nothing can be written; undefined where it can. */
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
        <button type="button" className="button icon-only" aria-label="Close the chat" data-testid="chat-close" onClick={onClose}>
          <CloseIcon />
        </button>
      </header>
      <Messages messages={messages} onAgain={(id) => chat.sendAgain(id)} />
      {flooded !== undefined && (
        <p className="note chat-note" role="status">
          <bdi>{flooded}</bdi> writes very fast: some messages are left out.
        </p>
      )}
      <Composer silenced={readOnlyReason} alone={isEmpty} onSend={(text) => chat.send(text)} />
    </aside>
  );
}

function Messages({ messages, onAgain }: { messages: readonly ChatMessage[]; onAgain: (id: number) => void }) {
  const list = useRef<HTMLDivElement>(null);
  const atEnd = useRef(true);
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new message moves the list to its end, where it was there
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
      // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls is reached by keys
      tabIndex={0}
      onScroll={({ currentTarget: { scrollTop, clientHeight, scrollHeight } }) => {
        atEnd.current = scrollTop + clientHeight > scrollHeight - 40;
      }}
    >
      {messages.length === 0 && <p className="chat-empty">No messages yet. They are not kept: who comes later does not see them.</p>}
      {messages.map((message, index) => (
        <Message key={message.id} message={message} follows={follows(message, messages[index - 1])} onAgain={onAgain} />
      ))}
    </div>
  );
}

/** Whether it belongs to the one before: of the same person, within two minutes. */
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
      {state === 'sending' && <p className="chat-state">On its way…</p>}
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
    // While a word is being composed (e.g. Japanese), Enter belongs to that.
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
        placeholder={alone ? 'Nobody else is here to read it' : 'Write to everybody'}
        aria-label="Message to everybody"
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
