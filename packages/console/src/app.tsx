// Root component: selects the page by route and session.
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { type ComponentType, Suspense, useEffect, useMemo, useRef } from 'react';
import { AppHeader } from './components/app-header.tsx';
import { ErrorBoundary } from './components/error-boundary.tsx';
import { Shell } from './components/shell.tsx';
import { SessionContext } from './hooks/console-context.ts';
import { useSession } from './hooks/use-session.ts';
import { JoinPage } from './lobby/join-page.tsx';
import { LoginPage } from './login/login-page.tsx';
import { type PageEntry, pages } from './pages.tsx';
import { type PageName, type Route, useRoute } from './router.ts';

type ConsoleRoute = Exclude<Route, { page: 'join' }>;

export function App() {
  const route = useRoute();
  return route.page === 'join' ? <JoinPage key={route.link?.token} link={route.link} /> : <Console route={route} />;
}

function Console({ route }: { route: ConsoleRoute }) {
  const [session, { logIn, logOut }] = useSession(document.baseURI);
  const api = session.phase === 'in' ? session.api : undefined;
  // Data of one token is not shown with another.
  // biome-ignore lint/correctness/useExhaustiveDependencies: one client per session
  const queries = useMemo(() => new QueryClient(), [api]);
  const known = useMemo(() => (session.phase === 'in' ? { ...session, logOut } : undefined), [session, logOut]);
  if (session.phase === 'starting') {
    return (
      <>
        <AppHeader home={false} />
        <p className="starting" role="status">
          {session.unreachable ? 'Cannot reach the server. Retrying…' : 'Starting…'}
        </p>
      </>
    );
  }
  if (session.phase === 'out') return <LoginPage message={session.message} logIn={logIn} />;
  return (
    <QueryClientProvider client={queries}>
      <SessionContext value={known}>
        <Page route={route} />
      </SessionContext>
    </QueryClientProvider>
  );
}

/** Routes without a page show the rooms. */
function Page({ route }: { route: ConsoleRoute }) {
  const there: ConsoleRoute = pages[route.page] ? route : { page: 'rooms' };
  // Entry and route belong to the same page, which the type system cannot prove.
  const entry = pages[there.page] as unknown as PageEntry<PageName> & { page: ComponentType<{ route: ConsoleRoute }> };
  const title = entry.title(there);
  useEffect(() => {
    document.title = `${title} · Mediarooms`;
  }, [title]);
  const key = JSON.stringify(there);
  const first = useRef<string>(undefined);
  const arrived = useRef(false);
  first.current ??= key;
  arrived.current ||= key !== first.current;
  const content = (
    <ErrorBoundary key={key}>
      <Suspense fallback={<p className="starting" role="status" />}>
        <entry.page route={there} />
      </Suspense>
    </ErrorBoundary>
  );
  return entry.frame === 'none' ? (
    content
  ) : (
    <Shell current={entry.under ?? there.page} arrived={arrived.current}>
      {content}
    </Shell>
  );
}
