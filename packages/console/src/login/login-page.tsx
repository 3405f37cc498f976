// Log-in page: asks for the API token.
import { type FormEvent, useState } from 'react';
import { AppHeader } from '../components/app-header.tsx';

export function LoginPage({ message, logIn }: { message: string | undefined; logIn: (token: string) => Promise<string | undefined> }) {
  const [token, setToken] = useState('');
  const [problem, setProblem] = useState(message);
  const [busy, setBusy] = useState(false);
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    const value = token.trim();
    if (value === '') return setProblem('Enter the API token.');
    setBusy(true);
    setProblem(await logIn(value));
    setBusy(false);
  };
  return (
    <>
      <AppHeader home={false} />
      <main className="narrow">
        <form className="card login" onSubmit={submit} noValidate>
          <h1>Log in</h1>
          <p className="hint">
            The console uses the server&rsquo;s API token, the value of <code>SVC_SERVER_API_TOKEN</code>. It is stored for this tab only
            and is deleted when the tab is closed.
          </p>
          <label className="field">
            <span>API token</span>
            <input
              type="password"
              name="token"
              autoComplete="off"
              spellCheck={false}
              // biome-ignore lint/a11y/noAutofocus: the page has this one purpose
              autoFocus
              data-testid="login-token"
              value={token}
              aria-invalid={problem !== undefined}
              aria-describedby={problem ? 'login-problem' : undefined}
              onChange={(event) => setToken(event.target.value)}
            />
          </label>
          {problem && (
            <p className="problem" id="login-problem" role="alert" data-testid="login-problem">
              {problem}
            </p>
          )}
          <button type="submit" className="button primary wide" data-testid="login-submit" disabled={busy}>
            {busy ? 'Checking…' : 'Log in'}
          </button>
        </form>
      </main>
    </>
  );
}
