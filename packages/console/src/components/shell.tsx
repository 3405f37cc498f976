// Shell: header, navigation and content of every page outside a room.
import { type ReactNode, useEffect, useRef } from 'react';
import { useSessionContext } from '../hooks/console-context.ts';
import { type NavEntry, pages } from '../pages.tsx';
import type { PageName } from '../router.ts';
import { BookIcon, Brand, LeaveIcon } from './icons.tsx';
import { ThemeButton } from './theme-button.tsx';

const parts: [PageName, NavEntry][] = Object.entries(pages).flatMap(([name, { part }]) => (part ? [[name as PageName, part]] : []));

/** `arrived`: true after navigation from another page. */
export function Shell({ current, arrived, children }: { current: PageName; arrived: boolean; children: ReactNode }) {
  const main = useRef<HTMLElement>(null);
  useFocusOnChange(current, arrived, main);
  return (
    <div className="shell">
      <button type="button" className="skip" onClick={() => main.current?.focus()}>
        Skip to the content
      </button>
      <header className="shell-head">
        <a className="brand-link" href="#/" aria-label="Mediarooms: all rooms">
          <Brand />
        </a>
        <Account />
      </header>
      <nav className="shell-nav" aria-label="Main navigation">
        <ul>
          {parts.map(([name, { title, hash, icon: Icon }]) => (
            <li key={name}>
              <a className="nav-link" href={hash} data-testid={`nav-${name}`} aria-current={name === current ? 'page' : undefined}>
                <Icon />
                <span>{title}</span>
              </a>
            </li>
          ))}
        </ul>
      </nav>
      <main className="shell-main" ref={main} tabIndex={-1}>
        {children}
      </main>
    </div>
  );
}

function Account() {
  const { development, scope, logOut } = useSessionContext();
  const out = `Log out (${scope === 'read' ? 'read-only token' : 'token with full access'})`;
  return (
    <div className="shell-tools">
      {scope === 'read' && (
        <span className="tag" data-testid="scope" title="Read-only token: you can view everything but change nothing.">
          Read only
        </span>
      )}
      {development && (
        <span className="tag" data-testid="development" title="Development mode: anyone who opens the console gets the API token.">
          Development
        </span>
      )}
      <a className="button icon-only" href="docs" target="_blank" rel="noreferrer" aria-label="API reference" title="API reference">
        <BookIcon />
      </a>
      <ThemeButton />
      {!development && (
        <button type="button" className="button icon-only" data-testid="log-out" aria-label="Log out" title={out} onClick={logOut}>
          <LeaveIcon />
        </button>
      )}
    </div>
  );
}

/** Moves the keyboard focus to the content after navigation, but not on the first page. */
function useFocusOnChange(current: PageName, arrived: boolean, main: React.RefObject<HTMLElement | null>): void {
  const before = useRef(arrived ? undefined : current);
  useEffect(() => {
    if (before.current === current) return;
    before.current = current;
    window.scrollTo(0, 0);
    main.current?.focus({ preventScroll: true });
  }, [current, main]);
}
