// Which page is shown: by the address, and by who is logged in.
import { PageHeader } from './components/page-header.tsx';
import { useSession } from './hooks/use-session.ts';
import { JoinPage } from './pages/join-page.tsx';
import { LoginPage } from './pages/login-page.tsx';
import { RoomPage } from './pages/room-page.tsx';
import { RoomsPage } from './pages/rooms-page.tsx';
import { type Route, useRoute } from './router.ts';

export function App() {
  const route = useRoute();
  return route.page === 'join' ? <JoinPage key={route.link?.token} link={route.link} /> : <Console route={route} />;
}

function Console({ route }: { route: Exclude<Route, { page: 'join' }> }) {
  const [session, { logIn, logOut }] = useSession(document.baseURI);
  if (session.phase === 'starting') {
    return (
      <>
        <PageHeader home={false} />
        <p className="starting" role="status">
          {session.unreachable ? 'The server does not answer, trying again…' : 'Starting…'}
        </p>
      </>
    );
  }
  if (session.phase === 'out') return <LoginPage message={session.message} logIn={logIn} />;
  const { api, development } = session;
  if (route.page === 'room') return <RoomPage key={route.roomId} roomId={route.roomId} api={api} />;
  return <RoomsPage api={api} development={development} logOut={logOut} />;
}
