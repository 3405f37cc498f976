// A meeting in a page: local preview, participants, active speaker and chat.
import {
  RoomProvider,
  useActiveSpeaker,
  useConnectionState,
  useData,
  useLocalMedia,
  usePeers,
  useTrack,
  useTracks,
} from '@mediarooms/client/react';
import { StrictMode, useEffect, useRef, useState } from 'react';
import { createRoot } from 'react-dom/client';

function Track({ id }: { id: string }) {
  // biome-ignore lint/a11y/useMediaCaption: live audio has no captions.
  return <video ref={useTrack(id)} width="320" autoPlay playsInline />;
}

function Peer({ id, name }: { id: string; name: string }) {
  const tracks = useTracks({ peerId: id }).map((track) => <Track key={track.id} id={track.id} />);
  const speaks = useActiveSpeaker() === id;
  return <section aria-label={name}>{[...tracks, name, speaks && ' speaks']}</section>;
}

function Chat() {
  const [messages, setMessages] = useState<string[]>([]);
  const add = (text: string) => setMessages((all) => [...all.slice(-99), text]);
  const send = useData('chat', ({ payload }) => add(String(payload)));
  const submit = (form: FormData) => {
    const text = String(form.get('text'));
    return send(text).then(() => add(text));
  };
  return (
    <form action={submit}>
      <input name="text" aria-label="Message" />
      <pre role="log">{messages.join('\n')}</pre>
    </form>
  );
}

function Meeting() {
  const { state, closing } = useConnectionState();
  const { stream, problem, camera, setCamera } = useLocalMedia();
  const own = useRef<HTMLVideoElement>(null);
  useEffect(() => void Object.assign(own.current ?? {}, { srcObject: stream ?? null }), [stream]);
  const peers = usePeers().map(({ id, metadata }) => <Peer key={id} id={id} name={String(metadata)} />);
  return (
    <main>
      <p role="status">{closing?.message ?? problem?.message ?? state}</p>
      <video ref={own} width="320" autoPlay playsInline muted />
      <button type="button" onClick={() => setCamera(!camera)}>
        {camera ? 'Camera off' : 'Camera on'}
      </button>
      {!closing && peers}
      <Chat />
    </main>
  );
}

const name = new URLSearchParams(location.search).get('name') ?? 'Ada';
const access = await (await fetch(`/join?name=${encodeURIComponent(name)}`)).json();
const page = (
  <RoomProvider {...access} metadata={name}>
    <Meeting />
  </RoomProvider>
);
createRoot(document.body).render(<StrictMode>{page}</StrictMode>);
