// Entry point of the console.
// Shared styles first, so that those of a page override them.
import './styles/tokens.css';
import './styles/base.css';
import './styles/controls.css';
import './styles/shell.css';
import './styles/table.css';
import { createRoot } from 'react-dom/client';
import { App } from './app.tsx';
import { applyStoredTheme } from './hooks/use-theme.ts';

applyStoredTheme();
const root = document.getElementById('root');
if (root) createRoot(root).render(<App />);
